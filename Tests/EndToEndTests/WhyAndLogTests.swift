import Foundation
import Testing

@Suite("why and log, with and without a watcher", .timeLimit(.minutes(5))) struct WhyAndLogTests {
  private func why(_ replica: Replica, _ path: String) async throws -> [String: Any] {
    try await replica.run("why", path, "--json").json()
  }

  @Test("why tells a row's file from what is none, and why", arguments: [false, true])
  func kinds(isWatching: Bool) async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    try a.write("tasks/x.json~", "backup")
    try a.write("tasks/readme.txt", "other")
    try FileManager.default.createSymbolicLink(atPath: "\(a.path)/tasks/link.json", withDestinationPath: "x.json")
    try await a.sync(expecting: 4)
    let watch = isWatching ? try await a.watch() : nil
    let row = try await a.run("why", "tasks/x.json")
    #expect(row.status == 0, "\(row.output)")
    #expect(row.output.contains("a row's file of table tasks") && row.output.contains("in step"), "\(row.output)")
    #expect(row.output.contains("last       ") && row.output.contains("added"), "\(row.output)")
    #expect(row.output.contains("answer     ") && row.output.contains("new: taken"), "\(row.output)")
    let json = try await why(a, "tasks/x.json")
    #expect(json["isRowFile"] as? Bool == true)
    #expect(json["baseVersion"] as? String == json["serverVersion"] as? String)
    #expect(json["row"] as? String == "on the server")
    for (path, said) in [
      ("tasks/x.json~", "left alone"), ("tasks/readme.txt", ".json"), ("tasks/link.json", "a symbolic link"),
      ("tasks", "the folder of table tasks"), ("tidemark.json", "settings"), (".tidemark/session", "Tidemark's own"),
      ("other/x.jpg", "not in a collection's folder"), ("photos/x.jpg", "nothing is known of a photo here"),
    ] {
      let answer = try await why(a, path)
      #expect(answer["isRowFile"] as? Bool == false, "\(path)")
      #expect((answer["what"] as? String)?.contains(said) == true, "\(path): \(answer)")
    }
    let absent = try await why(a, "tasks/none.json")
    #expect((absent["what"] as? String)?.contains("nothing lies there") == true)
    for path in ["tasks/none.json", "none.json"] {
      let said = try await a.run("why", path).output
      #expect(said.contains("nothing lies there") && !said.contains("in step"), "\(said)")
    }
    #expect(try await a.run("why", "/etc/passwd").status == 1)
    #expect(try await a.run("why").status == 2)
    await watch?.stop()
  }

  @Test("why tells what a file waits for: the network, a person, its delete", arguments: [false, true])
  func waits(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    for name in ["x", "y", "z", "w"] { try a.write("tasks/\(name).json", "{\"title\": \"\(name)\"}") }
    try await a.sync()
    try await b.sync()
    #expect(try await a.run("offline").status == 0)
    let watch = isWatching ? try await a.watch() : nil
    try a.edit("tasks/x.json") { $0["notes"] = "secret text" }
    try a.write("tasks/y.json", "{\"title\": ")
    if let watch {
      try await watch.line(with: "edited", "tasks/x.json")
      try await watch.line(with: "problem", "tasks/y.json")
    } else {
      try await a.sync(expecting: 4)
    }
    let queued = try await a.run("why", "tasks/x.json")
    #expect(queued.status == 3)
    #expect(queued.output.contains("UPDATE notes") && queued.output.contains("'tidemark online'"), "\(queued.output)")
    #expect(!queued.output.contains("secret text"))
    let broken = try await a.run("why", "tasks/y.json")
    #expect(broken.status == 4)
    #expect(broken.output.contains("tasks/y.json:1:"), "\(broken.output)")

    if let watch {
      let before = watch.lineCount
      try a.remove("tasks/z.json")
      // The delete itself comes ten seconds later; until then the file is missed.
      try a.write("tasks/new.json", "{\"title\": \"new\"}")
      try await watch.line(with: "added", "tasks/new.json", from: before)
    }
    try a.write("tasks/y.json", "{\"title\": \"y\"}")
    try b.edit("tasks/w.json") { $0["title"] = "theirs" }
    try await b.sync()
    let beforeMine = watch?.lineCount ?? 0
    try a.edit("tasks/w.json") { $0["title"] = "mine" }
    try await watch?.line(with: "edited", "tasks/w.json", from: beforeMine)
    #expect(try await a.run("online").status == 0)
    try await a.sync(expecting: 4)
    let conflict = try await a.run("why", "tasks/w.json")
    #expect(conflict.status == 4)
    for word in ["conflicted", "tasks/w.mine.json"] { #expect(conflict.output.contains(word), "\(conflict.output)") }
    let side = try await why(a, "tasks/w.mine.json")
    #expect((side["what"] as? String)?.contains("your version of w.json") == true, "\(side)")
    await watch?.stop()
  }

  @Test("log tells a file's save, what was queued, the server's answer and what was written, each with its time")
  func answers() async throws {
    let scene = try await Scene(["t.json": Scene.task, "u.json": Scene.task(2)], settings: ["deleteAfter": 2])
    var line = scene.watch.lineCount
    try await scene.shell(#"sed -i 's/"one"/"two"/' $T"#)
    try await scene.edited(after: line)
    try await scene.watch.line(with: "sent 1", from: line)
    line = scene.watch.lineCount
    try await scene.site.change(id: Scene.id, ["notes": "theirs"])
    try await scene.watch.line(with: "written", "tasks/t.json", from: line)
    try await scene.shell(#"sed -i 's/"two"/" "/' $T"#)
    try await scene.watch.line(with: "refused", from: line)
    try scene.replica.remove("tasks/u.json")
    try await scene.watch.line(with: "deleted", "tasks/u.json", from: line)
    _ = try await scene.account(expecting: 4)
    await scene.watch.stop()
    func told(_ path: String) async throws -> [String] {
      let log = try await scene.replica.run("log", path, "--json").output
      let entries = try #require(try JSONSerialization.jsonObject(with: Data(log.utf8)) as? [[String: String]])
      #expect(
        entries.compactMap { $0["at"] } == entries.compactMap { $0["at"] }.sorted(), "in the order of their times")
      return entries.map { "\($0["event"] ?? "") \($0["detail"] ?? "")" }
    }
    let task = try await told("tasks/t.json")
    let expected = [
      "added", "answered new: taken", "edited title", "answered title: taken", "written", "edited title",
      "answered title: refused, 23514", "refused",
    ]
    #expect(task.count >= expected.count, "\(task)")
    var rest = task[...]
    for words in expected {
      let index = rest.firstIndex { $0.hasPrefix(words) }
      #expect(index != nil, "\(words) is missing, in its place, in \(task)")
      rest = rest[(index.map { $0 + 1 } ?? rest.endIndex)...]
    }
    #expect(try await told("tasks/u.json").suffix(2) == ["deleted ", "answered delete: taken"])
  }

  @Test("log shows what happened, of everything and of one file, and holds no values", arguments: [false, true])
  func log(isWatching: Bool) async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    #expect(try await a.run("log").errors.contains("nothing has happened yet"))
    let watch = isWatching ? try await a.watch() : nil
    try a.write("tasks/x.json", "{\"title\": \"a private title\"}")
    try a.write("tasks/y.json", "{\"title\": ")
    if let watch {
      try await watch.line(with: "added", "tasks/x.json")
      try await watch.line(with: "problem", "tasks/y.json")
      try await watch.line(with: "sent 1")
    } else {
      try await a.sync(expecting: 4)
    }
    let all = try await a.run("log")
    #expect(all.status == 0)
    for words in ["added    tasks/x.json", "problem  tasks/y.json", "sent 1"] { #expect(all.output.contains(words)) }
    let first = try #require(all.output.split(separator: "\n").first)
    #expect(first.contains("T") && first.prefix(4).allSatisfy(\.isNumber), "each line begins with its time: \(first)")
    let one = try await a.run("log", "tasks/x.json")
    #expect(one.output.contains("tasks/x.json") && !one.output.contains("tasks/y.json"))
    let folder = try await a.run("log", "tasks", "--last", "1")
    #expect(folder.output.split(separator: "\n").count == 1)
    let json = try JSONSerialization.jsonObject(with: Data(try await a.run("log", "--json").output.utf8))
    let entries = try #require(json as? [[String: String]])
    #expect(entries.allSatisfy { Set($0.keys) == ["at", "event", "path", "detail"] })
    #expect(!all.output.contains("private title"))
    #expect(try !a.text(".tidemark/log").contains("private title"))
    await watch?.stop()
  }
}
