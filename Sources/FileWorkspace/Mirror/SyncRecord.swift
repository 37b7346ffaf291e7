import LosslessJSON
import OfflineEngine
import SQLite
import Synchronization

/// What one sync did to one of the person's files.
struct SyncedFile: Sendable, Hashable {
  /// The number of the sync.
  var round: Int64
  /// Where the file lay then.
  var path: String
  /// The collection's folder.
  var collection: String
  /// The key of its row.
  var keyText: String
  /// What lay there before; `nil` when the file came new.
  var former: [UInt8]?
  /// What the columns that changed were before.
  var formerValues: JSONObject
  /// The hash of what the sync wrote, or of the same with only the server's own columns moved since; `nil` when the file
  /// was removed.
  var written: ContentHash?
}

/// A sync that changed files.
struct SyncRound: Sendable, Hashable {
  var number: Int64
  /// When it changed the first of them.
  var at: WallTime
  /// Whether it was undone, but for files that came new and stay.
  var isUndone: Bool
}

/// Which sync the write-backs of this process belong to.
final class CurrentSync: Sendable {
  private enum State {
    /// What is written is a command's doing.
    case none
    /// A sync that has changed nothing yet.
    case begun
    case open(Int64)
  }

  private let state = Mutex((state: State.none, isSuspended: false))

  /// Lets a new sync begin; it takes a number when it changes its first file.
  func begin() { state.withLock { $0.state = .begun } }

  /// Does something whose write-backs are a person's own wish.
  func suspended<T>(_ body: () throws -> T) rethrows -> T {
    let before = state.withLock { state in
      defer { state.isSuspended = true }
      return state.isSuspended
    }
    defer { state.withLock { $0.isSuspended = before } }
    return try body()
  }

  /// The number of the sync at work; `make` gives a new one its number.
  func number(_ make: () throws -> Int64) rethrows -> Int64? {
    let (current, isSuspended) = state.withLock { $0 }
    if isSuspended { return nil }
    switch current {
    case .none: return nil
    case .open(let number): return number
    case .begun:
      let number = try make()
      state.withLock { $0.state = .open(number) }
      return number
    }
  }
}

/// The record of what the last syncs did to files, within one transaction.
struct SyncRecord {
  let transaction: EngineTransaction
  private var database: Database { transaction.database }
  /// The sync that is known to be on record.
  private var opened: Int64?

  /// How many syncs are kept; only those count that changed files.
  static let countMax: Int64 = 10
  /// How long they are kept: as long as texts in the trash.
  static let ageMax = Duration.seconds(30 * 86_400)
  /// How many bytes the former texts may have together; those of the last sync stay, however many.
  static let bytesMax: Int64 = 64 << 20

  init(_ transaction: EngineTransaction) { self.transaction = transaction }

  // MARK: Keeping

  /// The number for a sync that begins to change files; the oldest syncs give way to it.
  func newNumber() throws -> Int64 {
    let number = (try database.first("SELECT max(number) AS n FROM sync_round")?.integer("n") ?? 0) + 1
    try database.execute(
      """
      UPDATE sync_round SET bytes =
        (SELECT coalesce(sum(length(former)), 0) FROM sync_round_file WHERE round = sync_round.number)
      WHERE bytes IS NULL
      """)
    var bytes: Int64 = 0
    for row in try database.rows("SELECT number, at, bytes FROM sync_round ORDER BY number DESC") {
      guard let old = row.integer("number") else { continue }
      bytes += row.integer("bytes") ?? 0
      let isOutdated = WallTime(nanoseconds: row.integer("at") ?? 0) + Self.ageMax < transaction.now
      if isOutdated || old <= number - Self.countMax || (bytes > Self.bytesMax && old < number - 1) {
        try remove(old)
      }
    }
    return number
  }

