import FileWorkspace
import LosslessJSON
import Testing

@Suite("JSON Schemas for editors") struct JSONSchemaTests {
  private static let everything = CollectionSettings(
    folder: "things", table: "things", version: "moved_at", name: "title",
    columns: [
      CollectionColumn("id", .uuid), CollectionColumn("title", .text, isRequired: true),
      CollectionColumn("on", .boolean),
      CollectionColumn("count", .integer), CollectionColumn("price", .number), CollectionColumn("day", .date),
      CollectionColumn("at", .timestamp), CollectionColumn("any", .json),
      CollectionColumn("moved_at", .timestamp, isReadOnly: true),
    ])

  @Test(
    "a row's file that the schema refuses is refused by the codec, and the other way round",
    arguments: [
      #"{"title": "x"}"#, #"{"id": "8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10"}"#, #"{"id": null, "title": "x"}"#, #"{}"#,
      #"{"id": "8C1F0F0E-6A55-4A0C-9D0E-2F1B5A3B7A10", "title": "x"}"#, #"{"id": "1", "title": "x"}"#, #"[]"#, #""x""#,
      #"{"title": null}"#, #"{"title": 1}"#, #"{"title": "x", "on": true}"#, #"{"title": "x", "on": "true"}"#,
      #"{"title": "x", "on": null}"#, #"{"title": "x", "count": 3}"#, #"{"title": "x", "count": 3.5}"#,
      #"{"title": "x", "count": 3e2}"#, #"{"title": "x", "count": "3"}"#, #"{"title": "x", "price": 12.50}"#,
      #"{"title": "x", "price": "12.50"}"#, #"{"title": "x", "day": "2026-10-18"}"#,
      #"{"title": "x", "day": "18.10.2026"}"#,
      #"{"title": "x", "day": "0044-03-15 BC"}"#, #"{"title": "x", "day": "infinity"}"#,
      #"{"title": "x", "day": null}"#,
      #"{"title": "x", "at": "2026-10-18T13:00:27.486123+00:00"}"#, #"{"title": "x", "at": "2026-10-18 13:00"}"#,
      #"{"title": "x", "at": "2026-10-18"}"#, #"{"title": "x", "at": 7}"#, #"{"title": "x", "any": {"a": [1]}}"#,
      #"{"title": "x", "any": null}"#, #"{"title": "x", "moved_at": "2026-10-18T13:00:27Z"}"#,
      #"{"title": "x", "Title": "x"}"#, #"{"title": "x", "$seen": {"a": 1}}"#, #"{"title": "x", "count": 1e30}"#,
    ])
  func rows(_ text: String) throws {
    let isRead =
      switch Result(catching: { try Self.read(text) }) {
      case .success: true
      case .failure: false
      }
    let isAllowed = try SchemaCheck.allows(Self.everything.fileSchema, JSONValue(parsing: text))
    #expect(isAllowed == isRead)
  }

  /// As the workspace does with a file that has a key or is to be a new row.
  private static func read(_ text: String) throws {
    let file = try RowFile.read(Array(text.utf8), everything)
    if file.key == nil { try file.checkNew(file.values, everything) }
  }

  private static let head = #""server": {"url": "https://a.supabase.co", "key": "sb_publishable_x"}"#

  private static func withCollection(_ members: String) -> String {
    "{\(head), \"collections\": [{\"folder\": \"tasks\", \"table\": \"tasks\", \(members)}]}"
  }

