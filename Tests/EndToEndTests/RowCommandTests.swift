import Foundation
import Testing

@Suite("Commands on rows come to the same with a watcher and without", .timeLimit(.minutes(5)))
struct RowCommandTests {
  @Test("add makes a file under the title's name, and its row", arguments: [false, true])
  func add(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    let both = try await BothWays(a, isWatching: isWatching)
    #expect(try await a.ask("add", "Buy", "oat milk")["path"] as? String == "tasks/buy-oat-milk.json")
    #expect(try a.row("tasks/buy-oat-milk.json")["title"] as? String == "Buy oat milk")
    let second = try #require(try await a.ask("add", "Buy oat milk")["path"] as? String)
    #expect(second.hasPrefix("tasks/buy-oat-milk-") && a.exists(second))
    try await a.converge()
    try await b.sync()
    #expect(try b.titles() == ["Buy oat milk", "Buy oat milk"])
    #expect(try a.tasks().count == 2)

    let nowhere = try await a.run("add", "x", "--to", "nowhere")
    #expect(nowhere.status == 1)
    #expect(nowhere.errors.contains("there is no collection 'nowhere'"))
    await both.stop()
  }

  @Test("done changes one value of a file, found by path, from its folder, or by id", arguments: [false, true])
  func done(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    let text = #"{ "title":"Milk",   "$mine": 1, "done":false }"#
    try a.write("tasks/milk.json", text)
    try await a.sync()
    let both = try await BothWays(a, isWatching: isWatching)
    #expect(try await a.run("done", "tasks/milk.json").output == "tasks/milk.json is done\n")
    #expect(try a.text("tasks/milk.json") == text.replacingOccurrences(of: "false", with: "true"))
    #expect(try await a.run("done", "tasks/milk.json").output == "tasks/milk.json was done already\n")
    try await a.converge()
    try await b.sync()
    #expect(try b.row("tasks/milk.json")["done"] as? Bool == true)

    let undone = try await Tidemark.run(["done", "--undo", "milk.json"], in: "\(a.path)/tasks")
    #expect(undone.output == "tasks/milk.json is open\n", "\(undone.errors)")
    let key = try #require(try await a.entries("list").first?["key"] as? String)
    #expect(try await a.ask("done", String(key.prefix(8)))["path"] as? String == "tasks/milk.json")
    try await a.converge()
    try await b.sync()
    #expect(try b.row("tasks/milk.json")["done"] as? Bool == true)

    let missing = try await a.run("done", "tasks/none.json")
    #expect(missing.status == 1)
    #expect(missing.errors.contains("'tasks/none.json'"))
    await both.stop()
  }

