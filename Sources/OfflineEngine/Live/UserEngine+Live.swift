import LosslessJSON
import SupabaseAPI

extension UserEngine {
  /// Takes in what Realtime told.
  ///
  /// A change is a hint with a key. A row that nobody here knows is kept as it was told, where all of it was; any other is
  /// read, since what was told may be older than what is known. A row that is told to be gone is looked for before it
  /// counts as gone, and too many of them at once are left to a pull, which holds them. Neither touches what waits in the
  /// queue.
  ///
  /// - Throws: `SyncFailure`; a pull finds what was not taken in.
  func apply(_ changes: [RealtimeChange]) async throws(SyncFailure) -> LiveNews {
    // No pass may send a write of a row between a read and its keeping.
    try await passLock.withLock { () async throws(SyncFailure) -> LiveNews in
      var news = LiveNews()
      var told: [String: [RealtimeChange]] = [:]
      for change in changes where change.schema == "public" { told[change.table, default: []].append(change) }
      for (name, told) in told.sorted(by: { $0.key < $1.key }) {
        guard let table = configuration.description(of: name) else { continue }
        var hints = LiveHints(client: self, table: table)
        try await hints.apply(told)
        news.formUnion(hints.news)
      }
      return news
    }
  }
}

/// What came of changes that were told.
struct LiveNews: OptionSet {
  let rawValue: Int

  /// Rows are new, differ or are gone.
  static let changed = LiveNews(rawValue: 1)
  /// Something was not taken in that a pull has to judge.
  static let needsPull = LiveNews(rawValue: 2)
}

/// What was told of one table.
private struct LiveHints {
  let client: UserEngine
  let table: TableDescription
  var news: LiveNews = []

  /// Keys in one `in.(…)` list: 60 UUIDs keep the URL far below every server's limit.
  private static let keysInOneRequest = 60

  private enum Look {
    case read
    case checkGone
  }

  init(client: UserEngine, table: TableDescription) {
    self.client = client
    self.table = table
  }

  mutating func apply(_ changes: [RealtimeChange]) async throws(SyncFailure) {
    let table = table
    guard table.isMirrored else {
      try client.commit { transaction in
        for change in changes { try Self.report(change, of: table, schema: client.store.schema, in: transaction) }
      }
      news.insert(.changed)
      return
    }
    let (isNews, looks) = try client.commit { transaction in
      var isNews = false
      var looks: [RowKey: Look] = [:]
      for change in changes {
        if try Self.keep(change, of: table, in: transaction, &looks) { isNews = true }
      }
      return (isNews, looks)
    }
    if isNews { news.insert(.changed) }
    let keys = looks.keys.sorted { $0.text < $1.text }
    var gone: [RowKey] = []
    // Until all is settled: what is learned of a row meanwhile is newer than that it was missing.
    let look = OpenRead(client, table)
    for piece in keys.chunks(of: Self.keysInOneRequest) { gone += try await self.look(at: piece, looks) }
    try settle(gone, look)
  }

  /// Takes rows for gone that the server does not show, unless they are too many at once.
  private mutating func settle(_ gone: [RowKey], _ look: OpenRead) throws(SyncFailure) {
    guard !gone.isEmpty else { return }
    let table = table
    let (total, held) = try client.commit { transaction in
      (try transaction.cachedRowCount(table.name), try transaction.pullState(table.name).heldVanished)
    }
    guard held == 0, !client.holdsVanishing(gone.count, of: total, in: table.name) else {
      news.insert(.needsPull)
      return
    }
    let count = try client.commit { transaction in
      let newer = look.newerKeys()
      let still = gone.filter { !newer.contains($0.text) }
      for key in still { try transaction.setGone(table.name, key) }
      return still.count
    }
    client.noteGone(count, of: table.name)
    news.insert(.changed)
  }

  /// Lays a change into the lists of a table that is not mirrored row by row.
  private static func report(
    _ change: RealtimeChange, of table: TableDescription, schema: String, in transaction: EngineTransaction
  ) throws {
    if change.kind == .delete {
      try transaction.applyReportedDelete(table, change.oldRecord)
    } else if change.isCut {
      try transaction.markListsStale(table.name, schema: schema)
    } else {
      try transaction.applyReported(table, change.record)
    }
  }

