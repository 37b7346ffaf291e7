import Foundation
import Testing

@Suite("sync --dry-run, with and without a watcher", .timeLimit(.minutes(5))) struct DryRunTests {
  /// Every file below a folder with its bytes, without what a running watcher itself moves.
  private func tree(_ path: String) throws -> [String: Data] {
    var found: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: path) where !name.hasPrefix(".tidemark/state.") {
      found[name] = FileManager.default.contents(atPath: "\(path)/\(name)")
    }
    return found
  }

  @Test("shows what would be sent, written and removed, and changes nothing")
  func plan() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    for name in ["x", "y", "z"] { try a.write("tasks/\(name).json", "{\"title\": \"\(name)\"}") }
    try await a.sync()
    try await b.sync()
    try b.edit("tasks/x.json") { $0["title"] = "theirs" }
    try b.remove("tasks/z.json")
    try b.write("tasks/n.json", "{\"title\": \"from b\"}")
    try await b.sync()

    try a.edit("tasks/x.json") { $0["title"] = "mine" }
    try a.remove("tasks/y.json")
    try a.write("tasks/new.json", "{\"title\": \"new\"}")
    let before = try tree(a.path)
    let database = FileManager.default.contents(atPath: "\(a.path)/.tidemark/state.sqlite")
    let dry = try await a.run("sync", "--dry-run", "--json")
    #expect(dry.status == 3, "\(dry.output) \(dry.errors)")
    let plan = try dry.json()
    let sends = try #require(plan["send"] as? [[String: Any]])
    let shown = sends.map { "\($0["operation"] ?? "") \($0["path"] ?? "") \($0["meetsChange"] as? Bool == true)" }
    #expect(shown.sorted() == ["DELETE tasks/y.json false", "INSERT tasks/new.json false", "UPDATE tasks/x.json true"])
    let files = try #require(plan["files"] as? [[String: String]]).map { "\($0["event"] ?? "") \($0["path"] ?? "")" }
    for event in ["written tasks/from-b.json", "removed tasks/z.json", "edited tasks/x.json"] {
      #expect(files.contains(event), "\(files)")
    }
    #expect(plan["failure"] is NSNull)
    let text = try await a.run("sync", "--dry-run")
    #expect(text.output.contains("send     update tasks/x.json  title; the row has changed on the server"))
    #expect(text.output.hasSuffix("a dry run: nothing was changed\n"))

    #expect(try tree(a.path) == before)
    #expect(FileManager.default.contents(atPath: "\(a.path)/.tidemark/state.sqlite") == database)
    try await b.sync()
    #expect(try b.titles() == ["from b", "theirs", "y"], "nothing was sent")
    try await a.sync(expecting: 4)
    #expect(try await a.run("sync", "--dry-run").output == "a sync would change nothing\n")
  }

  @Test("says the same beside a watcher, and what it cannot know without the server")
  func watched() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    try await a.sync()
    #expect(try await a.run("offline").status == 0)
    let watch = try await a.watch()
    try a.edit("tasks/x.json") { $0["notes"] = "queued" }
    try await watch.line(with: "edited", "tasks/x.json")
    let before = try tree(a.path)
    let beside = try await a.run("sync", "--dry-run")
    #expect(beside.status == 3)
    #expect(beside.output.contains("send     update tasks/x.json  notes"), "\(beside.output)")
    #expect(beside.errors.contains("not known") && beside.errors.contains("tidemark online"), "\(beside.errors)")
    #expect(try tree(a.path) == before)
    await watch.stop()
    let alone = try await a.run("sync", "--dry-run")
    #expect(alone.output == beside.output)
    #expect(alone.errors == beside.errors)
  }
}
