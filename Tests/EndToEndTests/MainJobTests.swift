import Foundation
import Testing

@Suite("The main job, with real processes and files", .serialized, .timeLimit(.minutes(5))) struct MainJobTests {
  @Test("an edit in one workspace reaches the server and changes the file of the other")
  func editTravels() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    let (watchA, watchB) = (try await a.watch(), try await b.watch())

    try a.write("tasks/milk.json", "{\"title\": \"Buy oat milk\"}")
    try await watchB.line(with: "written", "tasks/buy-oat-milk.json")
    #expect(try b.row("tasks/buy-oat-milk.json")["title"] as? String == "Buy oat milk")
    #expect(try a.text("tasks/milk.json") == "{\"title\": \"Buy oat milk\"}", "a saved file is left as it was typed")

    let before = watchA.lineCount
    try b.edit("tasks/buy-oat-milk.json") { $0["done"] = true }
    try await watchA.line(with: "written", "tasks/milk.json", from: before)
    let row = try a.row("tasks/milk.json")
    #expect(row["done"] as? Bool == true)
    #expect(row["title"] as? String == "Buy oat milk")

    #expect(await watchA.stop().status == 0)
    #expect(await watchB.stop().status == 0)
    #expect(try await a.sync().values.allSatisfy { $0 == 0 }, "all in step: nothing left to do")
  }

  @Test("edits made while the server is down merge where the columns differ, and stand side by side where not")
  func offlineEdits() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try a.write("tasks/x.json", "{\"title\": \"one\", \"notes\": \"first\"}")
    try a.write("tasks/y.json", "{\"title\": \"two\"}")
    try await a.sync()
    try await b.sync()
    let (watchA, watchB) = (try await a.watch(), try await b.watch())

    await site.killServer()
    try a.edit("tasks/x.json") { $0["notes"] = "changed by a" }
    try await watchA.line(with: "edited", "tasks/x.json", "notes")
    try b.edit("tasks/one.json") { $0["done"] = true }
    try await watchB.line(with: "edited", "tasks/one.json", "done")
    try a.edit("tasks/y.json") { $0["title"] = "mine" }
    try await watchA.line(with: "edited", "tasks/y.json", "title")
    let stopped = await watchA.stop()
    #expect(stopped.status == 0)
    #expect(try await a.run("sync").status == 3, "changes wait for the server")

    // b's edits arrive first, so that a's meet them.
    try b.edit("tasks/two.json") { $0["title"] = "theirs" }
    try await watchB.line(with: "edited", "tasks/two.json", "title")
    #expect(await watchB.stop().status == 0)
    try await site.startServer()
    try await b.sync()

    try await a.sync(expecting: 4)
    #expect(try a.row("tasks/x.json")["notes"] as? String == "changed by a")
    #expect(try a.row("tasks/x.json")["done"] as? Bool == true)
    #expect(try a.row("tasks/y.json")["title"] as? String == "theirs")
    #expect(try a.row("tasks/y.mine.json")["title"] as? String == "mine")
    #expect(try await a.status()["conflicted"] as? Int == 1)

    a.move("tasks/y.mine.json", to: "tasks/y.json")
    try await a.sync()
    try await b.sync()
    #expect(try a.row("tasks/y.json")["title"] as? String == "mine")
    #expect(try b.row("tasks/two.json")["title"] as? String == "mine")
    #expect(try b.row("tasks/one.json")["notes"] as? String == "changed by a")
    #expect(try await a.run("status").status == 0)
  }

  @Test("removing the side file keeps theirs")
  func keepTheirs() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    try await a.sync()
    try await b.sync()
    try b.edit("tasks/one.json") { $0["title"] = "theirs" }
    try await b.sync()
    try a.edit("tasks/x.json") { $0["title"] = "mine" }
    try await a.sync(expecting: 4)
    try a.remove("tasks/x.mine.json")
    try await a.sync()
    #expect(try a.row("tasks/x.json")["title"] as? String == "theirs")
    #expect(try await a.run("status").status == 0)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: "\(a.path)/.tidemark/trash").contains {
        $0.contains("x.mine")
      })
  }

  @Test("kill -9 in the middle of a hundred saves loses nothing", arguments: [7, 40, 93])
  func killedWhileSaving(at killAt: Int) async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    var watch = try await a.watch()
    for number in 0..<100 {
      try a.write("tasks/t\(number % 20).json", "{\"title\": \"task \(number % 20)\", \"notes\": \"save \(number)\"}")
      if number == killAt {
        watch.signal(SIGKILL)
        _ = await watch.finished()
      }
    }
    watch = try await a.watch()
    #expect(await watch.stop().status == 0)
    try await a.sync()
    try await b.sync()
    #expect(try b.tasks().count == 20, "every task once")
    for name in try b.tasks() {
      let row = try b.row("tasks/\(name)")
      let number = try #require((row["title"] as? String)?.split(separator: " ").last.flatMap { Int($0) })
      #expect(row["notes"] as? String == "save \(80 + number)", "the last save of \(name)")
    }
    #expect(try await a.sync().values.allSatisfy { $0 == 0 })
  }

  @Test("removing a file deletes its row everywhere, and many at once wait for a word")
  func deletes() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    for number in 0..<10 { try a.write("tasks/t\(number).json", "{\"title\": \"t\(number)\"}") }
    try await a.sync()
    try await b.sync()
    try a.remove("tasks/t0.json")
    try await a.sync()
    try await b.sync()
    #expect(try b.tasks().count == 9)

    for number in 1..<8 { try a.remove("tasks/t\(number).json") }
    #expect(try await a.sync(expecting: 4)["held"] == 7)
    try await b.sync()
    #expect(try b.tasks().count == 9, "nothing is deleted without a word")
    #expect(try await a.run("confirm").status == 0)
    #expect(try await b.sync(expecting: 4)["held"] == 7, "and rows that vanish at once wait there too")
    #expect(try b.tasks().count == 9)
    #expect(try await b.run("confirm").status == 0)
    #expect(try b.tasks() == ["t8.json", "t9.json"])
  }

  @Test("a folder that is missing deletes nothing")
  func missingFolder() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    for number in 0..<5 { try a.write("tasks/t\(number).json", "{\"title\": \"t\(number)\"}") }
    try await a.sync()
    a.move("tasks", to: "elsewhere")
    #expect(try await a.sync(expecting: 4)["held"] == 5)
    try await b.sync()
    #expect(try b.tasks().count == 5)
    a.move("elsewhere", to: "tasks")
    #expect(try await a.sync().values.allSatisfy { $0 == 0 })
  }
}
