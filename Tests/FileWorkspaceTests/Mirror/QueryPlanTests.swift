import Foundation
import OfflineEngine
import SQLite
import Testing

@testable import FileWorkspace

@Suite("The statements of the state")
struct QueryPlanTests {
  /// The statements that are meant to walk a whole collection or table, by how they begin.
  private static let walks = [
    "SELECT * FROM mirror WHERE collection = ?", "SELECT count(*)", "SELECT path FROM mirror",
    // A repair forgets it all.
    "DELETE FROM mirror WHERE collection = ?", "UPDATE cached_row SET version = NULL WHERE user_id = ?",
    // A person's short form of a key.
    "SELECT key, path FROM mirror WHERE collection = ?1 AND path IS NOT NULL AND substr",
    // Ends at the first rows that it meets.
    "SELECT body FROM cached_row WHERE user_id = ? AND table_name = ? AND key <> ? AND body IS NOT NULL LIMIT",
    "SELECT key, path, inode, birth, size, mtime, ctime, hash, read_at, was_seen, absent_since, is_held FROM mirror",
    // A list is read, or compared with the next answer, as a whole.
    "SELECT place, row_id, key, body FROM list_member JOIN list_row ON id = row_id WHERE list_id = ? ORDER BY place",
    // Ends where enough has gone.
    "SELECT id, user_id, schema_name, table_name, query FROM cached_list ORDER BY used_at, id",
    // One row a table and selection.
    "SELECT sum(bytes) AS n FROM list_shape",
  ]

  /// The tables that may be long.
  private static let tables = [
    "mirror", "cached_row", "row_change", "mutation", "cached_list", "list_shape", "list_row", "list_member",
  ]

  /// The statements in the sources that stand there whole.
  private static func statements() throws -> Set<String> {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources")
    var found: Set<String> = []
    let pattern = try Regex(#""""\n([^"\\]*?)"""|"((?:SELECT|UPDATE|DELETE)[^"\\\n]*)""#)
    for module in ["FileWorkspace", "OfflineEngine"] {
      let files = FileManager.default.enumerator(at: sources.appending(path: module), includingPropertiesForKeys: nil)
      while let file = files?.nextObject() as? URL {
        guard file.pathExtension == "swift" else { continue }
        for match in try String(contentsOf: file, encoding: .utf8).matches(of: pattern) {
          let text = (match.output[1].substring ?? match.output[2].substring ?? "").split { $0.isWhitespace }
          if ["SELECT", "UPDATE", "DELETE"].contains(text.first ?? "") { found.insert(text.joined(separator: " ")) }
        }
      }
    }
    return found
  }

  @Test("find a row or a file by an index, not by walking all there are")
  func indexed() throws {
    let store = try EngineStore(path: ":memory:", clock: LiveClock(), callerMigrations: Workspace.migrations)
    let statements = try Self.statements()
    #expect(statements.count > 40)
    let meantToWalk = { (statement: String) in
      Self.walks.contains { walk in
        statement == walk
          || !walk.hasPrefix("SELECT place") && statement.hasPrefix(walk) && !statement.contains("inode = ?")
      }
    }
    try store.read(user: "") { transaction in
      for statement in statements where !meantToWalk(statement) {
        let count = statement.contains("?1") ? 9 : statement.count { $0 == "?" }
        let values = Array(repeating: SQLiteValue.null, count: count)
        let plan =
          (try? transaction.database.rows("EXPLAIN QUERY PLAN \(statement)", values))
          ?? (try? transaction.database.rows("EXPLAIN QUERY PLAN \(statement)")) ?? []
        for step in plan.compactMap({ $0.text("detail") }) {
          let isWalk =
            step.contains("mirror USING PRIMARY KEY (collection=?)")
            || step.contains("cached_row USING PRIMARY KEY (user_id=? AND table_name=?)")
            // A row's writes are found by the row's key, not among all writes of its table or list.
            || step.contains(" mutation ") && !step.contains("key=?")
              && (statement.contains(" key = ") || statement.contains(" key IN "))
            || ["SCAN mirror", "SCAN cached_row", "SCAN row_change"].contains(step)
          #expect(!isWalk, "\(statement): \(step)")
        }
      }
    }
  }
}
