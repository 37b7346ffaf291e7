import Foundation
import Testing

@Suite("Commands on waiting writes come to the same with a watcher and without", .timeLimit(.minutes(5)))
struct EntryCommandTests {
  /// Two replicas with one row, `tasks/milk.json`, which both have.
  private func replicas(of site: Site) async throws -> (Replica, Replica) {
    let (a, b) = try await site.replicas()
    try a.write("tasks/milk.json", "{\"title\": \"Milk\", \"notes\": \"two\"}")
    try await a.sync()
    try await b.sync()
    return (a, b)
  }

  @Test("pending lists what waits in order, and discard takes it back", arguments: [false, true])
  func pending(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await replicas(of: site)
    let both = try await BothWays(a, isWatching: isWatching)
    try await a.run("offline").expectSuccess()
    try await a.run("done", "tasks/milk.json").expectSuccess()
    try await a.run("add", "Bread").expectSuccess()
    let entries = try await a.entries("pending")
    #expect(entries.compactMap { $0["operation"] as? String } == ["update", "insert"])
    #expect(entries.compactMap { $0["path"] as? String } == ["tasks/milk.json", "tasks/bread.json"])
    let update = try #require(entries.first?["id"] as? Int)
    #expect(try await a.run("pending").output.hasPrefix("\(update)  update  tasks/milk.json"))

    try await a.run("discard", "\(update)").expectSuccess()
    #expect(try a.row("tasks/milk.json")["done"] as? Bool == false)
    try await a.run("discard", "tasks/bread.json").expectSuccess()
    #expect(try a.tasks() == ["milk.json"])
    #expect(try await a.entries("pending").isEmpty)
    let origins = try await a.entries("trash").compactMap { $0["origin"] as? String }
    #expect(origins.sorted() == ["tasks/bread.json", "tasks/milk.json"])

    try a.remove("tasks/milk.json")
    _ = try await a.run("sync")
    #expect(try await a.entries("pending").compactMap { $0["operation"] as? String } == ["delete"])
    try await a.run("discard", "tasks/milk.json").expectSuccess()
    #expect(try a.row("tasks/milk.json")["title"] as? String == "Milk")

    let missing = try await a.run("discard", "99")
    #expect(missing.status == 1)
    #expect(missing.errors.contains("'tidemark pending' lists what waits"))
    #expect(try await a.run("discard").status == 2)
    try await a.run("online").expectSuccess()
    try await a.sync()
    try await b.sync()
    #expect(try b.titles() == ["Milk"])
    #expect(try b.row("tasks/milk.json")["done"] as? Bool == false)
    await both.stop()
  }

  /// Has the server refuse a title of spaces.
  private func refuse(_ a: Replica, _ watch: Program?) async throws {
    try a.edit("tasks/milk.json") { $0["title"] = "  " }
    if let watch {
      try await watch.line(with: "refused", "tasks/milk.refused.json")
    } else {
      try await a.sync(expecting: 4)
    }
  }

  @Test("rejected shows the server's words, and retry sends the fixed side file", arguments: [false, true])
  func retry(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await replicas(of: site)
    let both = try await BothWays(a, isWatching: isWatching)
    try await refuse(a, both.watch)
    let entry = try #require(try await a.entries("rejected").first)
    #expect(entry["path"] as? String == "tasks/milk.json")
    #expect(entry["side"] as? String == "tasks/milk.refused.json")
    #expect((entry["answer"] as? [String: Any])?["code"] as? String == "23514")
    #expect(try await a.run("rejected").output.contains("update  tasks/milk.json"))
    #expect(try a.row("tasks/milk.json")["title"] as? String == "Milk")

    try a.edit("tasks/milk.refused.json") { $0["title"] = "Oat milk" }
    try await a.run("retry", "\(try #require(entry["id"] as? Int))").expectSuccess()
    try await a.sync()
    try await b.sync()
    #expect(try b.row("tasks/milk.json")["title"] as? String == "Oat milk")
    #expect(try a.tasks() == ["milk.json"])
    #expect(try await a.entries("rejected").isEmpty)
    #expect(try a.row("tasks/milk.json")["$problem"] == nil)
    #expect(try await a.run("retry", "99").status == 1)
    await both.stop()
  }

