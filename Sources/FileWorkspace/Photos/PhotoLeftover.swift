import OfflineEngine
import SQLite

/// An object of the bucket that is to go, once no row names it any more.
struct PhotoLeftover: Sendable, Hashable {
  /// Its key.
  var object: String
  /// The collection's folder.
  var collection: String
  /// The key of the photo's row.
  var photo: String
  /// The key of the row whose delete takes the photo with it; nil where the photo alone goes.
  var owner: String?
  /// Where its file lay, unless that has come into the trash: the object may have the only copy, which is to be there
  /// first.
  var removedFrom: String?
  var attempts = 0
  var retryAt: WallTime?
  var reason: String?

  /// Whether an object may go now.
  enum Verdict: Sendable, Hashable {
    /// No row names it.
    case remove
    /// A write that decides about it has no answer yet.
    case wait
    /// The row that was to go stays: so does its object.
    case keep
  }

  /// Judges by the rows.
  func verdict(_ table: PhotoTable, _ transaction: EngineTransaction) throws -> Verdict {
    if let owner, let key = table.collection.key(text: owner) {
      let row = try transaction.row(table.collection.table, key)
      if try !row.pending.isEmpty || !transaction.conflictedMutations(table.collection.table, key).isEmpty {
        return .wait
      }
      if row.server?.values != nil { return .keep }
    }
    let state = try PhotoRowState(table, photo, transaction)
    if state.isPending { return .wait }
    return state.row?.object == object ? .keep : .remove
  }
}

/// The leftover objects within one transaction.
struct PhotoLeftovers {
  let database: Database

  init(_ transaction: EngineTransaction) { database = transaction.database }

  func all(_ collection: String? = nil) throws -> [PhotoLeftover] {
    try database.rows("SELECT * FROM photo_leftover ORDER BY object").map { row in
      PhotoLeftover(
        object: row.text("object") ?? "", collection: row.text("collection") ?? "", photo: row.text("photo") ?? "",
        owner: row.text("owner"), removedFrom: row.text("removed_from"), attempts: Int(row.integer("attempts") ?? 0),
        retryAt: row.integer("retry_at").map(WallTime.init(nanoseconds:)), reason: row.text("reason"))
    }.filter { collection == nil || $0.collection == collection }
  }

  /// Has an object of a photo removed that no row is to name.
  func add(_ object: String, of record: PhotoRecord) throws {
    try add(PhotoLeftover(object: object, collection: record.collection, photo: record.id, owner: nil))
  }

  /// Has objects of a photo removed with whose file a person's only copy of them may go.
  func add(_ objects: [String], of record: PhotoRecord, owner: String? = nil) throws {
    for object in objects {
      try add(
        PhotoLeftover(
          object: object, collection: record.collection, photo: record.id, owner: owner,
          removedFrom: record.seen == nil ? nil : record.lastPath))
    }
  }

  /// Notes that the file of a photo is in the trash.
  func noteTrashed(photo: String) throws {
    try database.execute("UPDATE photo_leftover SET removed_from = NULL WHERE photo = ?", [.text(photo)])
  }

  func add(_ leftover: PhotoLeftover) throws {
    try database.execute(
      """
      INSERT INTO photo_leftover (object, collection, photo, owner, attempts, retry_at, reason, removed_from)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
      ON CONFLICT (object) DO UPDATE SET owner = ?4, attempts = ?5, retry_at = ?6, reason = ?7,
        removed_from = coalesce(?8, removed_from)
      """,
      [
        .text(leftover.object), .text(leftover.collection), .text(leftover.photo), .optional(leftover.owner),
        .integer(Int64(leftover.attempts)), .optional(leftover.retryAt?.nanoseconds), .optional(leftover.reason),
        .optional(leftover.removedFrom),
      ])
  }

  func remove(_ object: String) throws {
    try database.execute("DELETE FROM photo_leftover WHERE object = ?", [.text(object)])
  }
}
