import LosslessJSON
import SupabaseAPI

/// A read on its way or just answered: what is learned of the table's rows until this goes away is newer than the answer.
final class OpenRead: Sendable {
  private let store: EngineStore
  private let user: String
  private let table: String
  private let place: Int

  /// Begins a read; to be made before it is sent.
  init(_ client: UserEngine, _ table: TableDescription) {
    store = client.store
    user = client.user
    self.table = table.name
    place = store.accepted.begin()
  }

  deinit { store.accepted.end(place) }

  /// The rows that were learned of since, by their keys' texts.
  func newerKeys() -> Set<String> {
    store.accepted.mirroredKeys(since: place, user: user, schema: store.schema, table: table)
  }
}

/// An answer to a pull's request.
struct PulledPage {
  let answer: TableAnswer
  let read: OpenRead

  var rows: [JSONObject] { answer.rows }

  /// Whether the server has counted no more rows than it gives.
  ///
  /// A page that was not counted may be cut anywhere, and only an empty one behind it tells that it was the last.
  var isWhole: Bool { answer.total.map { $0 <= rows.count } ?? false }
}

extension TablePull {
  /// Keys in one `in.(…)` list: 60 UUIDs keep the URL far below every server's limit.
  static let keysInOneRequest = 60
  /// How often rows are read again in one pull that others keep moving meanwhile.
  private static let staleRoundsMax = 20

  /// Reads rows again that are known in parts, or not as they are now.
  mutating func readStale() async throws(SyncFailure) {
    for _ in 0..<Self.staleRoundsMax {
      let texts = try commit { try $0.staleKeys(table, limit: Self.keysInOneRequest) }
      guard !texts.isEmpty else { return }
      let keys = try commit { transaction in try texts.compactMap { try transaction.key(table, text: $0) } }
      let found = try await fetch(keys)
      // Rows that are not shown any more are the sweep's to judge.
      try commit { transaction in
        for text in texts where !found.contains(text) { try transaction.setFresh(table.name, text) }
      }
    }
  }

  /// Fetches whole rows for those of a page of keys and versions that are unknown or differ, in a table with versions.
  mutating func fetchDiffering(_ page: PulledPage) async throws(SyncFailure) {
    let differing = try commit { transaction in
      try page.rows.compactMap { row -> RowKey? in
        guard let key = table.key(of: row) else { return nil }
        return try transaction.isCached(table.name, key, version: table.version(of: row)) ? nil : key
      }
    }
    for piece in differing.chunks(of: Self.keysInOneRequest) { _ = try await fetch(piece) }
  }

  /// Reads rows by their keys and keeps them; returns the keys that were found.
  mutating func fetch(_ keys: [RowKey]) async throws(SyncFailure) -> Set<String> {
    var found: Set<String> = []
    var left = keys
    while !left.isEmpty {
      let page = try await select(
        table.readColumns, filters: [table.filter(forAnyOf: left)], order: [], limit: left.count)
      try keep(page)
      found.formUnion(page.rows.compactMap { table.key(of: $0)?.text })
      // A server may cut any answer short; only one that shows none of the keys says that they are not there.
      let rest = left.filter { !found.contains($0.text) }
      guard rest.count < left.count else { break }
      left = rest
    }
    return found
  }

  /// Keeps the rows of an answer, and how far the pull has come with them, in one transaction.
  ///
  /// A row that was learned of since it was asked for is read again: which of the two is newer nobody can tell.
  ///
  /// - Parameter isFirstSweep: Whether it is a page of the table's first sweep: its rows are new, and it can be read again
  ///   after a power cut, so that only what is made of it, and the sweep's end, waits for the disk.
  mutating func keep(
    _ page: PulledPage, _ state: PullState? = nil, isFirstSweep: Bool = false
  ) throws(SyncFailure) {
    let changed = try client.commit(isFlushed: !isFirstSweep) { transaction in
      let newer = page.read.newerKeys()
      var changed = 0
      for row in page.rows {
        guard let key = table.key(of: row) else { continue }
        if newer.contains(key.text) {
          try transaction.setStale(table.name, key)
        } else if try transaction.learnRow(table, key, row, isLikelyNew: isFirstSweep) {
          changed += 1
        }
      }
      if let state { try transaction.setPullState(table.name, state) }
      return changed
    }
    report.changed += changed
    if changed > 0 { hasChanged() }
  }

  // MARK: Requests

  /// - Parameter isCounted: Whether the server says how many rows there are in all: for a first page, which is the only one
  ///   of nearly every read. Counted again for each of many, it would cost what they do.
  func select(
    _ columns: [String], filters: [Filter], order: [Order], limit: Int? = nil, isCounted: Bool = false
  ) async throws(SyncFailure) -> PulledPage {
    try await ask(
      .select(
        table.name, columns: columns, filters: table.conditions + filters, order: order,
        limit: limit ?? client.configuration.pageRows, count: isCounted ? .exact : nil))
  }

  func ask(_ request: TableRequest) async throws(SyncFailure) -> PulledPage {
    let read = OpenRead(client, table)
    do throws(RequestFailure) {
      return PulledPage(answer: try await client.send(request, table: table.name).answer, read: read)
    } catch {
      throw error.reason
    }
  }

  func commit<T: Sendable>(_ body: (EngineTransaction) throws -> T) throws(SyncFailure) -> T {
    try client.commit(body)
  }
}

/// The condition that a row comes strictly behind the given values in the order of the columns.
///
/// Of several columns: `and=(a.gte.1,or(a.gt.1,and(a.eq.1,b.gt.2)))`, the keyset page of protocol sheet postgrest-client,
/// section 5, and in front of it what lets a database begin at that place of its index: it does not see that in an `or`.
func keyset(_ columns: [String], after values: [JSONValue]) -> Filter {
  guard let column = columns.first, let value = values.first else { return .and([]) }
  let first = Filter.gt(column, value)
  guard columns.count > 1, values.count > 1 else { return first }
  let rest = keyset(Array(columns.dropFirst()), after: Array(values.dropFirst()))
  return .and([.gte(column, value), .or([first, .and([.eq(column, value), rest])])])
}

extension Array {
  /// The elements in runs of at most `size`.
  func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
