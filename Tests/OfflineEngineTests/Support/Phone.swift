import LosslessJSON
import SupabaseAPI

@testable import OfflineEngine

/// A phone of a user: a developer's client of the in-process stand-in.
struct Phone {
  let http: StandInExchange
  let client: OfflineClient

  init(
    _ world: World, _ session: Session, resolver: @escaping ConflictResolver = ConflictResolvers.lastWriteWins,
    sockets: (any WebSocketOpener)? = nil,
    change: (inout OfflineConfiguration) -> Void = { _ in }
  ) async throws {
    http = StandInExchange(world)
    var configuration = OfflineConfiguration(project: world.project, databasePath: ":memory:")
    configuration.sessionStorage = MemorySession(session)
    configuration.versionColumns = ["tasks": "updated_at"]
    configuration.conflictResolver = resolver
    configuration.autoSync = false
    change(&configuration)
    client = try OfflineClient(
      configuration,
      environment: EngineEnvironment(clock: world.clock, http: http, makeID: { "unused" }, sockets: sockets))
    try await client.open()
    for await _ in client.store.changes.rings() where client.notedSession?.isSettled ?? false { break }
  }

  var tasks: TableReference { client.from("tasks") }

  /// The list that the phone shows.
  @discardableResult
  func read(_ columns: String = "*", _ strategy: ReadStrategy = .networkFirst) async throws -> [OfflineJSON] {
    let answer = try await tasks.select(columns, readStrategy: strategy).order("id").execute(Rows.self)
    return answer.value.rows
  }

  /// Goes offline, makes a write, and comes back.
  @discardableResult
  func offline(_ build: (TableReference) -> WriteBuilder) async throws -> PendingMutation? {
    client.disableNetwork()
    defer { client.enableNetwork() }
    guard case .queued(let mutation) = try await build(tasks).execute() else { return nil }
    return mutation
  }

  func sync() async throws -> SyncReport { try await client.syncPendingMutations() }

  var conflicts: [ConflictedMutation] { get throws { try client.conflictedMutationList() } }
}

/// Rows as they come, column by column.
struct Rows: Decodable, Sendable {
  var rows: [OfflineJSON]

  init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    rows = []
    while !container.isAtEnd { rows.append(try container.decode(AnyJSON.self).value) }
  }

  private struct AnyJSON: Decodable {
    let value: OfflineJSON

    init(from decoder: any Decoder) throws {
      if let members = try? decoder.container(keyedBy: Name.self) {
        var object = JSONObject()
        for key in members.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
          object[key.stringValue] = try members.decode(AnyJSON.self, forKey: key).value
        }
        value = .object(object)
        return
      }
      let single = try decoder.singleValueContainer()
      if single.decodeNil() {
        value = .null
      } else if let truth = try? single.decode(Bool.self) {
        value = .bool(truth)
      } else if let number = try? single.decode(Int64.self) {
        value = .integer(number)
      } else {
        value = .string(try single.decode(String.self))
      }
    }
  }

  private struct Name: CodingKey {
    let stringValue: String
    let intValue: Int? = nil

    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}
