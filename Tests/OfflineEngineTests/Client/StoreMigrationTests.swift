import LosslessJSON
import SQLite
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("A database of an earlier program")
struct StoreMigrationTests {
  private static let table = TableDescription(name: "tasks", columns: [])

  @Test("opens with its lists, and with every queued, refused and parked write")
  func lists() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("state.sqlite")
    let steps = Migration.engine.firstIndex { $0.name == "lists of shared rows" }
    let before = Array(Migration.engine[..<(try #require(steps))])
    do {
      let database = try Database(path: path)
      try database.migrate(before, part: "engine")
      try database.script(
        """
        INSERT INTO cached_query VALUES
          (3, 'u', 'public', 'tasks', '{}', 500, 1), (7, 'u', 'public', 'tasks', '{"columns":["id","title"]}', 600, 0),
          (8, 'v', 'public', 'tasks', '{"select":"id,count()"}', 700, 0), (9, 'u', 'other', 'tasks', '{}', 800, 0);
        INSERT INTO cached_query_row VALUES
          (3, 1.5, '2', '{"id":2,"title":"B"}'), (3, -4.0, '1', '{"id":1,"title":"A"}'),
          (3, 1.75, '3', '{"id":3,"title":"C"}'), (7, 0.0, '2', '{"id":2,"title":"B"}'),
          (8, 0.0, NULL, '{"id":2,"count":1}');
        INSERT INTO mutation
          (user_id, table_name, key, key_values, operation, body, coalesces, created_at, list, listed_at, message)
          VALUES ('u', 'tasks', '1', '[1]', 'DELETE', '{}', 0, 1, 'queued', NULL, NULL),
            ('u', 'tasks', '2', '[2]', 'DELETE', '{}', 0, 2, 'rejected', 3, 'no'),
            ('u', 'tasks', '3', '[3]', 'DELETE', '{}', 0, 4, 'conflicted', 5, 'changed');
        """)
    }
    let store = try EngineStore(path: path, clock: VirtualClock())
    func shown(_ user: String, _ schema: String, _ text: String) throws -> ShownList? {
      let query = try #require(ListQuery(schema: schema, table: "tasks", text: text))
      return try store.read(user: user) { transaction in
        guard let list = try transaction.cachedList(query) else { return nil }
        return ShownList(
          rows: try transaction.rows(of: list).map(\.row), fetchedAt: list.fetchedAt, isStale: list.isStale)
      }
    }
    let rows: [JSONObject] = [["id": 1, "title": "A"], ["id": 2, "title": "B"], ["id": 3, "title": "C"]]
    #expect(
      try shown("u", "public", "{}")
        == ShownList(rows: rows, fetchedAt: WallTime(nanoseconds: 500), isStale: true))
    #expect(try shown("u", "public", #"{"columns":["id","title"]}"#)?.rows == [rows[1]])
    #expect(try shown("v", "public", #"{"select":"id,count()"}"#)?.rows == [["id": 2, "count": 1]])
    #expect(try shown("u", "other", "{}")?.rows.isEmpty == true)
    #expect(try shown("v", "public", "{}") == nil)
    let counts = try store.read(user: "u") { try $0.counts() }
    #expect([counts.queued, counts.rejected, counts.conflicted] == [1, 1, 1])

    // They are lists like others from then on.
    let query = try #require(ListQuery(schema: "public", table: "tasks", text: "{}"))
    try store.transaction(user: "u") { transaction in
      try transaction.applyAccepted(
        .update("tasks", key: RowKey([2]), values: ["title": "Other"], base: nil), Self.table, rows: nil)
      try transaction.keep(
        Array(rows[1...]), for: query, Self.table, fetchedAt: transaction.now, isStale: false)
    }
    #expect(try shown("u", "public", "{}")?.rows == Array(rows[1...]))
    #expect(try shown("u", "public", #"{"columns":["id","title"]}"#)?.rows == [["id": 2, "title": "Other"]])
    try store.transaction(user: "u") { try $0.dropLists() }
    let bytes = try store.read(user: "u") { try $0.database.first("SELECT sum(bytes) AS n FROM list_shape") }
    #expect(bytes?.integer("n") == 18, "what is another user's")
  }
}
