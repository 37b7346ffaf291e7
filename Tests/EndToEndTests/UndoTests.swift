import Foundation
import Testing

@Suite("undo puts the files back, with a watcher and without", .timeLimit(.minutes(5)))
struct UndoTests {
  /// Has the other replica change one row, remove one and add one, and takes that over.
  private func change(_ a: Replica, _ b: Replica, _ watch: Program?) async throws {
    for name in ["milk", "bread", "jam", "tea"] { try a.write("tasks/\(name).json", "{\"title\": \"\(name)\"}") }
    try await a.converge()
    try await b.sync()
    // All at once, whenever a watcher looks.
    try await a.run("offline").expectSuccess()
    try b.edit("tasks/milk.json") { $0["notes"] = "theirs" }
    try b.remove("tasks/bread.json")
    try b.write("tasks/new.json", "{\"title\": \"new\"}")
    try await b.converge()
    try await a.run("online").expectSuccess()
    if let watch {
      try await watch.line(with: "removed", "tasks/bread.json")
      try await watch.line(with: "written", "tasks/new.json")
    } else {
      try await a.converge()
    }
    #expect(try a.row("tasks/milk.json")["notes"] as? String == "theirs")
    #expect(try a.titles() == ["jam", "milk", "new", "tea"])
  }

  /// What an undo says of each file.
  private func fates(_ a: Replica, _ options: String...) async throws -> [String: String] {
    let done = try await Tidemark.run(["-C", a.path, "undo", "--json"] + options)
    #expect(done.status == 0, "\(done.errors)")
    let files = try done.json()["files"] as? [[String: Any]] ?? []
    return Dictionary(uniqueKeysWithValues: files.map { ($0["path"] as? String ?? "", $0["fate"] as? String ?? "") })
  }

  @Test("what others changed and removed is put back on both sides", arguments: [false, true])
  func undo(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    let both = try await BothWays(a, isWatching: isWatching)
    try await change(a, b, both.watch)
    let expected = [
      "tasks/milk.json": "put back", "tasks/bread.json": "restored", "tasks/new.json": "stays",
    ]
    let plan = try await a.run("undo", "--dry-run")
    #expect(plan.status == 0)
    #expect(plan.output.contains("put back  tasks/milk.json\n"), "\(plan.output)")
    #expect(plan.output.hasSuffix("a dry run: nothing was changed\n"))
    #expect(try a.row("tasks/milk.json")["notes"] as? String == "theirs")

    #expect(try await fates(a) == expected)
    #expect(try a.row("tasks/milk.json")["notes"] is NSNull)
    try await a.converge()
    try await b.sync()
    for replica in [a, b] {
      #expect(try replica.titles() == ["bread", "jam", "milk", "new", "tea"])
      #expect(try replica.row("tasks/milk.json")["notes"] is NSNull)
    }
    #expect(try await a.run("log", "tasks/milk.json").output.contains("undo: put back"))

    #expect(try await fates(a, "--added") == ["tasks/new.json": "removed"])
    try await a.vanish("tasks/new.json", both.watch)
    try await b.sync()
    #expect(try b.titles() == ["bread", "jam", "milk", "tea"])
    await both.stop()
  }

  @Test("where nothing was changed by a sync it says so")
  func nothing() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    let done = try await a.run("undo")
    #expect(done.status == 0)
    #expect(done.output == "nothing to undo: no sync that is remembered has changed your files\n")
    #expect(try await a.run("undo", "--dry-run").output == done.output)
    #expect(try await a.run("undo", "tasks/x.json").status == 2)
  }
}

extension Replica {
  /// Waits until the delete of a file that went is sent.
  fileprivate func vanish(_ path: String, _ watch: Program?) async throws {
    #expect(!exists(path))
    try await watch?.line(with: "deleted", path)
    try await converge()
  }
}
