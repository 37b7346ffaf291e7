import LosslessJSON
import SQLite
import SupabaseAPI

/// Where a write stands.
public enum MutationList: String, Sendable {
  /// Waiting to be sent.
  case queued
  /// Refused on replay.
  case rejected
  /// Met another change of its row and waits for a person.
  case conflicted
}

/// How many writes of one user stand in each list.
public struct MutationCounts: Sendable, Hashable {
  /// Waiting to be sent.
  public var queued = 0
  /// Refused on replay.
  public var rejected = 0
  /// Waiting for a person.
  public var conflicted = 0

  /// Nothing in any list.
  public init() {}
}

// MARK: Putting writes in

extension EngineTransaction {
  /// Puts a write at the end of the user's queue, or folds it into the row's last queued write.
  ///
  /// - Returns: The number of the write that now carries it; `nil` when both cancelled each other out, so that nothing
  ///   needs to be sent.
  @discardableResult
  public func enqueue(_ write: Write) throws -> Int64? {
    if write.isMirrored { try noteChange(write.table, write.key) }
    if write.coalesces, let last = try foldable(before: write) {
      switch try fold(write, into: last) {
      case .kept(let id): return id
      case .cancelled: return nil
      case .notFoldable: break
      }
    }
    return try append(write)
  }

