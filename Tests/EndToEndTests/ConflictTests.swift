import Foundation
import Testing

@Suite("Conflicts, as their person meets them", .timeLimit(.minutes(3))) struct ConflictTests {
  /// Two replicas of one task, of which the first has met the second's title.
  private func conflict() async throws -> (site: Site, a: Replica, b: Replica) {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try a.write("tasks/milk.json", #"{"title": "Milk", "notes": "one\ntwo\nthree\n"}"#)
    try await a.sync()
    try await b.sync()
    return (site, a, b)
  }

  @Test("where it happened everything says so, with what was seen, mine and theirs, also after a restart and a kill")
  func nobodyIsLeftUntold() async throws {
    let (site, a, b) = try await conflict()
    try b.edit("tasks/milk.json") { $0["title"] = "Soy milk" }
    try await b.sync()
    try a.edit("tasks/milk.json") { $0["title"] = "Oat milk" }
    try await a.sync(expecting: 4)
    for how in ["at once", "after a watcher", "after a kill"] {
      if how != "at once" {
        let watch = try await a.watch()
        if how == "after a kill" { watch.signal(SIGKILL) } else { await watch.stop() }
        _ = await watch.finished()
      }
      #expect(try a.tasks() == ["milk.json", "milk.mine.json"], "\(how)")
      let status = try await a.run("status")
      #expect(status.status == 4 && status.output.contains("conflict  1: see the *.mine.json files"), "\(how)")
      #expect(try await a.status()["conflicted"] as? Int == 1, "\(how)")
      let shown = try await a.run("conflicts").output
      #expect(["Milk", "Oat milk", "Soy milk"].allSatisfy { shown.contains("\"\($0)\"") }, "\(how): \(shown)")
      let json = try await a.run("conflicts", "--json").json()
      let column = try #require(((json["conflicts"] as? [[String: Any]])?.first?["columns"] as? [[String: Any]])?.first)
      #expect(["base", "mine", "theirs"].map { column[$0] as? String } == ["Milk", "Oat milk", "Soy milk"], "\(how)")
    }
    // The other replica has nothing to settle.
    #expect(try await b.run("status").status == 0)
    _ = site
  }

  @Test("settings choose: lines are merged, the rest is theirs, and the trash and the log hold what lost")
  func settings() async throws {
    let (site, a, b) = try await conflict()
    let plain = try a.text("tidemark.json")
    let chosen = plain.replacingOccurrences(
      of: "\"notes text\"", with: #"{"name": "notes", "type": "text", "conflicts": "merge"}"#
    )
    .replacingOccurrences(of: "\"folder\": \"tasks\",", with: "\"folder\": \"tasks\", \"conflicts\": \"theirs\",")
    try #require(chosen.contains("merge") && chosen.contains("theirs"))
    try a.write("tidemark.json", chosen)
    try b.edit("tasks/milk.json") { row in
      row["title"] = "Soy milk"
      row["notes"] = "one\ntwo\nTHREE\n"
    }
    try await b.sync()
    try a.edit("tasks/milk.json") { row in
      row["title"] = "Oat milk"
      row["notes"] = "ONE\ntwo\nthree\n"
      row["done"] = true
    }
    try await a.sync()
    try await b.sync()
    for replica in [a, b] {
      let row = try replica.row("tasks/milk.json")
      #expect(row["title"] as? String == "Soy milk")
      #expect(row["notes"] as? String == "ONE\ntwo\nTHREE\n")
      #expect(row["done"] as? Bool == true)
      #expect(try replica.tasks() == ["milk.json"])
      #expect(try await replica.run("status").status == 0)
    }
    #expect(
      try await a.run("log").output.contains(
        "title: theirs is kept, yours is in the trash; notes: both changes are merged"))
    #expect(try await a.run("trash").output.contains("a conflict was settled for theirs, as the settings say"))
    // What lost can be had again.
    try await a.run("restore", "tasks/milk.json").expectSuccess()
    try await a.sync()
    try await b.sync()
    #expect(try b.row("tasks/milk.json")["title"] as? String == "Oat milk")
    // A wrong word is told with its place, and changes nothing.
    try a.write("tidemark.json", chosen.replacingOccurrences(of: "\"theirs\"", with: "\"newest\""))
    let refused = try await a.run("sync")
    #expect(refused.status == 1)
    #expect(refused.errors.contains(#"expected "hold", "mine" or "theirs""#), "\(refused.errors)")
    #expect(refused.errors.contains("tidemark.json:"))
    _ = site
  }
}
