import SQLite
import SupabaseAPI

/// Where uploads in pieces were broken off, kept with the rest of the engine's state.
struct ResumableStore {
  private let store: EngineStore
  private let user: String
  private let path: ObjectPath

  init(_ store: EngineStore, user: String, _ path: ObjectPath) {
    self.store = store
    self.user = user
    self.path = path
  }

  private var key: [SQLiteValue] { [.text(user), .text(path.bucket), .text(path.key)] }

  /// The place of an upload; `nil` for none, and for one of another content where `mark` tells of one.
  func place(of mark: String? = nil) throws -> String? {
    try used { database in
      try database.first(
        """
        SELECT place FROM resumable_upload
        WHERE user_id = ?1 AND bucket = ?2 AND object_key = ?3 AND (?4 IS NULL OR file_mark = ?4)
        """, key + [.optional(mark)])?.text("place")
    }
  }

  func keep(_ place: String, of mark: String) throws {
    try used { database in
      try database.execute(
        "INSERT OR REPLACE INTO resumable_upload (user_id, bucket, object_key, file_mark, place) VALUES (?, ?, ?, ?, ?)",
        key + [.text(mark), .text(place)])
    }
  }

  func forget() throws {
    try used { database in
      try database.execute(
        "DELETE FROM resumable_upload WHERE user_id = ? AND bucket = ? AND object_key = ?", key)
    }
  }

  private func used<T: Sendable>(_ body: (Database) throws -> T) throws -> T {
    do { return try store.transaction(user: user) { try body($0.database) } } catch {
      throw OfflineError(storing: error)
    }
  }
}
