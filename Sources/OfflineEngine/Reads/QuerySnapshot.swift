import FoundationEssentials
import LosslessJSON
import SupabaseAPI

/// Where the refresh of a live read stands.
public enum RefreshState: Sendable {
  /// Nothing is asked for: the rows are the server's as of the last answer, or nobody asks.
  case idle
  /// The server is being asked, or will be as soon as the session is settled.
  case refreshing
  /// Network access is off, or the monitor says that there is no network; asked again once that changes.
  case paused
  /// The server could not be asked, or refused; asked again by itself where that may help.
  case stalled(OfflineError)

  /// Whether it is the same state, by kind and by what the failure says.
  func isSame(as other: RefreshState) -> Bool {
    switch (self, other) {
    case (.idle, .idle), (.refreshing, .refreshing), (.paused, .paused): true
    case (.stalled(let one), .stalled(let other)): "\(one)" == "\(other)"
    default: false
    }
  }
}

/// The rows of a live read at one moment.
public struct QuerySnapshot<Row: Sendable>: Sendable {
  /// The rows, with the queued writes laid over them.
  public var rows: [Row]
  /// Whether the rows are what this device kept, with no answer to this read yet.
  public var isFromCache: Bool
  /// When the server sent them, by this device's clock; `nil` when it never did.
  public var fetchedAt: Date?
  /// Whether a queued write changed the rows.
  public var hasPendingMutations: Bool
  /// Where the refresh stands.
  public var refresh: RefreshState
  /// Whether the server stopped at the project's row limit before it had given all that was asked for, as far as can be
  /// told: follow the rows in pages.
  public var isCut = false
}

/// A live read that is being built; nothing is read before a loop over its snapshots begins.
public struct LiveReadBuilder: ReadShaping {
  let client: OfflineClient
  let schema: String
  let table: String
  let selection: String
  let strategy: LiveReadStrategy
  /// The conditions on the rows.
  public var conditions: [Filter] = []
  /// The order of the rows.
  public var order: [Order] = []
  /// The most rows.
  public var limit: Int?
  /// The rows left out before the first.
  public var offset: Int?

  init(client: OfflineClient, schema: String, table: String, selection: String, strategy: LiveReadStrategy) {
    self.client = client
    self.schema = schema
    self.table = table
    self.selection = selection
    self.strategy = strategy
  }

  /// The rows as they change, each read as a value of a type.
  ///
  /// Each loop is a read of its own. Ending the loop ends it, and so does closing the client. A slow reader gets the
  /// newest state and misses what lay between.
  public func snapshots<Row: Decodable & Sendable>(of type: Row.Type) -> QuerySnapshotSequence<Row> {
    QuerySnapshotSequence(builder: self)
  }

  /// The request as it is sent.
  var request: TableRequest {
    var request = TableRequest.select(table)
    request.schema = schema
    request.selection = selection == "*" ? nil : selection
    request.filters = conditions.grouped
    request.order = order
    request.limit = limit
    request.offset = offset
    return request
  }
}

/// The rows of a live read as they change.
///
/// A loop throws `OfflineError.decoding` when rows do not have the shape, and `.closed` for a client that is not open.
public struct QuerySnapshotSequence<Row: Decodable & Sendable>: AsyncSequence, Sendable {
  /// The rows at one moment.
  public typealias Element = QuerySnapshot<Row>

  let builder: LiveReadBuilder

  /// Begins to read.
  public func makeAsyncIterator() -> Iterator { Iterator(builder: builder) }

  /// The loop over the snapshots.
  public struct Iterator: AsyncIteratorProtocol {
    let builder: LiveReadBuilder
    private var snapshots: AsyncStream<QuerySnapshot<JSONObject>>.AsyncIterator?

    init(builder: LiveReadBuilder) { self.builder = builder }

    /// The next snapshot that differs from the last; `nil` at the end.
    public mutating func next() async throws -> QuerySnapshot<Row>? {
      if snapshots == nil {
        try builder.client.checkOpen()
        snapshots = builder.client.follow(builder).makeAsyncIterator()
      }
      guard let snapshot = await snapshots?.next() else { return nil }
      let rows = try RowCoding.value([Row].self, .array(snapshot.rows.map { .object($0) }))
      return QuerySnapshot(
        rows: rows, isFromCache: snapshot.isFromCache, fetchedAt: snapshot.fetchedAt,
        hasPendingMutations: snapshot.hasPendingMutations, refresh: snapshot.refresh, isCut: snapshot.isCut)
    }
  }
}
