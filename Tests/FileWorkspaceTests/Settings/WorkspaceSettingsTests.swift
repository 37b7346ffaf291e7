import FileWorkspace
import Foundation
import LosslessJSON
import Testing

@Suite("tidemark.json") struct WorkspaceSettingsTests {
  static let whole = """
    {
      "$schema": "x",
      "server": {"url": "https://abcd.supabase.co/", "key": "sb_publishable_1"},
      "collections": [
        {
          "folder": "tasks",
          "table": "tasks",
          "key": "id",
          "version": "updated_at",
          "cursor": "updated_at",
          "name": "title",
          "columns": [
            "id uuid",
            "title text required",
            {"name": "due date", "type": "date"},
            "updated_at timestamp read-only"
          ],
          "where": {"archived": false, "priority": {"gte": 2, "lt": 9}, "gone_at": null, "list": {"in": ["a", 1]}}, "photos": {"folder": "photos"}
        },
        {"folder": "links", "table": "task_labels", "key": ["task", "label"], "keyMadeBy": "server", "version": null,
         "columns": [{"name": "task", "type": "uuid", "required": true, "readOnly": true, "$why": 1}, "label integer"]}
      ],
      "pullEvery": 0.5,
      "settle": 30, "live": false,
      "deleteAfter": 3
    }
    """

