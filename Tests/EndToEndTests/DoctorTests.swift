import Foundation
import Testing

@Suite("doctor, with and without a watcher", .timeLimit(.minutes(5))) struct DoctorTests {
  private func levels(_ done: Finished) throws -> [String: String] {
    let checks = try #require(try done.json()["checks"] as? [[String: String]])
    return Dictionary(checks.map { ($0["name"] ?? "", $0["level"] ?? "") }) { first, _ in first }
  }

  @Test("finds nothing wrong with a good workspace", arguments: [false, true])
  func good(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    try await a.sync()
    try await b.sync()
    for text in ["two", "three"] {
      try b.edit("tasks/one.json") { $0["notes"] = text }
      try await b.sync()
      try await a.sync()
    }
    let watch = isWatching ? try await a.watch() : nil
    let done = try await a.run("doctor", "--json")
    #expect(done.status == 0, "\(done.output)")
    let levels = try levels(done)
    for name in [
      "settings", "watches", "privacy", "database", "files of tasks/", "version of tasks", "lists", "server", "session",
      "clock", "table tasks",
    ] { #expect(levels[name] == "ok", "\(name): \(done.output)") }
    #expect(levels["watcher"] == (isWatching ? "ok" : "note"))
    let text = try await a.run("doctor")
    #expect(text.output.contains("'updated_at' moves"), "\(text.output)")
    await watch?.stop()
  }

  @Test("what lies about like a row and is none is named, without being a trouble")
  func overlooked() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try await a.sync()
    for folder in ["work", "pictures"] {
      try FileManager.default.createDirectory(atPath: "\(a.path)/tasks/\(folder)", withIntermediateDirectories: true)
    }
    try a.write("tasks/work/x.json", "{\"title\": \"x\"}")
    try a.write("tasks/pictures/x.png", "")
    try a.write("tasks/UP.JSON", "{\"title\": \"up\"}")
    try a.write("tasks/readme.txt", "")
    let done = try await a.run("doctor")
    #expect(done.status == 0)
    #expect(done.output.contains("tasks/UP.JSON, tasks/work/: no row"), "\(done.output)")
  }

  @Test("values that were refused or dropped are no proof that the version column stays")
  func refusedValues() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    for name in ["x", "y"] { try a.write("tasks/\(name).json", "{\"title\": \"\(name)\"}") }
    try await a.sync()
    try a.edit("tasks/x.json") { $0["title"] = "  " }
    try await a.sync(expecting: 4)
    try await a.run("dismiss", "tasks/x.json").expectSuccess()
    try await a.run("offline").expectSuccess()
    try a.edit("tasks/y.json") { $0["title"] = "z" }
    _ = try await a.run("sync")
    try await a.run("discard", "tasks/y.json").expectSuccess()
    try await a.run("online").expectSuccess()
    try await a.sync()
    let done = try await a.run("doctor")
    #expect(!done.output.contains("stayed"), "\(done.output)")
    #expect(done.status == 0)
  }

  @Test("names what is wrong: settings, server, session, files", arguments: [false, true])
  func wrong(isWatching: Bool) async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    let watch = isWatching ? try await a.watch() : nil
    #expect(try await a.run("logout").status == 0)
    let out = try await a.run("doctor", "--json")
    #expect(out.status == 4)
    #expect(try levels(out)["session"] == "trouble")
    #expect(try levels(out)["table tasks"] == "ok", "columns are told without a user")

    await site.killServer()
    let down = try await a.run("doctor", "--json")
    #expect(try levels(down)["server"] == "waiting", "\(down.output)")
    #expect(down.status == 3)

    try a.write("tidemark.json", "{")
    let settings = try await a.run("doctor", "--json")
    #expect(settings.status == 1)
    #expect(try levels(settings)["settings"] == "failure")
    #expect(settings.output.contains("tidemark.json:"))
    await watch?.stop()
  }

  @Test("a table that strangers can read is named, and one that row-level security keeps from them is not")
  func rowSecurity() async throws {
    let schema = FileManager.default.temporaryDirectory.appendingPathComponent("schema-\(UUID().uuidString).json")
    let open = """
      {"tables": {"tasks": {"columns": [
        {"name": "id", "type": "uuid", "notNull": true, "default": {"function": "gen_random_uuid"}},
        {"name": "title", "type": "text"}, {"name": "notes", "type": "text"},
        {"name": "done", "type": "boolean", "notNull": true, "default": false},
        {"name": "created_at", "type": "timestamptz", "notNull": true, "default": {"function": "now"}},
        {"name": "updated_at", "type": "timestamptz", "notNull": true, "default": {"function": "now"}}
      ], "primaryKey": ["id"], "version": {"column": "updated_at", "kind": "now"}}}}
      """
    try Data(open.utf8).write(to: schema)
    let (kept, shown) = (try await Site(), try await Site(serving: ["--schema", schema.path]))
    for (site, isOpen) in [(kept, false), (shown, true)] {
      let a = try await site.workspace("a", isFirst: true)
      try a.set([
        "collections": [
          [
            "folder": "tasks", "table": "tasks", "key": "id", "version": "updated_at", "cursor": "updated_at",
            "name": "title", "columns": ["id uuid", "title text", "notes text", "done boolean"],
          ]
        ]
      ])
      try await a.sync()
      #expect(try levels(try await a.run("doctor", "--json"))["security of tasks"] == "note", "nothing is there to see")
      try a.write("tasks/x.json", "{\"title\": \"one\"}")
      try await a.sync()
      let done = try await a.run("doctor", "--json")
      #expect(try levels(done)["security of tasks"] == (isOpen ? "trouble" : "ok"), "\(done.output)")
      #expect(done.output.contains("enable row level security") == isOpen)
    }
  }

  @Test("a table without a column, and a file of state that others may read, are named")
  func columns() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    let good = try a.text("tidemark.json")
    try a.write(
      "tidemark.json", good.replacingOccurrences(of: "\"notes text\"", with: "\"notes text\", \"colour text\""))
    let column = try await a.run("doctor", "--json")
    #expect(column.status == 1)
    #expect(try levels(column)["table tasks"] == "failure")
    #expect(column.output.contains("colour"))
    try a.write("tidemark.json", good)
    chmod("\(a.path)/.tidemark/session", 0o644)
    #expect(try levels(try await a.run("doctor", "--json"))["privacy"] == "trouble")
  }
}