  @Test(
    "settings that the schema refuses are refused when they are read, and the other way round",
    arguments: [
      "{}", "[]", "{\(head)}", "{\(head), \"collections\": []}",
      withCollection(#""key": "id", "columns": ["id uuid"]"#),
      withCollection(#""key": ["id"], "columns": [{"name": "id", "type": "uuid"}], "$note": 1"#),
      withCollection(#""key": [], "columns": ["id uuid"]"#), withCollection(#""columns": ["id uuid"]"#),
      withCollection(#""key": "id", "columns": []"#), withCollection(#""key": "id", "columns": ["id"]"#),
      withCollection(#""key": "id", "columns": ["id guid"]"#),
      withCollection(#""key": "id", "columns": ["id uuid needed"]"#),
      withCollection(#""key": "id", "columns": ["id uuid", "title text required"], "name": "title""#),
      withCollection(#""key": "id", "columns": ["id uuid", {"name": "t", "type": "text", "needed": true}]"#),
      withCollection(#""key": "id", "columns": ["id uuid"], "version": null"#),
      withCollection(#""key": "id", "columns": ["id uuid"], "version": 1"#),
      withCollection(#""key": "id", "columns": ["id uuid"], "where": {"a": false, "b": {"gte": 2}, "c": {"in": [1]}}"#),
      withCollection(#""key": "id", "columns": ["id uuid"], "where": {"b": {"like": "x"}}"#),
      withCollection(#""key": "id", "columns": ["id uuid"], "where": {"b": {}}"#),
      withCollection(#""key": "id", "columns": ["id uuid"], "where": {"b": {"in": []}}"#),
      withCollection(#""key": "id", "columns": ["id uuid"], "where": {"b": {"gte": null}}"#),
      withCollection(#""key": "id", "columns": ["id uuid"], "where": {"b": [1]}"#),
      withCollection(#""key": "id", "columns": ["id uuid"], "keyMadeBy": "server""#),
      withCollection(#""key": "id", "columns": ["id uuid"], "keyMadeBy": "me""#),
      withCollection(#""key": "id", "columns": ["id uuid"], "colums": []"#),
      withCollection(#""key": "id", "columns": ["id uuid"], "conflicts": "theirs""#),
      withCollection(#""key": "id", "columns": ["id uuid"], "conflicts": "merge""#),
      withCollection(#""key": "id", "columns": ["id uuid", {"name": "t", "type": "text", "conflicts": "merge"}]"#),
      withCollection(#""key": "id", "columns": ["id uuid", {"name": "t", "type": "date", "conflicts": "mine"}]"#),
      withCollection(#""key": "id", "columns": ["id uuid", {"name": "t", "type": "date", "conflicts": "merge"}]"#),
      withCollection(#""key": "id", "columns": ["id uuid", {"name": "t", "type": "text", "conflicts": "both"}]"#),
    ])
  func settings(_ text: String) throws {
    let isRead = (try? WorkspaceSettings(parsing: Array(text.utf8))) != nil
    #expect(try SchemaCheck.allows(WorkspaceSettings.schema, JSONValue(parsing: text)) == isRead)
  }

  @Test(
    "numbers and words beside the collections have the same bounds",
    arguments: [
      "\"pullEvery\": 0.1", "\"pullEvery\": 0.05", "\"pullEvery\": 86401", "\"settle\": 1", "\"settle\": 0",
      "\"deleteAfter\": 0", "\"deleteAfter\": -1", "\"deleteAfter\": \"1\"", "\"conflicts\": \"hold\"",
      "\"conflicts\": \"mine\"", "\"conflicts\": \"merge\"", "\"conflicts\": \"last\"", "\"conflicts\": null",
      "\"server\": {\"url\": \"ftp://a\", \"key\": \"k\"}", "\"$schema\": \"./x.json\"",
      "\"server\": {\"url\": \"https://a\", \"key\": \"sb_secret_x\"}", "\"server\": {\"url\": \"https://a\"}",
    ])
  func others(_ member: String) throws {
    let server = member.hasPrefix("\"server\"") ? "" : Self.head + ", "
    let text =
      "{\(server)\"collections\": [{\"folder\": \"t\", \"table\": \"t\", \"key\": \"id\", \"columns\": [\"id uuid\"]}], "
      + "\(member)}"
    let isRead = (try? WorkspaceSettings(parsing: Array(text.utf8))) != nil
    #expect(try SchemaCheck.allows(WorkspaceSettings.schema, JSONValue(parsing: text)) == isRead)
  }

  @Test(
    "what is said of photos has the same bounds",
    arguments: [
      #""folder": "photos""#, #""table": "p""#, #""folder": "p", "table": "q""#, #""folder": "p", "bucket": "b""#,
      #""folder": "p", "download": "all""#, #""folder": "p", "table": "q", "bucket": "b", "row": "task""#,
      #""folder": "p", "table": "q", "bucket": "a/b""#, #""folder": "p", "table": "q", "bucket": " ""#,
      #""folder": "p", "table": "q", "download": "all""#, #""folder": "p", "table": "q", "download": "some""#,
      #""folder": "p", "table": "q", "download": {"newest": 5}"#,
      #""folder": "p", "table": "q", "download": {"newest": 0}"#,
      #""folder": "p", "table": "q", "download": {"newest": 1.5}"#,
      #""folder": "p", "table": "q", "download": {"upTo": 1000000}"#,
      #""folder": "p", "table": "q", "download": {"upTo": 1, "newest": 1}"#,
      #""folder": "p", "table": "q", "download": {}"#, #""folder": "p", "table": "q", "download": null"#,
      #""folder": "p", "table": "q", "newFolders": "add""#, #""folder": "p", "table": "q", "newFolders": "new""#,
      #""folder": "p", "table": "q", "prepare": {"stripLocation": true, "longestEdge": 2560, "heicToJPEG": false}"#,
      #""folder": "p", "table": "q", "prepare": {"longestEdge": 10}"#,
      #""folder": "p", "table": "q", "prepare": {"crop": true}"#, #""folder": "p", "table": "q", "prepare": {}"#,
      #""folder": "p", "table": "q", "ignore": ["*.txt", "?"]"#, #""folder": "p", "table": "q", "ignore": [""]"#,
      #""folder": "p", "table": "q", "ignore": "*.txt""#, #""folder": "p", "table": "q", "photos": 1"#,
    ])
  func photos(_ members: String) throws {
    let text = Self.withCollection(#""key": "id", "columns": ["id uuid"], "photos": {\#(members)}"#)
    let isRead = (try? WorkspaceSettings(parsing: Array(text.utf8))) != nil
    #expect(try SchemaCheck.allows(WorkspaceSettings.schema, JSONValue(parsing: text)) == isRead)
  }

  @Test("every folder has its schema, and the editor is told which")
  func files() throws {
    let server = try ServerSettings(url: "http://127.0.0.1:54321", key: "k")
    for template in WorkspaceTemplate.all {
      let text = WorkspaceSettings.text(template, server: server)
      let settings = try WorkspaceSettings(parsing: Array(text.utf8))
      let schemas = SchemaFile.all(settings)
      #expect(
        schemas.map(\.path) == [".tidemark/schema.json", ".tidemark/user-settings-schema.json"]
          + settings.collections.map { ".tidemark/schema/\($0.folder).json" })
      #expect(try SchemaCheck.allows(WorkspaceSettings.schema, JSONValue(parsing: text)))
      let editor = try JSONValue(parsing: SchemaFile.editorSettings(settings))
      let urls = editor["json.schemas"]?.arrayValue?.compactMap { $0["url"]?.stringValue }
      #expect(urls == schemas.dropFirst(2).map { "./\($0.path)" })
    }
  }
}