  @Test("done leaves a file alone that is open in an editor")
  func doneInEditor() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try a.write("tasks/milk.json", "{\"title\": \"Milk\"}")
    try await a.sync()
    try a.write("tasks/.milk.json.swp", "vim")
    let done = try await a.run("done", "tasks/milk.json")
    #expect(done.status == 1)
    #expect(done.errors.contains("open in an editor"))
    #expect(try a.text("tasks/milk.json") == "{\"title\": \"Milk\"}")
  }

  @Test("list says what the files say, also before anybody looked at them", arguments: [false, true])
  func list(isWatching: Bool) async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try a.write("tasks/milk.json", "{\"title\": \"Milk\", \"notes\": \"oat\"}")
    try a.write("tasks/bread.json", "{\"title\": \"Bread\", \"done\": true}")
    try await a.sync()
    let both = try await BothWays(a, isWatching: isWatching)
    try await a.run("offline").expectSuccess()
    try a.write("tasks/Call the plumber.json", "")
    try a.edit("tasks/bread.json") { $0["title"] = "Rye bread" }
    if let watch = both.watch {
      try await watch.line(with: "edited", "bread.json")
      try await watch.line(with: "added", "plumber")
    }
    let titles = { (rows: [[String: Any]]) in rows.compactMap { $0["title"] as? String } }
    #expect(titles(try await a.entries("list")) == ["Call the plumber", "Rye bread", "Milk"])
    #expect(titles(try await a.entries("list", "--open")) == ["Call the plumber", "Milk"])
    #expect(titles(try await a.entries("list", "--done")) == ["Rye bread"])
    #expect(titles(try await a.entries("list", "OAT")) == ["Milk"])
    #expect(titles(try await a.entries("list", "rye", "bread")) == ["Rye bread"])
    #expect(titles(try await a.entries("list", "--in", "tasks", "nothing")).isEmpty)
    #expect(try await a.run("list", "--in", "nowhere").status == 1)
    #expect(try await a.run("list", "--open", "--done").status == 2)
    let plain = try await a.run("list", "Milk")
    #expect(plain.output == "[ ]  Milk  tasks/milk.json\n")
    await both.stop()
  }

  @Test("trash lists texts with their reasons, and restore brings one back", arguments: [false, true])
  func trash(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try a.write("tasks/milk.json", "{\"title\": \"Milk\", \"notes\": \"oat\"}")
    try await a.sync()
    try await b.sync()
    try a.remove("tasks/milk.json")
    try await a.sync()
    try await b.sync()
    #expect(try b.tasks().isEmpty)
    let both = try await BothWays(a, isWatching: isWatching)
    let entry = try #require(try await a.entries("trash").first)
    #expect(entry["origin"] as? String == "tasks/milk.json")
    #expect(entry["reason"] as? String == "the file was removed")

    let back = try await a.ask("restore", "tasks/milk.json")
    #expect(back["message"] as? String == "tasks/milk.json is back as a new row")
    try await a.converge()
    try await b.sync()
    #expect(try b.titles() == ["Milk"])
    #expect(try b.row("tasks/milk.json")["notes"] as? String == "oat")

    // A text of a row that is there becomes an edit of it.
    try await a.run("offline").expectSuccess()
    try await a.run("done", "tasks/milk.json").expectSuccess()
    try await a.run("discard", "tasks/milk.json").expectSuccess()
    #expect(try a.row("tasks/milk.json")["done"] as? Bool == false)
    let name = try #require(try await a.entries("trash").last?["name"] as? String)
    try await a.run("restore", name).expectSuccess()
    #expect(try a.row("tasks/milk.json")["done"] as? Bool == true)
    try await a.run("online").expectSuccess()
    try await a.converge()
    try await b.sync()
    #expect(try b.row("tasks/milk.json")["done"] as? Bool == true)
    #expect(try await a.run("restore", "none").status == 1)
    await both.stop()
  }

  @Test("a problem's note stands beside its file until it is right again", arguments: [false, true])
  func problemNote(isWatching: Bool) async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    let both = try await BothWays(a, isWatching: isWatching)
    try a.write("tasks/milk.json", "{\n  \"title\": \"Milk\",\n  \"done\": ture\n}\n")
    if let watch = both.watch {
      try await watch.line(with: "tasks/milk.problem.txt", "says what is wrong")
    } else {
      try await a.sync(expecting: 4)
    }
    let note = try a.text("tasks/milk.problem.txt")
    #expect(note.hasPrefix("tasks/milk.json:3:11: found 'ture'; expected"))
    #expect(note.contains("      \"done\": ture\n              ^\n"))
    try a.write("tasks/milk.json", "{\"title\": \"Milk\"}")
    if let watch = both.watch {
      try await watch.line(with: "tasks/milk.problem.txt", "removed")
    } else {
      try await a.sync()
    }
    #expect(try a.tasks() == ["milk.json"])
    try await a.converge()
    #expect(try await a.status()["problems"] as? Int == 0)
    await both.stop()
  }
}

extension Finished {
  func expectSuccess(at location: SourceLocation = #_sourceLocation) {
    #expect(status == 0, "\(output) \(errors)", sourceLocation: location)
  }
}