  private func append(_ write: Write) throws -> Int64 {
    try database.execute(
      """
      INSERT INTO mutation
        (user_id, table_name, key, key_values, operation, body, base, base_version, coalesces, created_at, request)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(user), .text(write.table), .text(write.isMirrored ? write.key.text : write.key.identity),
        .text(JSONValue.array(write.key.values).serialized()), .text(write.operation.rawValue),
        .text(JSONValue.object(write.values).serialized()),
        .optional(write.base.map { JSONValue.object($0.values).serialized() }), .optional(write.base?.version),
        .integer(write.coalesces ? 1 : 0), .integer(now.nanoseconds),
        .optional(write.request.map { JSONValue.object($0.json).serialized() }),
      ])
    return database.lastInsertRowID
  }

  /// The row's last queued write, when it was never sent and no insert or delete was queued behind it.
  ///
  /// A write behind another row's insert may depend on that row, so it must not move in front of it.
  private func foldable(before write: Write) throws -> PendingMutation? {
    guard let last = try mutations(list: .queued, table: write.table, key: write.key).last, last.sendCount == 0,
      last.write.operation == .insert || (last.write.base == nil) == (write.base == nil)
    else { return nil }  // A guarded write must not lose its guard in one without.
    let blocker = try database.first(
      """
      SELECT 1 FROM mutation
      WHERE user_id = ? AND list = 'queued' AND id > ? AND operation <> 'UPDATE' LIMIT 1
      """, [.text(user), .integer(last.id)])
    return blocker == nil ? last : nil
  }

  private enum Folding {
    case kept(Int64)
    case cancelled
    case notFoldable
  }

  private func fold(_ write: Write, into last: PendingMutation) throws -> Folding {
    switch (last.write.operation, write.operation) {
    case (.insert, .update):
      try setBody(last.id, values: last.write.values.merging(write.values), base: nil)
      return .kept(last.id)
    case (.insert, .delete):
      try remove(last.id)
      return .cancelled
    case (.update, .update):
      let folded = foldUpdates(last.write, write)
      guard !folded.values.isEmpty else {
        try remove(last.id)
        return .cancelled
      }
      try setBody(last.id, values: folded.values, base: folded.base?.values)
      return .kept(last.id)
    default:
      return .notFoldable
    }
  }

  private func setBody(_ id: Int64, values: JSONObject, base: JSONObject?) throws {
    try database.execute(
      "UPDATE mutation SET body = ?2, base = coalesce(?3, base) WHERE id = ?1",
      [
        .integer(id), .text(JSONValue.object(values).serialized()),
        .optional(base.map { JSONValue.object($0).serialized() }),
      ])
  }
}

/// Two updates of one row as one: the newest values, per column the first base, the oldest version; a column that is
/// back at its base drops out.
func foldUpdates(_ first: Write, _ second: Write) -> Write {
  var folded = first
  var base = first.base?.values ?? [:]
  for (name, value) in second.values.members {
    if first.values[name] == nil, let seen = second.base?.values[name] { base[name] = seen }
    folded.values[name] = value
  }
  for (name, value) in folded.values.members where base[name] == value { folded.values[name] = nil }
  if let seen = first.base { folded.base = WriteBase(values: base, version: seen.version) }
  return folded
}

// MARK: Looking

extension EngineTransaction {
  /// How many writes of the user stand in each list, counted in one look.
  ///
  /// The numbers are kept beside the writes, so that no count walks a long queue.
  public func counts() throws -> MutationCounts {
    var counts = MutationCounts()
    for row in try database.rows(
      "SELECT list, sum(number) AS n FROM mutation_count WHERE user_id = ? GROUP BY list", [.text(user)])
    {
      let number = Int(row.integer("n") ?? 0)
      switch row.text("list").flatMap(MutationList.init) {
      case .queued: counts.queued = number
      case .rejected: counts.rejected = number
      case .conflicted: counts.conflicted = number
      case nil: break
      }
    }
    return counts
  }

  /// How many writes of the user to one table are queued.
  func queuedCount(_ table: String) throws -> Int {
    Int(
      try database.first(
        "SELECT number FROM mutation_count WHERE user_id = ? AND list = 'queued' AND table_name = ?",
        [.text(user), .text(table)])?.integer("number") ?? 0)
  }

  /// The user's queued writes, in the order they will be sent.
  ///
  /// - Parameter table: Only this table's.
  public func pendingMutations(table: String? = nil) throws -> [PendingMutation] {
    let rows =
      if let table {
        try database.rows(
          "SELECT * FROM mutation WHERE user_id = ? AND table_name = ? AND list = 'queued' ORDER BY id",
          [.text(user), .text(table)])
      } else {
        try database.rows("SELECT * FROM mutation WHERE user_id = ? AND list = 'queued' ORDER BY id", [.text(user)])
      }
    return try rows.map(pendingMutation)
  }

  /// The first queued writes behind the write numbered `id`, in the order they will be sent.
  ///
  /// - Parameter tables: Tables whose writes are passed over.
  func pending(after id: Int64, besides tables: Set<String> = [], limit: Int) throws -> [PendingMutation] {
    try pendingRows("*", after: id, besides: tables, limit: limit).map(pendingMutation)
  }

  /// What a claim must know of a queued write, without the reading of its values.
  struct Claimable {
    var id: Int64
    var table: String
    /// How often it has been sent without a clear answer.
    var sendCount: Int
  }

  /// The same writes, to be put on record as sent.
  func claimable(after id: Int64, besides tables: Set<String>, limit: Int) throws -> [Claimable] {
    try pendingRows("id, table_name, send_count", after: id, besides: tables, limit: limit).map { row in
      Claimable(
        id: row.integer("id") ?? 0, table: row.text("table_name") ?? "", sendCount: Int(row.integer("send_count") ?? 0))
    }
  }

  private func pendingRows(
    _ columns: String, after id: Int64, besides tables: Set<String>, limit: Int
  ) throws -> [SQLiteRow] {
    var bindings: [SQLiteValue] = [.text(user), .integer(id), .integer(Int64(limit))]
    var condition = ""
    if !tables.isEmpty {
      condition = "AND table_name NOT IN (SELECT value FROM json_each(?4))"
      bindings.append(.text(JSONValue.array(tables.sorted().map(JSONValue.string)).serialized()))
    }
    return try database.rows(
      "SELECT \(columns) FROM mutation WHERE user_id = ?1 AND list = 'queued' AND id > ?2 \(condition) ORDER BY id LIMIT ?3",
      bindings)
  }

  /// The user's refused writes, oldest first.
  public func rejectedMutations() throws -> [RejectedMutation] {
    try database.rows("SELECT * FROM mutation WHERE user_id = ? AND list = 'rejected' ORDER BY id", [.text(user)])
      .map(rejectedMutation)
  }

  /// The user's parked writes, oldest first.
  public func conflictedMutations() throws -> [ConflictedMutation] {
    try database.rows("SELECT * FROM mutation WHERE user_id = ? AND list = 'conflicted' ORDER BY id", [.text(user)])
      .map(conflictedMutation)
  }

  /// The refused writes to one row, oldest first.
  public func rejectedMutations(_ table: String, _ key: RowKey) throws -> [RejectedMutation] {
    try rows(list: .rejected, table: table, key: key).map(rejectedMutation)
  }

  /// The parked writes to one row, oldest first.
  public func conflictedMutations(_ table: String, _ key: RowKey) throws -> [ConflictedMutation] {
    try rows(list: .conflicted, table: table, key: key).map(conflictedMutation)
  }

  /// The parked write numbered `id`, if it is this user's and still parked.
  public func conflictedMutation(_ id: Int64) throws -> ConflictedMutation? {
    try entry(id, list: .conflicted).map(conflictedMutation)
  }

  func mutations(list: MutationList, table: String, key: RowKey) throws -> [PendingMutation] {
    try rows(list: list, table: table, key: key).map(pendingMutation)
  }

  func entry(_ id: Int64, list: MutationList) throws -> SQLiteRow? {
    try database.first(
      "SELECT * FROM mutation WHERE id = ? AND user_id = ? AND list = ?",
      [.integer(id), .text(user), .text(list.rawValue)])
  }

  private func rows(list: MutationList, table: String, key: RowKey) throws -> [SQLiteRow] {
    let (text, identity) = (key.text, key.identity)
    // One key's entries lie in the index in the order asked for; those under two spellings would have to be sorted.
    if text == identity {
      return try database.rows(
        // Left alone, SQLite would rather walk the table's whole list.
        """
        SELECT * FROM mutation INDEXED BY mutation_of_row
        WHERE user_id = ? AND table_name = ? AND key = ? AND list = ? ORDER BY id
        """,
        [.text(user), .text(table), .text(text), .text(list.rawValue)])
    }
    return try database.rows(
      """
      SELECT * FROM mutation INDEXED BY mutation_of_row
      WHERE user_id = ? AND table_name = ? AND key IN (?, ?) AND list = ? ORDER BY id
      """,
      [.text(user), .text(table), .text(text), .text(identity), .text(list.rawValue)])
  }

  // MARK: Rows to values

  func pendingMutation(_ row: SQLiteRow) throws -> PendingMutation {
    PendingMutation(
      id: row.integer("id") ?? 0, user: row.text("user_id") ?? "", write: try write(row),
      createdAt: WallTime(nanoseconds: row.integer("created_at") ?? 0), sendCount: Int(row.integer("send_count") ?? 0))
  }

  func rejectedMutation(_ row: SQLiteRow) throws -> RejectedMutation {
    RejectedMutation(
      id: row.integer("id") ?? 0, write: try write(row),
      createdAt: WallTime(nanoseconds: row.integer("created_at") ?? 0),
      rejectedAt: WallTime(nanoseconds: row.integer("listed_at") ?? 0),
      serverError: try row.text("server_error").map { ServerError(try Self.object($0)) },
      message: row.text("message") ?? "")
  }

  func conflictedMutation(_ row: SQLiteRow) throws -> ConflictedMutation {
    ConflictedMutation(
      id: row.integer("id") ?? 0, write: try write(row),
      createdAt: WallTime(nanoseconds: row.integer("created_at") ?? 0),
      conflictedAt: WallTime(nanoseconds: row.integer("listed_at") ?? 0),
      server: try row.text("server").map(Self.object), serverVersion: row.text("server_version"),
      changedOnServer: try Self.names(row.text("changed_on_server")),
      conflictingColumns: try Self.names(row.text("conflicting_columns")), message: row.text("message") ?? "")
  }

  private func write(_ row: SQLiteRow) throws -> Write {
    let base = try row.text("base").map { WriteBase(values: try Self.object($0), version: row.text("base_version")) }
    return Write(
      table: row.text("table_name") ?? "",
      operation: row.text("operation").flatMap(MutationOperation.init) ?? .update,
      key: RowKey(try JSONValue(parsing: row.text("key_values") ?? "[]").arrayValue ?? []),
      values: try Self.object(row.text("body") ?? "{}"), base: base, coalesces: row.integer("coalesces") == 1,
      request: try row.text("request").map(Self.request))
  }

  private static func request(_ text: String) throws -> WriteRequest {
    if let request = WriteRequest(try object(text)) { return request }
    var unknown = WriteRequest()
    unknown.isWhole = false
    return unknown
  }

  private static func names(_ text: String?) throws -> [String] {
    try JSONValue(parsing: text ?? "[]").arrayValue?.compactMap(\.stringValue) ?? []
  }
}

// MARK: Moving writes

extension EngineTransaction {
  /// Says before a write leaves that it may reach the server: from then on it is in doubt until an answer.
  func markSent(_ id: Int64) throws {
    try database.execute("UPDATE mutation SET send_count = send_count + 1 WHERE id = ?", [.integer(id)])
  }

  /// Says that a send certainly did not reach the server.
  func markUnsent(_ id: Int64) throws {
    try database.execute("UPDATE mutation SET send_count = max(send_count - 1, 0) WHERE id = ?", [.integer(id)])
  }

  /// Gives a queued write another base, after an earlier write to its row was answered.
  func setBase(_ id: Int64, _ base: WriteBase) throws {
    try database.execute(
      "UPDATE mutation SET base = ?2, base_version = ?3 WHERE id = ?1",
      [.integer(id), .text(JSONValue.object(base.values).serialized()), .optional(base.version)])
  }

  /// Makes the queued writes that nobody was signed in for this user's.
  func takeOverWritesOfNobody() throws {
    try database.execute("UPDATE mutation SET user_id = ? WHERE user_id = '' AND list = 'queued'", [.text(user)])
  }

  func remove(_ id: Int64) throws {
    if let row = try database.first(
      "SELECT table_name, key FROM mutation WHERE id = ? AND request IS NULL", [.integer(id)])
    {
      try database.execute(
        "INSERT OR IGNORE INTO row_change VALUES (?, ?, ?)", [.text(user), row["table_name"], row["key"]])
    }
    try database.execute("DELETE FROM mutation WHERE id = ?", [.integer(id)])
  }

  /// Moves a queued write to the rejected list.
  func reject(_ mutation: PendingMutation, _ details: ServerError?, message: String, _ bounds: ListBounds?) throws {
    try database.execute(
      "UPDATE mutation SET list = 'rejected', listed_at = ?2, server_error = ?3, message = ?4 WHERE id = ?1",
      [
        .integer(mutation.id), .integer(now.nanoseconds),
        .optional(details.map { JSONValue.object($0.json).serialized() }),
        .text(message),
      ])
    if mutation.write.isMirrored { try noteChange(mutation.write.table, mutation.write.key) }
    try bound(.rejected, mutation.id, bounds)
  }

  /// Moves a queued write to the conflicted list.
  func park(
    _ mutation: PendingMutation, server: JSONObject?, serverVersion: String?, _ comparison: ConflictComparison?,
    message: String, _ bounds: ListBounds?
  ) throws {
    let names = { (columns: [String]?) in JSONValue.array((columns ?? []).map(JSONValue.string)).serialized() }
    try database.execute(
      """
      UPDATE mutation SET list = 'conflicted', listed_at = ?2, server = ?3, server_version = ?4,
        changed_on_server = ?5, conflicting_columns = ?6, message = ?7 WHERE id = ?1
      """,
      [
        .integer(mutation.id), .integer(now.nanoseconds), .optional(server.map { JSONValue.object($0).serialized() }),
        .optional(serverVersion), .text(names(comparison?.changedOnServer)),
        .text(names(comparison?.conflictingColumns)), .text(message),
      ])
    if mutation.write.isMirrored { try noteChange(mutation.write.table, mutation.write.key) }
    try bound(.conflicted, mutation.id, bounds)
  }

  /// Puts a write straight on the conflicted list: a difference that no base can judge, or an edit of a row known gone.
  ///
  /// - Returns: The entry's number.
  @discardableResult
  public func park(
    _ write: Write, server: JSONObject?, serverVersion: String?, message: String, _ bounds: ListBounds? = nil
  ) throws -> Int64 {
    let id = try append(write)
    guard let row = try entry(id, list: .queued) else { return id }
    let comparison = server.map { ConflictComparison(local: write.values, base: write.base?.values, server: $0) }
    try park(
      try pendingMutation(row), server: server, serverVersion: serverVersion, comparison, message: message, bounds)
    return id
  }
}

extension ServerError {
  init(_ json: JSONObject) {
    self.init(
      status: json["status"]?.numberValue?.int64.map(Int.init) ?? 0, code: json["code"]?.stringValue ?? "",
      message: json["message"]?.stringValue ?? "", details: json["details"]?.stringValue,
      hint: json["hint"]?.stringValue)
  }

  /// The refusal as JSON, for side files and machine-readable output.
  public var json: JSONObject {
    [
      "status": .number(JSONNumber(Int64(status))), "code": .string(code), "message": .string(message),
      "details": details.map(JSONValue.string) ?? .null, "hint": hint.map(JSONValue.string) ?? .null,
    ]
  }
}