  /// Keeps what a sync did to a file; of several things that one sync did to it, what was before the first of them.
  mutating func note(_ file: SyncedFile) throws {
    if opened != file.round {
      try database.execute(
        """
        INSERT INTO sync_round (number, at) VALUES (?1, ?2)
        ON CONFLICT (number) DO UPDATE SET is_undone = 0 WHERE is_undone
        """,
        [.integer(file.round), .integer(transaction.now.nanoseconds)])
      opened = file.round
    }
    // Most are the first thing that the sync did to their file.
    try database.execute(
      "INSERT INTO sync_round_file VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (round, path) DO NOTHING", values(of: file))
    guard database.changes == 0,
      let before = try database.first(
        "SELECT * FROM sync_round_file WHERE round = ? AND path = ?", [.integer(file.round), .text(file.path)])
    else { return }
    let first = try synced(before)
    var file = file
    file.former = first.former
    file.formerValues = file.formerValues.overlaid(with: first.formerValues)
    if file.former == nil, file.written == nil { return try forget(file) }
    try database.execute("INSERT OR REPLACE INTO sync_round_file VALUES (?, ?, ?, ?, ?, ?, ?)", values(of: file))
  }

  private func values(of file: SyncedFile) -> [SQLiteValue] {
    [
      .integer(file.round), .text(file.path), .text(file.collection), .text(file.keyText),
      file.former.map(SQLiteValue.blob) ?? .null, .text(JSONValue.object(file.formerValues).serialized()),
      .optional(file.written?.description),
    ]
  }

  /// Notes that a file was written anew with no column of the person's changed: it still is what the sync wrote.
  func follow(_ path: String, from old: ContentHash, to new: ContentHash) throws {
    guard old != new else { return }
    try database.execute(
      """
      UPDATE sync_round_file SET written = ?3
      WHERE round IN (SELECT number FROM sync_round) AND path = ?1 AND written = ?2
      """, [.text(path), .text(old.description), .text(new.description)])
  }

  // MARK: Undoing

  /// The sync that is to be undone next.
  ///
  /// - Parameter isAddedToo: Whether files that came new are to go: then one counts that was undone but for these.
  func next(isAddedToo: Bool) throws -> SyncRound? {
    try database.first(
      """
      SELECT * FROM sync_round WHERE is_undone = 0 OR
        (?1 AND EXISTS (SELECT 1 FROM sync_round_file WHERE round = sync_round.number))
      ORDER BY number DESC LIMIT 1
      """, [.integer(isAddedToo ? 1 : 0)]
    ).map { row in
      SyncRound(
        number: row.integer("number") ?? 0, at: WallTime(nanoseconds: row.integer("at") ?? 0),
        isUndone: row.integer("is_undone") == 1)
    }
  }

  /// What a sync did, by path.
  func files(of round: SyncRound) throws -> [SyncedFile] {
    try database.rows("SELECT * FROM sync_round_file WHERE round = ? ORDER BY path", [.integer(round.number)])
      .map(synced)
  }

  /// Forgets what a sync did to a file.
  func forget(_ file: SyncedFile) throws {
    try database.execute(
      "DELETE FROM sync_round_file WHERE round = ? AND path = ?", [.integer(file.round), .text(file.path)])
  }

  /// Notes that a sync was undone; of one that left nothing, nothing is kept.
  func setUndone(_ round: SyncRound) throws {
    let left = try database.first("SELECT 1 FROM sync_round_file WHERE round = ? LIMIT 1", [.integer(round.number)])
    if left == nil {
      try remove(round.number)
    } else {
      try database.execute("UPDATE sync_round SET is_undone = 1 WHERE number = ?", [.integer(round.number)])
    }
  }

  private func remove(_ number: Int64) throws {
    try database.execute("DELETE FROM sync_round_file WHERE round = ?", [.integer(number)])
    try database.execute("DELETE FROM sync_round WHERE number = ?", [.integer(number)])
  }

  private func synced(_ row: SQLiteRow) throws -> SyncedFile {
    SyncedFile(
      round: row.integer("round") ?? 0, path: row.text("path") ?? "", collection: row.text("collection") ?? "",
      keyText: row.text("key") ?? "", former: row.blob("former"),
      formerValues: try JSONValue(parsing: row.text("former_values") ?? "{}").objectValue ?? [:],
      written: row.text("written").flatMap { ContentHash($0) })
  }
}