  @Test("dismiss accepts a refusal and keeps its text", arguments: [false, true])
  func dismiss(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, _) = try await replicas(of: site)
    let both = try await BothWays(a, isWatching: isWatching)
    try await refuse(a, both.watch)
    try await a.run("dismiss", "tasks/milk.refused.json").expectSuccess()
    #expect(try a.tasks() == ["milk.json"])
    #expect(try a.row("tasks/milk.json")["title"] as? String == "Milk")
    #expect(try await a.entries("rejected").isEmpty)
    #expect(try await a.entries("trash").contains { $0["origin"] as? String == "tasks/milk.refused.json" })
    try await a.sync()
    await both.stop()
  }

  @Test("a refused new row is tried again as its file says, or dismissed", arguments: [false, true])
  func refusedInsert(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, _) = try await replicas(of: site)
    let both = try await BothWays(a, isWatching: isWatching)
    try a.write("tasks/new.json", "{\"title\": \"  \"}")
    if let watch = both.watch {
      try await watch.line(with: "refused", "tasks/new.refused.json")
    } else {
      try await a.sync(expecting: 4)
    }
    // Its text lies in its own file; beside it stands only why.
    #expect(try await a.run("rejected").output.contains("yours is in tasks/new.json; save it again to try again"))
    #expect(try await a.run("why", "tasks/new.refused.json").output.contains("fix and save new.json"))
    try await a.run("retry", "tasks/new.json").expectSuccess()
    _ = try await a.run("sync")
    #expect(try await a.entries("rejected").count == 1)
    try await a.run("dismiss", "tasks/new.json").expectSuccess()
    #expect(try await a.entries("rejected").isEmpty)
    #expect(try a.tasks() == ["milk.json", "new.json"])
    await both.stop()
  }

  /// Has both change the title: theirs is "Theirs", mine "Mine".
  private func meet(_ a: Replica, _ b: Replica, _ watch: Program?) async throws {
    try await a.run("offline").expectSuccess()
    try b.edit("tasks/milk.json") { $0["title"] = "Theirs" }
    try await b.sync()
    try a.edit("tasks/milk.json") { $0["title"] = "Mine" }
    try await watch?.line(with: "edited", "tasks/milk.json")
    if watch == nil { _ = try await a.run("sync") }
    try await a.run("online").expectSuccess()
    try await a.sync(expecting: 4)
  }

  @Test(
    "conflicts shows each column three times, and resolve keeps the side that is asked for",
    arguments: [false, true], [false, true])
  func resolve(isWatching: Bool, isMine: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await replicas(of: site)
    let both = try await BothWays(a, isWatching: isWatching)
    try await meet(a, b, both.watch)
    let entry = try #require(try await a.entries("conflicts").first)
    #expect(entry["path"] as? String == "tasks/milk.json")
    #expect(entry["side"] as? String == "tasks/milk.mine.json")
    let column = try #require((entry["columns"] as? [[String: Any]])?.first)
    #expect(column["column"] as? String == "title")
    #expect(["base", "mine", "theirs"].map { column[$0] as? String } == ["Milk", "Mine", "Theirs"])
    #expect(try await a.run("conflicts").output.contains("*  title   \"Milk\"  \"Mine\"  \"Theirs\"\n"))

    #expect(try await a.run("conflicts", "tasks/milk.mine.json").output.contains("  tasks/milk.json  met at "))
    #expect(try await a.entries("conflicts", "tasks/milk.json").count == 1)
    let other = try await a.run("conflicts", "tasks/other.json")
    #expect(other.status == 1 && other.errors.contains("nothing in conflict under 'tasks/other.json'"))

    #expect(try await a.run("resolve", "tasks/milk.json").status == 2)
    let path = isMine ? "tasks/milk.mine.json" : "tasks/milk.json"
    try await a.run("resolve", path, isMine ? "--mine" : "--theirs").expectSuccess()
    try await a.sync()
    try await b.sync()
    for replica in [a, b] {
      #expect(try replica.row("tasks/milk.json")["title"] as? String == (isMine ? "Mine" : "Theirs"))
      #expect(try replica.tasks() == ["milk.json"])
    }
    #expect(try await a.entries("conflicts").isEmpty)
    #expect(try await a.run("resolve", path, "--mine").status == 1)
    await both.stop()
  }

  @Test("a delete that met a change is settled either way", arguments: [false, true], [false, true])
  func resolveDelete(isWatching: Bool, isMine: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await replicas(of: site)
    try await a.run("offline").expectSuccess()
    try b.edit("tasks/milk.json") { $0["title"] = "Theirs" }
    try await b.sync()
    try a.remove("tasks/milk.json")
    _ = try await a.run("sync")
    try await a.run("online").expectSuccess()
    try await a.sync(expecting: 4)
    let both = try await BothWays(a, isWatching: isWatching)
    #expect(try await a.entries("conflicts").first?["operation"] as? String == "delete")
    #expect(a.exists("tasks/milk.deleted.json"))
    try await a.run("resolve", "tasks/milk.json", isMine ? "--mine" : "--theirs").expectSuccess()
    try await a.converge()
    try await b.sync()
    for replica in [a, b] { #expect(try replica.titles() == (isMine ? [] : ["Theirs"])) }
    #expect(!a.exists("tasks/milk.deleted.json"))
    await both.stop()
  }
}
