/// How a stand-in server is set up.
public struct StandInConfiguration: Sendable {
  /// The port on 127.0.0.1; 0 picks a free one.
  public var port: Int
  /// Where rows, users and keys are kept; `nil` keeps them in memory.
  public var dataFolder: String?
  /// What keeps them in memory, made before with the same tables; `nil` makes it anew.
  public var memory: StandInMemory?
  /// The tables.
  public var schema: Schema
  /// The bytes that sign access tokens, at least 32; `nil` takes the data folder's own, or random ones.
  public var jwtSecret: [UInt8]?
  /// How Auth is set up.
  public var auth: AuthSettings
  /// The time from the answer to a join of Realtime until its changes are told, in milliseconds; a hosted project takes
  /// up to some seconds.
  public var subscribeMilliseconds = 0
  /// The greatest number of rows in one answer to a read.
  public var rowCountMax: Int
  /// The greatest size of a request's body.
  public var bodyBytesMax: Int
  /// The greatest size of an object in Storage, in bytes; a bucket may allow less.
  public var objectBytesMax: Int64 = 5 << 30
  /// How long a request waits for another one that writes to the same resumable upload, in milliseconds.
  public var uploadLockMilliseconds = 5_000
  /// Whether an update or delete without any filter is refused, as hosted projects do.
  public var requiresWhere: Bool
  /// Whether `Prefer: tx=rollback` is honoured.
  public var allowsRollback: Bool
  /// Misbehaviour from the start.
  public var faults: [StandInFault]
  /// Decides, with the order of the requests, whom a fault by chance happens to.
  public var faultSeed: UInt64 = 1
  /// Answers table requests in the stand-in's place; `nil` answers them from its own tables.
  ///
  /// It gets them as a PostgREST does: the path without `/rest/v1`, and in `Authorization` a token that is signed with the
  /// JWT secret also where the client has only its key. Called on a thread that may block.
  public var rest: (@Sendable (StandInRequest) -> StandInAnswer)?
  /// Called with one line a request: method, path, status, time taken.
  ///
  /// Never a query, a key or a token.
  public var log: (@Sendable (String) -> Void)?
  /// The time and randomness.
  public var effects: StandInEffects

  /// A server in memory on a free port, with the tables of the template and the limits of a hosted project.
  public init(
    port: Int = 0, dataFolder: String? = nil, schema: Schema = .tasksAndPhotos, jwtSecret: [UInt8]? = nil,
    auth: AuthSettings = AuthSettings(), rowCountMax: Int = 1_000, bodyBytesMax: Int = 8 << 20,
    requiresWhere: Bool = true, allowsRollback: Bool = false, faults: [StandInFault] = [],
    log: (@Sendable (String) -> Void)? = nil, effects: StandInEffects = .live
  ) {
    self.port = port
    self.dataFolder = dataFolder
    self.schema = schema
    self.jwtSecret = jwtSecret
    self.auth = auth
    self.rowCountMax = rowCountMax
    self.bodyBytesMax = bodyBytesMax
    self.requiresWhere = requiresWhere
    self.allowsRollback = allowsRollback
    self.faults = faults
    self.log = log
    self.effects = effects
  }
}