  /// Keeps a change where that is safe, and else says what to look at.
  ///
  /// - Returns: Whether something new was kept.
  private static func keep(
    _ change: RealtimeChange, of table: TableDescription, in transaction: EngineTransaction,
    _ looks: inout [RowKey: Look]
  ) throws -> Bool {
    let oldKey = table.key(of: change.oldRecord)
    if let oldKey, change.kind == .delete || table.key(of: change.record) != oldKey,
      try transaction.cachedRow(table.name, oldKey)?.values != nil
    {
      looks[oldKey] = .checkGone
    }
    guard change.kind != .delete, let key = table.key(of: change.record) else { return false }
    let known = try transaction.cachedRow(table.name, key)
    let isWhole =
      !change.isCut && table.conditions.isEmpty && table.readColumns.allSatisfy { change.record[$0] != nil }
    if known == nil, isWhole, change.kind == .insert, looks[key] == nil {
      return try transaction.learnRow(table, key, change.record.picking(table.readColumns))
    }
    let version = table.version(of: change.record)
    if let known, known.values != nil, !known.isStale, version != nil, known.version == version { return false }
    looks[key] = .read
    return false
  }

  /// Reads rows by their keys, until none is left or the server shows no more of them.
  ///
  /// - Returns: Those that were told to be gone and are not there.
  private mutating func look(at keys: [RowKey], _ looks: [RowKey: Look]) async throws(SyncFailure) -> [RowKey] {
    var left = keys
    while !left.isEmpty {
      // Beside rows that may be gone one is asked for that should not be: an answer that shows it was given to this user.
      let checksGone = left.contains { looks[$0] == .checkGone }
      let (keys, table) = (left, table)
      let witness = try client.commit { try checksGone ? $0.anyCachedKey(table, besides: keys) : nil }
      let (rows, token) = try await read(left + [witness].compactMap(\.self))
      let shown = Set(rows.compactMap { table.key(of: $0)?.text })
      let rest = left.filter { !shown.contains($0.text) }
      // A server may cut any answer short; only one that shows none of the keys says that they are not there.
      guard rest.count == left.count else {
        left = rest
        continue
      }
      let gone = rest.filter { looks[$0] == .checkGone }
      guard !gone.isEmpty else { break }
      var isProven = !rows.isEmpty
      if !isProven, let token { isProven = await client.sessions.isTokenProven(token) }
      guard isProven else { throw .unproven(table: table.name) }
      return gone
    }
    return []
  }

  /// Reads rows by their keys and keeps them; one that was learned of meanwhile is marked to be read again.
  private mutating func read(_ keys: [RowKey]) async throws(SyncFailure) -> (rows: [JSONObject], token: Secret?) {
    let request = TableRequest.select(
      table.name, columns: table.readColumns, filters: table.conditions + [table.filter(forAnyOf: keys)], order: [],
      limit: keys.count)
    let read = OpenRead(client, table)
    let (answer, token): (TableAnswer, Secret?)
    do throws(RequestFailure) {
      (answer, token) = try await client.send(request, table: table.name)
    } catch {
      throw error.reason
    }
    let table = table
    let kept = try client.commit { transaction in
      let newer = read.newerKeys()
      var kept: LiveNews = []
      for row in answer.rows {
        guard let key = table.key(of: row) else { continue }
        if newer.contains(key.text) {
          try transaction.setStale(table.name, key)
          kept.insert(.needsPull)
        } else if try transaction.learnRow(table, key, row) {
          kept.insert(.changed)
        }
      }
      return kept
    }
    news.formUnion(kept)
    return (answer.rows, token)
  }
}

extension EngineTransaction {
  /// The key of a row that the server showed and still has, as far as this device knows, besides some.
  fileprivate func anyCachedKey(_ table: TableDescription, besides keys: [RowKey]) throws -> RowKey? {
    let texts = Set(keys.map(\.text))
    let rows = try database.rows(
      """
      SELECT key FROM cached_row INDEXED BY cached_row_version
      WHERE user_id = ? AND table_name = ? AND body IS NOT NULL LIMIT ?
      """, [.text(user), .text(table.name), .integer(Int64(texts.count + 1))])
    guard let text = rows.compactMap({ $0.text("key") }).first(where: { !texts.contains($0) }) else { return nil }
    return try key(table, text: text)
  }
}
