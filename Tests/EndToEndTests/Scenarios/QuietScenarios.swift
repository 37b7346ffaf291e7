import Foundation
import FoundationNetworking
import Testing

@Suite("Values, names and quiet, with the built program", .serialized, .timeLimit(.minutes(10)))
struct QuietScenarios {
  // MARK: JSON

  @Test("JSON-2: a byte-order mark, line ends and formatting are no change, and stay")
  func formatting() async throws {
    let scene = try await Scene()
    let marked = "\u{FEFF}" + Scene.task.replacingOccurrences(of: "\n", with: "\r\n")
    try scene.replica.write("tasks/t.json", marked)
    #expect(try await scene.account() == .init())
    try scene.replica.write("tasks/t.json", marked.replacingOccurrences(of: "\"one\"", with: "\"two\""))
    #expect(try await scene.account() == .init(events: ["edited tasks/t.json title"], writes: ["PATCH /rest/v1/tasks"]))
    try await scene.site.change(id: Scene.id, ["notes": "theirs"])
    _ = try await scene.account()
    // As bytes: reading as text may leave the mark out.
    let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(scene.replica.path)/tasks/t.json"))
    #expect(bytes.starts(with: Data("\u{FEFF}{\r\n".utf8)))
    #expect(
      bytes.range(of: Data("\"notes\": \"theirs\",\r\n".utf8)) != nil, "\(String(decoding: bytes, as: UTF8.self))")
    await scene.watch.stop()
  }

  @Test("JSON-4: a formatter, an indexer and a backup tool beside two watchers come to rest")
  func noLoops() async throws {
    let scene = try await Scene()
    let other = try await scene.site.workspace("b", isFirst: false)
    let watchB = try await other.watch()
    try await other.sync()
    let name = try #require(try other.tasks().first)
    // Rewrites the file whenever it looks otherwise than the tool would have it, as an editor's format-on-save does: it
    // cuts and fills what it has read, be that another file by then.
    let tools = try Program(
      shell: """
        python3 -B - <<'END'
        import glob, json, os, time
        while not os.path.exists("../over"):
            with open("tasks/t.json", "r+b") as file:
                text = file.read()
                try:
                    wanted = (json.dumps(json.loads(text), indent=2, sort_keys=True) + "\\n").encode()
                except ValueError:
                    wanted = text
                if wanted != text:
                    file.seek(0)
                    file.truncate()
                    file.write(wanted)
            for path in glob.glob("tasks/*.json"):
                open(path, "rb").read()
                os.utime(path)
            time.sleep(0.05)
        END
        """, in: scene.replica.path)
    let lineB = watchB.lineCount
    let line = scene.watch.lineCount
    try await scene.shell(#"sed -i 's/"one"/"two"/' $T"#)
    try await watchB.line(with: "written", from: lineB)
    try other.edit("tasks/\(name)") { $0["notes"] = "theirs" }
    try await scene.watch.line(with: "written", "tasks/t.json", from: line)
    _ = FileManager.default.createFile(atPath: "\(scene.site.path)/over", contents: nil)
    _ = await tools.finished()
    let account = try await scene.account()
    #expect(account.events == ["edited tasks/t.json title"], "\(account.events)")
    #expect(account.writes.count == 2, "one of each replica: \(account.writes)")
    let written = watchB.lines.filter { $0.contains("written") }.count
    #expect(written <= 2, "\(watchB.lines)")
    await scene.watch.stop()
    await watchB.stop()
  }

  // MARK: Names

  static let names = [
    "café (NFC)": "caf\u{E9}", "café (NFD)": "cafe\u{301}", "right to left": "\u{5E9}\u{5DC}\u{5D5}\u{5DD}",
    "emoji": "🍎👩‍👩‍👧",
    "dots": "ends with dots...", "spaces": "ends with spaces   ", "a line break": "one\ntwo",
    "like a side file": "x.mine", "like a note": "x.problem.txt", "a slash": "a/b", "a parent": "../x",
    "hidden": ".hidden",
    "markup": "<img src=x onerror=1>", "an escape": "a\u{1B}[31mb", "long": String(repeating: "é", count: 300),
    "device": "CON", "backslash": "a\\b", "override": "a\u{202E}b", "only spaces": "  x  ",
  ]

  @Test("UNICODE-3: titles of every kind get one file each, and the values stay as they are")
  func titles() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    for (number, title) in Self.names.values.sorted().enumerated() {
      let json = try JSONSerialization.data(withJSONObject: ["title": title])
      try a.write("tasks/typed\(number).json", String(decoding: json, as: UTF8.self))
    }
    try await a.sync()
    try await b.sync()
    let files = try b.tasks()
    #expect(files.count == Self.names.count, "\(files)")
    var left = Self.names
    for file in files {
      #expect(
        file.utf8.count <= 255 && !file.hasPrefix(".") && file.hasSuffix(".json") && !file.contains("/"), "\(file)")
      #expect(!file.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }, "\(file)")
      let title = try #require(try b.row("tasks/\(file)")["title"] as? String)
      let kind = left.first { $0.value.unicodeScalars.elementsEqual(title.unicodeScalars) }?.key
      #expect(kind != nil, "no title like that of \(file) was typed")
      left[kind ?? ""] = nil
      try b.edit("tasks/\(file)") { $0["notes"] = "edited" }
    }
    #expect(left.isEmpty)
    #expect(try await b.sync()["synced"] == files.count)
    try await a.sync()
    for file in try a.tasks() { #expect(try a.row("tasks/\(file)")["notes"] as? String == "edited") }
    #expect(try await b.sync().values.allSatisfy { $0 == 0 })
  }

  @Test("UNICODE-3: names that a person gives: long, with line breaks, and bytes that are no text")
  func personsNames() async throws {
    let scene = try await Scene([:])
    try await scene.shell(
      #"""
      long=$(printf 'x%.0s' $(seq 250)); printf '{"title": "long"}' > "tasks/$long.json"
      printf '{"title": "line"}' > "$(printf 'tasks/one\ntwo.json')"
      printf '{"title": "bytes"}' > "$(printf 'tasks/\377\376.json')"
      """#)
    let account = try await scene.account(expecting: 4)
    #expect(account.events.filter { $0.hasPrefix("added") }.count == 2, "\(account.events)")
    let status = try await scene.replica.run("status").output
    #expect(status.contains(#"\xff\xfe.json"#) && status.contains("UTF-8"), "\(status)")
    #expect(try await scene.rows().count == 2)
    for line in scene.watch.lines { #expect(!line.unicodeScalars.contains { $0.value < 0x20 }, "\(line)") }
    await scene.watch.stop()
  }

  @Test("UNICODE-1: one title in two forms, and the same title on two offline replicas, stay two rows with two names")
  func forms() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try a.write("tasks/n.json", "{\"title\": \"Caf\u{E9}\"}")
    try b.write("tasks/n.json", "{\"title\": \"Cafe\u{301}\"}")
    try a.write("tasks/same.json", "{\"title\": \"Same\"}")
    try b.write("tasks/same.json", "{\"title\": \"Same\"}")
    for replica in [a, b, a, b] { try await replica.sync() }
    let rows = try await site.rows()
    #expect(rows.count == 4)
    for replica in [a, b] {
      #expect(try replica.tasks().count == 4)
      let names = try replica.tasks().map { $0.precomposedStringWithCanonicalMapping.lowercased() }
      #expect(Set(names).count == 4, "no file system takes two of them for one: \(names)")
    }
    // The form alone is an edit of the value, and no rename.
    let before = try a.tasks()
    try a.edit("tasks/n.json") { $0["title"] = "Cafe\u{301}" }
    #expect(try await a.sync()["synced"] == 1)
    #expect(try a.tasks() == before)
    for replica in [a, b] { #expect(try await replica.run("sync").status == 0) }
  }

  @Test(
    "UNICODE-2: a rename that changes only the case is one row's, and a copy to a folder that folds case loses none")
  func cases() async throws {
    let scene = try await Scene(["Buy.json": Scene.task(1, title: "Buy")])
    try await scene.shell("mv tasks/Buy.json tasks/buy.json")
    #expect(try await scene.account().events == [])
    #expect(try await scene.rows().count == 1)
    let other = try await scene.site.workspace("b", isFirst: false)
    try other.write("tasks/x.json", #"{"title": "BUY"}"#)
    try await other.sync()
    _ = try await scene.account()
    let names = try scene.replica.tasks()
    #expect(names.count == 2 && Set(names.map { $0.lowercased() }).count == 2, "\(names)")
    await scene.watch.stop()
  }

  @Test("UNICODE-4: names that address and file alike are carried through unchanged")
  func reservedNames() async throws {
    let scene = try await Scene([:])
    let names = ["2024-01-29T10:48:15.595Z", "a?b", "a#b", "a+b", "a b", "%41", "~", "a&b=c", "'quoted'"]
    for name in names { try scene.replica.write("tasks/\(name).json", #"{"notes": "n"}"#) }
    for name in names { try scene.replica.write("tasks/\(name).json", "") }
    _ = try await scene.account()
    #expect(try await scene.rows().values.compactMap { $0["title"] as? String }.sorted() == names.sorted())
    let other = try await scene.site.workspace("b", isFirst: false)
    try await other.sync()
    #expect(try other.titles() == names.sorted())
    await scene.watch.stop()
  }

  // MARK: Scale

  @Test("SCALE-2: many files of one content and one title take no longer each than different ones")
  func sameContent() async throws {
    let count = testEffort > 1 ? 20_000 : 1_500
    var times: [Bool: Double] = [:]
    for isSame in [false, true] {
      let site = try await Site()
      let a = try await site.workspace("a", isFirst: true)
      for number in 1...count {
        try a.write("tasks/f\(number).json", isSame ? #"{"title": "same"}"# : "{\"title\": \"task \(number)\"}")
      }
      let b = try await site.workspace("b", isFirst: false)
      let clock = ContinuousClock()
      let start = clock.now
      try await a.sync()
      try await b.sync()
      times[isSame] =
        Double((clock.now - start).components.attoseconds) / 1e18 + Double((clock.now - start).components.seconds)
      #expect(try b.tasks().count == count)
    }
    let (same, different) = (times[true] ?? 0, times[false] ?? 0)
    // Held against each other in one run; on a busy machine either may be slowed down by others.
    #expect(same < different * 4 + 2, "\(same) s of the same, \(different) s of different ones")
  }

  @Test("SCALE-2: each of many photo folders is looked at and watched, the last as the first")
  func manyFolders() async throws {
    let count = testEffort >= 10 ? 10_000 : 250
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    for number in 1...count {
      try a.write("tasks/f\(number).json", "{\"title\": \"task \(number)\"}")
      try FileManager.default.createDirectory(atPath: "\(a.path)/photos/f\(number)", withIntermediateDirectories: true)
    }
    for number in [1, count / 2, count] { try a.drop(.turned, at: "photos/f\(number)/first.jpg") }
    try await a.sync()
    #expect(Set(try await a.photos().values) == ["same"])
    let watch = try await a.watch()
    for number in [1, count / 2, count] {
      let line = watch.lineCount
      try a.drop(.red, at: "photos/f\(number)/second.png")
      try await watch.line(with: "added", "photos/f\(number)/second.png", from: line)
    }
    try await a.sync()
    #expect(try await a.photos().count == 6)
    #expect(Set(try await a.photos().values) == ["same"])
    await watch.stop()
    #expect(try await a.sync().values.allSatisfy { $0 == 0 })
  }

  @Test(
    "SCALE-2: a hundred thousand files in one folder",
    .enabled(if: testEffort >= 10, "only with TIDEMARK_TEST_EFFORT=10"),
    .timeLimit(.minutes(60)))
  func manyFiles() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    let count = 100_000
    for number in 1...count { try a.write("tasks/f\(number).json", "{\"title\": \"task \(number)\"}") }
    try await a.sync()
    #expect(try await a.status()["pending"] as? Int == 0)
    let watch = try await a.watch()
    let line = watch.lineCount
    try a.write("tasks/f77.json", #"{"title": "edited"}"#)
    try await watch.line(with: "edited", "tasks/f77.json", from: line)
    try await watch.line(with: "sent 1", from: line)
    await watch.stop()
    #expect(try await a.sync().values.allSatisfy { $0 == 0 })
  }
}

@Suite("Values that no program may round or drop, with the built program", .serialized, .timeLimit(.minutes(5)))
struct ValueScenarios {
  private static let schema = """
    {"tables": {"tasks": {"columns": [
      {"name": "id", "type": "uuid", "notNull": true, "default": {"function": "gen_random_uuid"}},
      {"name": "user_id", "type": "uuid", "notNull": true, "default": {"function": "auth.uid"}},
      {"name": "title", "type": "text"}, {"name": "big", "type": "bigint"}, {"name": "exact", "type": "numeric"},
      {"name": "small", "type": "double precision"}, {"name": "extra", "type": "jsonb"}, {"name": "hidden", "type": "text"},
      {"name": "updated_at", "type": "timestamptz", "notNull": true, "default": {"function": "now"}}
    ], "primaryKey": ["id"], "owner": "user_id", "version": {"column": "updated_at", "kind": "now"}}}}
    """

  /// A workspace of one row with numbers beyond a double's, nested JSON and a column that the settings do not name.
  private func workspace() async throws -> (site: Site, replica: Replica, row: String) {
    let schema = FileManager.default.temporaryDirectory.appendingPathComponent("schema-\(UUID().uuidString).json")
    try Data(Self.schema.utf8).write(to: schema)
    let site = try await Site(serving: ["--schema", schema.path])
    let replica = try await site.workspace("a", isFirst: true)
    try replica.set([
      "collections": [
        [
          "folder": "tasks", "table": "tasks", "key": "id", "version": "updated_at", "cursor": "updated_at",
          "name": "title",
          "columns": ["id uuid", "title text", "big integer", "exact number", "small number", "extra json"],
        ]
      ]
    ])
    try replica.write("tasks/t.json", #"{"id": "\#(Scene.id)", "title": "one"}"#)
    try await replica.sync()
    try await site.change(
      id: Scene.id,
      json: """
        {"big": 9223372036854775807, "exact": 1234567890123456789012345678901234567890.10, "small": 1e-7,
         "extra": {"z": [1, {"b": null, "a": "\\u00e9\\n"}], "a": 0.10}, "hidden": "kept"}
        """)
    try await replica.sync()
    return (site, replica, try await site.text(of: Scene.id))
  }

  @Test("JSON-1: whole numbers and decimals beyond a double's keep their digits, and only the edit is sent")
  func numbers() async throws {
    let (site, replica, before) = try await workspace()
    let text = try replica.text("tasks/t.json")
    for digits in ["9223372036854775807", "1234567890123456789012345678901234567890.10"] {
      #expect(text.contains(digits), "\(text)")
    }
    try replica.write("tasks/t.json", text.replacingOccurrences(of: "\"one\"", with: "\"two\""))
    #expect(try await replica.sync()["synced"] == 1)
    #expect(try await replica.run("log", "tasks/t.json").output.contains("tasks/t.json  title"))
    let after = try await site.text(of: Scene.id)
    #expect(after == before.replacingOccurrences(of: "\"one\"", with: "\"two\""))
    #expect(try await replica.sync().values.allSatisfy { $0 == 0 })
  }

  @Test("JSON-3: nested values and columns that the settings do not name are byte for byte what they were")
  func unknownColumns() async throws {
    let (site, replica, before) = try await workspace()
    #expect(before.contains(#""hidden":"kept""#), "\(before)")
    let text = try replica.text("tasks/t.json")
    #expect(!text.contains("hidden"))
    try replica.write("tasks/t.json", text.replacingOccurrences(of: "\"one\"", with: "\"two\""))
    #expect(try await replica.sync()["synced"] == 1)
    #expect(try await site.text(of: Scene.id) == before.replacingOccurrences(of: "\"one\"", with: "\"two\""))
  }
}

extension Site {
  /// The row as the server writes it, but its version.
  func text(of id: String) async throws -> String {
    let columns = "id,title,big,exact,small,extra,hidden"
    var request = URLRequest(url: try #require(URL(string: "\(url)/rest/v1/tasks?id=eq.\(id)&select=\(columns)")))
    request.setValue(serviceKey, forHTTPHeaderField: "apikey")
    request.setValue("Bearer \(serviceKey)", forHTTPHeaderField: "Authorization")
    return String(decoding: try await URLSession.shared.data(for: request).0, as: UTF8.self)
  }
}