  @Test("everything that can be set is read")
  func all() throws {
    let settings = try WorkspaceSettings(parsing: Array(Self.whole.utf8))
    #expect(
      settings
        == WorkspaceSettings(
          server: try ServerSettings(url: "https://abcd.supabase.co", key: "sb_publishable_1"),
          collections: [
            CollectionSettings(
              folder: "tasks", table: "tasks", version: "updated_at", cursor: "updated_at", name: "title",
              columns: [
                CollectionColumn("id", .uuid), CollectionColumn("title", .text, isRequired: true),
                CollectionColumn("due date", .date), CollectionColumn("updated_at", .timestamp, isReadOnly: true),
              ],
              conditions: [
                RowCondition("archived", .eq, false), RowCondition("priority", .gte, 2),
                RowCondition("priority", .lt, 9), RowCondition("gone_at", .eq, .null),
                RowCondition("list", .in, ["a", 1]),
              ], photos: PhotosSettings(folder: "photos")),
            CollectionSettings(
              folder: "links", table: "task_labels", key: ["task", "label"], keyMadeBy: .server,
              columns: [
                CollectionColumn("task", .uuid, isRequired: true, isReadOnly: true),
                CollectionColumn("label", .integer),
              ]),
          ],
          pullEvery: .milliseconds(500), settle: .milliseconds(30), deleteAfter: .seconds(3), live: false))
    #expect(settings.collections[0].editableColumns.map(\.name) == ["title", "due date"])
    #expect(settings.collections[1].keyColumns.map(\.name) == ["task", "label"])
    #expect(settings.collection(folder: "links")?.table == "task_labels")
    #expect(settings.collection(folder: "x") == nil)
  }

  @Test(
    "each service may have a place of its own, or none",
    arguments: [
      (#"{"url": "https://a.b/", "key": "k"}"#, ["https://a.b/rest/v1", "https://a.b/auth/v1"], true),
      (#"{"url": "https://a.b", "key": "k", "auth": null}"#, ["https://a.b/rest/v1", nil], true),
      (
        #"{"url": "https://a.b", "key": "k", "rest": "http://c:3000/"}"#, ["http://c:3000", "https://a.b/auth/v1"], true
      ),
      (#"{"rest": "http://c:3000/x/", "key": "k"}"#, ["http://c:3000/x", nil], true),
      (#"{"rest": "http://c:3000", "auth": "http://d/auth"}"#, ["http://c:3000", "http://d/auth"], false),
    ] as [(String, [String?], Bool)])
  func services(_ server: String, _ places: [String?], _ hasKey: Bool) throws {
    let collections = #"[{"folder": "t", "table": "t", "key": "id", "columns": ["id uuid"]}]"#
    let text = #"{"server": \#(server), "collections": \#(collections)}"#
    let settings = try WorkspaceSettings(parsing: Array(text.utf8))
    let project = try settings.server.project
    #expect([project.services.rest, project.services.auth] == places)
    #expect((project.key != nil) == hasKey)
    // What is written for a new workspace is read as the same.
    let written = WorkspaceSettings.text(server: settings.server)
    #expect(try WorkspaceSettings(parsing: Array(written.utf8)).server == settings.server)
  }

  @Test("what is not set has its default")
  func defaults() throws {
    let text = """
      {"server": {"url": "http://127.0.0.1:54321", "key": "k"},
       "collections": [{"folder": "t", "table": "t", "key": "id", "columns": ["id uuid"]}]}
      """
    let settings = try WorkspaceSettings(parsing: Array(text.utf8))
    #expect(settings.pullEvery == .seconds(2))
    #expect(settings.settle == .milliseconds(50))
    #expect(settings.deleteAfter == .seconds(10))
    #expect(settings.conflicts == .hold)
    #expect(settings.collections[0].version == nil)
    #expect(settings.collections[0].name == nil)
    #expect(settings.collections[0].keyMadeBy == .device)
  }

  @Test("the workspace's word on conflicts holds for its collections, a collection's for its columns")
  func policies() throws {
    let text = """
      {
        "server": {"url": "https://abcd.supabase.co", "key": "sb_publishable_1"},
        "collections": [
          {"folder": "a", "table": "a", "key": "id", "columns": [
            "id uuid", "title text", {"name": "notes", "type": "text", "conflicts": "merge"}, "done boolean"]},
          {"folder": "b", "table": "b", "key": "id", "conflicts": "mine", "columns": [
            "id uuid", "title text", {"name": "done", "type": "boolean", "conflicts": "hold"}]}
        ],
        "conflicts": "theirs"
      }
      """
    let settings = try WorkspaceSettings(parsing: Array(text.utf8))
    #expect(settings.conflicts == .theirs)
    #expect(settings.collections.map(\.conflicts) == [.theirs, .mine])
    #expect(["title", "notes", "done"].map(settings.collections[0].conflicts(in:)) == [.theirs, .merge, .theirs])
    #expect(["title", "done"].map(settings.collections[1].conflicts(in:)) == [.mine, .hold])
    #expect(try SchemaCheck.allows(WorkspaceSettings.schema, JSONValue(parsing: text)))
  }

  @Test("the README's example can be read, and says what the README says")
  func readme() throws {
    let path = #filePath.components(separatedBy: "/Tests/")[0] + "/README.md"
    let readme = try String(contentsOfFile: path, encoding: .utf8)
    let examples = readme.components(separatedBy: "```json\n").dropFirst()
      .compactMap { $0.components(separatedBy: "```").first }.filter { $0.contains("\"folder\"") }
    let example = try #require(examples.first)
    let text = """
      {"server": {"url": "https://abcd.supabase.co", "key": "sb_publishable_1"}, "collections": [\(example)]}
      """
    let collection = try #require(try WorkspaceSettings(parsing: Array(text.utf8)).collections.first)
    #expect(["title", "notes"].map(collection.conflicts(in:)) == [.theirs, .merge])
  }

  @Test("where the settings say nothing, conflicts are held")
  func heldByDefault() throws {
    let settings = try WorkspaceSettings(parsing: Array(Self.whole.utf8))
    for collection in settings.collections {
      #expect(collection.conflicts == .hold)
      #expect(collection.columns.allSatisfy { collection.conflicts(in: $0.name) == .hold })
    }
  }

  struct Mistake: Sendable, CustomTestStringConvertible {
    var old: String
    var new: String
    var error: String
    var testDescription: String { error }

    init(_ old: String, _ new: String, _ error: String) {
      self.old = old
      self.new = new
      self.error = "tidemark.json:" + error
    }
  }

  static let mistakes = [
    Mistake(
      "\"$schema\"", "\"colections\"",
      "2:3: unknown member 'colections'; expected one of server, collections, pullEvery, settle, deleteAfter, conflicts, live, git"
    ),
    Mistake(
      "\"folder\": \"tasks\"", "\"foldr\": \"tasks\"",
      "6:7: unknown member 'foldr'; expected one of folder, table, key, keyMadeBy, version, cursor, name, columns, where, photos, conflicts"
    ),
    Mistake("\"folder\": \"tasks\",", "", "5:5: the member 'folder' is missing; expected the folder's name"),
    Mistake("\"server\"", "\"$server\"", "1:1: the member 'server' is missing; expected an object with url and key"),
    Mistake("\"folder\": \"tasks\"", "\"folder\": 1", "6:17: found a number; expected the folder's name"),
    Mistake("\"folder\": \"tasks\"", "\"folder\": \" \"", "6:17: this text is blank; expected the folder's name"),
    Mistake(
      "\"folder\": \"tasks\"", "\"folder\": \"a/b\"",
      "6:17: the folder 'a/b' has a slash; expected one directly in the workspace"),
    Mistake("\"folder\": \"tasks\"", "\"folder\": \"..\"", "6:17: the folder '..' begins with '.'; expected a letter"),
    Mistake(
      "\"folder\": \"tasks\"", "\"folder\": \".tidemark\"",
      "6:17: the folder '.tidemark' begins with '.'; expected a letter"),
    Mistake(
      "\"folder\": \"tasks\"", "\"folder\": \"con\"",
      "6:17: 'con' is not a folder's name on every system; expected a plain word"),
    Mistake(
      "\"folder\": \"links\"", "\"folder\": \"Tasks\"",
      "20:16: the folder 'Tasks' is taken by the table 'tasks'; expected a folder of its own for each table"),
    Mistake(
      "\"table\": \"task_labels\"", "\"table\": \"tasks\"",
      "20:34: the table 'tasks' is mirrored into 'tasks' already; expected each table once"),
    Mistake(
      "\"id uuid\"", "\"id uid\"",
      "13:9: unknown type 'uid'; expected one of uuid, text, boolean, integer, number, date, timestamp, json"),
    Mistake(
      "\"type\": \"date\"", "\"type\": \"day\"",
      "15:38: unknown type 'day'; expected one of uuid, text, boolean, integer, number, date, timestamp, json"),
    Mistake(
      "\"title text required\"", "\"title text needed\"",
      "14:9: found 'needed' behind the type; expected 'required' or 'read-only', once"),
    Mistake(
      "\"title text required\"", "\"title\"",
      "14:9: found 'title'; expected a column's name and type, such as \"title text\""),
    Mistake(
      "\"title text required\"", "7",
      "14:9: found a number; expected a column such as \"title text required\" or an object { … }"),
    Mistake("\"title text required\"", "\"id text\"", "14:9: the column 'id' stands in the list twice"),
    Mistake(
      "\"title text required\"", "\"$t text\"",
      "14:9: the column '$t' begins with '$'; such members are notes of the person"),
    Mistake(
      "\"name\": \"title\"", "\"name\": \"titel\"",
      "11:15: the column 'titel' is not among the columns: id, title, due date, updated_at"),
    Mistake(
      "\"name\": \"title\"", "\"name\": \"due date\"",
      "11:15: the column 'due date' holds no text; expected one that does, to name the files"),
    Mistake(
      "\"key\": \"id\"", "\"key\": \"uid\"",
      "8:14: the column 'uid' is not among the columns: id, title, due date, updated_at"),
    Mistake(
      "\"key\": \"id\"", "\"key\": []",
      "8:14: no columns; expected the key's column such as \"id\", or an array of columns"),
    Mistake(
      "\"id uuid\"", "\"id integer\"",
      "8:14: a whole number as key is made by the server; expected \"keyMadeBy\": \"server\" beside it"),
    Mistake(
      "\"id uuid\"", "\"id json\"", "8:14: a column of the type json cannot be a key; expected uuid, text or integer"),
    Mistake("[\"task\", \"label\"]", "[\"task\", \"task\"]", "20:65: the column 'task' stands in the key twice"),
    Mistake("\"keyMadeBy\": \"server\"", "\"keyMadeBy\": \"me\"", "20:88: expected \"device\" or \"server\""),
    Mistake(
      "timestamp read-only", "timestamp",
      "9:18: the version 'updated_at' is among the columns that a person edits; take it out of the columns, or show it read-only"
    ),
    Mistake(
      "\"cursor\": \"updated_at\"", "\"cursor\": \"title\"", "10:17: the cursor 'title' is no timestamp; expected one"),
    Mistake(
      "{\"in\": [\"a\", 1]}", "{\"like\": \"a\"}",
      "18:95: unknown member 'like'; expected one of eq, neq, lt, lte, gt, gte, in"),
    Mistake("{\"in\": [\"a\", 1]}", "{\"in\": []}", "18:101: no values; expected at least one"),
    Mistake("{\"in\": [\"a\", 1]}", "[1]", "18:94: found an array; expected a text, a number, true, false or null"),
    Mistake(
      "\"pullEvery\": 0.5", "\"pullEvery\": 0",
      "23:16: 0 is out of range; expected a number of seconds from 0.1 to 86400"),
    Mistake(
      "\"settle\": 30", "\"settle\": \"30\"", "24:13: found a string; expected a number of milliseconds from 1 to 60000"
    ),
    Mistake(
      "\"deleteAfter\": 3", "\"deleteAfter\": 3, \"conflicts\": \"last\"",
      "25:34: expected \"hold\", \"mine\" or \"theirs\""),
    Mistake(
      "\"deleteAfter\": 3", "\"deleteAfter\": 3, \"conflicts\": \"merge\"",
      "25:34: only the text of a column can be merged; expected \"hold\", \"mine\" or \"theirs\", or \"merge\" at a column"
    ),
    Mistake(
      "\"name\": \"title\",", "\"name\": \"title\", \"conflicts\": \"merge\",",
      "11:37: only the text of a column can be merged; expected \"hold\", \"mine\" or \"theirs\", or \"merge\" at a column"
    ),
    Mistake(
      "\"name\": \"title\",", "\"name\": \"title\", \"conflicts\": true,",
      "11:37: found a Boolean; expected \"hold\", \"mine\" or \"theirs\""),
    Mistake(
      "\"type\": \"date\"", "\"type\": \"date\", \"conflicts\": \"merge\"",
      "15:59: a column of the type date has no lines to merge; expected \"hold\", \"mine\" or \"theirs\""),
    Mistake(
      "\"type\": \"date\"", "\"type\": \"date\", \"conflicts\": \"both\"",
      "15:59: expected \"hold\", \"mine\" or \"theirs\""),
    Mistake(
      "\"title text required\"", "{\"name\": \"title\", \"type\": \"text\", \"conflicts\": \"newest\"}",
      "14:56: expected \"hold\", \"mine\", \"theirs\" or \"merge\""),
    Mistake(
      "\"readOnly\": true", "\"readOnly\": true, \"conflicts\": \"mine\"",
      "21:100: a column that is only shown is never in conflict; take this member out"),
    Mistake(
      "\"id uuid\"", "{\"name\": \"id\", \"type\": \"uuid\", \"conflicts\": \"mine\"}",
      "13:53: the key is never in conflict; take this member out"),
    Mistake(
      "https://abcd.supabase.co/", "abcd.supabase.co", "3:21: expected an address that begins with https:// or http://"),
    Mistake(
      "https://abcd.supabase.co/", "https://me:pw@abcd", "3:21: expected an address without a user name and password"),
    Mistake("https://abcd.supabase.co/", "https:///", "3:21: the address has no host"),
    Mistake(
      "https://abcd.supabase.co/", "https://a b",
      "3:21: the address holds a space or a character that addresses do not have"),
    Mistake(
      "sb_publishable_1", "sb_secret_9",
      "3:57: this is a secret key, which passes by every policy; expected the publishable (or anon) key"),
    Mistake(
      "sb_publishable_1", "e30.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.x",
      "3:57: this is a secret key, which passes by every policy; expected the publishable (or anon) key"),
    Mistake("sb_publishable_1", "a b", "3:57: the key holds a space or a character that keys do not have"),
    Mistake(
      "\"sb_publishable_1\"", "sb_publishable_1", "3:57: this is not JSON; expected a value in double quotes (\")"),
    Mistake("\"settle\": 30,", "\"settle\": 30,,", "24:16: found ','; expected a member's name in double quotes (\")"),
    Mistake("\"settle\"", "\"pullEvery\"", "24:3: the name 'pullEvery' stands in this object twice (first in line 23)"),
    Mistake(
      "\"key\": \"sb_publishable_1\"", "\"key\": \"k\", \"auth\": \"ftp://x\"",
      "3:70: expected an address that begins with https:// or http://"),
    Mistake(
      "\"key\": \"sb_publishable_1\"", "\"key\": \"k\", \"rest\": null",
      "3:70: the tables' service is needed; expected its address"),
    Mistake(
      "{\"folder\": \"photos\"}", "{\"folder\": \"Tasks\"}",
      "18:123: the folder 'Tasks' is taken already; expected a folder of its own for these photos"),
    Mistake("{\"folder\": \"photos\"}", "{}", "18:123: the member 'folder' is missing; expected the photos' folder"),
    Mistake(
      "{\"folder\": \"photos\"}", "{\"folder\": \"a/b\"}",
      "18:134: the folder 'a/b' has a slash; expected one directly in the workspace"),
    photos(#""bucket": "b""#, "18:144: this says nothing without a table; expected the member 'table' beside it"),
    photos(
      #""table": "task_labels""#,
      "18:153: the table 'task_labels' is mirrored already; expected a table of its own for these photos"),
    photos(
      #""table": "p", "download": "few""#,
      #"18:170: unknown word 'few'; expected "all", "none", {"newest": 100} or {"upTo": 5000000}"#),
    photos(
      #""table": "p", "download": {"newest": 0}"#,
      "18:181: 0 is none such; expected a whole number of photos from 1 to 1000000"),
    photos(#""table": "p", "newFolders": "x""#, #"18:172: expected "hold" or "add""#),
    photos(
      #""table": "p", "prepare": {"longestEdge": 1}"#,
      "18:185: 1 is none such; expected a whole number of pixels from 64 to 65535"),
    photos(#""table": "p", "bucket": "a/b""#, "18:168: 'a/b' names no bucket; expected a name without slashes"),
  ]

  private static func photos(_ members: String, _ error: String) -> Mistake {
    Mistake(#"{"folder": "photos"}"#, #"{"folder": "photos", \#(members)}"#, error)
  }

  @Test("each mistake is named with its place", arguments: mistakes)
  func refused(_ mistake: Mistake) throws {
    var text = Self.whole
    let range = try #require(text.range(of: mistake.old))
    text.replaceSubrange(range, with: mistake.new)
    let error = #expect(throws: SettingsError.self) { try WorkspaceSettings(parsing: Array(text.utf8)) }
    #expect(error?.description == mistake.error)
  }

  @Test("what is not an object of settings at all is refused", arguments: ["", "[]", "null", "{}", "\u{FEFF}"])
  func nothing(_ text: String) {
    #expect(throws: SettingsError.self) { try WorkspaceSettings(parsing: Array(text.utf8)) }
  }

  @Test("the server's key shows in no text made of the settings")
  func keyIsNotShown() throws {
    let server = try ServerSettings(url: "https://abcd.supabase.co", key: "sb_publishable_1")
    var dumped = ""
    dump(server, to: &dumped)
    for text in ["\(server)", String(reflecting: server), dumped] { #expect(!text.contains("publishable")) }
    let older = try ServerSettings(url: "HTTP://LOCALHOST:54321", key: "e30.eyJyb2xlIjoiYW5vbiJ9.x")
    #expect(older.url == "http://LOCALHOST:54321")
  }
}

extension String {
  /// The first place of a text in this one.
  fileprivate func range(of text: String) -> Range<String.Index>? { firstRange(of: text) }
}
