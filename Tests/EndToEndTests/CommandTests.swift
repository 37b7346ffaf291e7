import Foundation
import Testing

@Suite("Each command keeps its contract", .timeLimit(.minutes(5))) struct CommandTests {
  @Test("serve prints its URL and keys as one line of JSON and ends well on SIGINT")
  func serve() async throws {
    let server = try Program(["serve", "--port", "0", "--json"])
    try await server.line(with: "publishable_key")
    let first = try #require(server.firstLineAsJSON)
    #expect(Set(first.keys) == ["url", "publishable_key", "service_key"])
    #expect((first["url"] as? String)?.hasPrefix("http://127.0.0.1:") == true)
    server.signal(SIGINT)
    #expect(await server.finished().status == 0)
  }

  @Test("serve with data keeps rows and keys when it is killed")
  func serveKeepsData() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try a.write("tasks/x.json", "{\"title\": \"kept\"}")
    try await a.sync()
    await site.killServer()
    try await site.startServer()
    try await b.sync()
    #expect(try b.titles() == ["kept"])
  }

  @Test("sync --json prints all counts and nothing else")
  func syncCounts() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    let done = try await a.run("sync", "--json")
    let counts = try done.json()
    #expect(
      Set(counts.keys) == [
        "synced", "rejected", "remaining", "alreadyOnServer", "heldBehindOtherTables", "conflictsResolved",
        "conflictsKeptServer", "conflicted", "filesWritten", "filesRemoved", "problems", "held",
      ])
    #expect(counts["synced"] as? Int == 1)
    #expect(done.errors.isEmpty)
    #expect(try await a.run("sync").output == "nothing to do, all in step\n")
  }

  @Test("status --json prints its members, without a watcher and with one")
  func statusMembers() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    try await a.sync()
    for isWatching in [false, true] {
      let watch = isWatching ? try await a.watch() : nil
      let status = try await a.status()
      #expect(
        Set(status.keys) == [
          "server", "user", "network", "watching", "pending", "rejected", "conflicted", "conflictedDeletes",
          "problems", "held", "holds", "lastSyncedAt", "outdated", "lastError", "nextTryAt", "live", "liveReason",
          "waits", "photos", "collections",
        ])
      #expect(status["server"] as? String == site.url)
      #expect(status["watching"] as? Bool == isWatching)
      #expect(status["pending"] as? Int == 0)
      #expect(status["problems"] as? Int == 0)
      let collection = try #require((status["collections"] as? [[String: Any]])?.first)
      #expect(collection["table"] as? String == "tasks")
      #expect(collection["folder"] as? String == "tasks")
      #expect(collection["files"] as? Int == 1)
      #expect(collection["rows"] as? Int == 1)
      await watch?.stop()
    }
  }

  @Test("offline and online are remembered, without a watcher and with one")
  func networkSwitch() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    #expect(try await a.run("offline").status == 0)
    #expect(try await a.status()["network"] as? String == "disabled")
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    #expect(try await a.sync(expecting: 3)["remaining"] == 1)
    #expect(try await a.run("status").status == 3)
    #expect(try await a.run("online").status == 0)
    #expect(try await a.sync()["synced"] == 1)

    let watch = try await a.watch()
    #expect(try await a.run("offline").status == 0)
    #expect(try await a.status()["network"] as? String == "disabled")
    try a.edit("tasks/x.json") { $0["notes"] = "offline" }
    try await watch.line(with: "edited", "tasks/x.json")
    #expect(try await a.status()["pending"] as? Int == 1)
    #expect(try await a.run("online").status == 0)
    #expect(try await a.sync()["remaining"] == 0)
    await watch.stop()
  }

  @Test("a second watcher is refused and names the process that has the workspace")
  func secondWatcher() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    let watch = try await a.watch()
    let second = try await a.run("watch")
    #expect(second.status == 1)
    #expect(second.errors.contains("is working on this workspace"))
    await watch.stop()
  }

  @Test("init takes the settings of a clone, adopts the files that are there, and refuses a workspace")
  func initAdopts() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    try await a.sync()

    let clone = Replica(path: "\(site.path)/clone")
    try FileManager.default.createDirectory(atPath: "\(clone.path)/tasks", withIntermediateDirectories: true)
    try clone.write("tidemark.json", a.text("tidemark.json"))
    try clone.write("tasks/my-name.json", "{\"title\": \"typed before\"}")
    let made = try await Tidemark.run([
      "init", clone.path, "--sign-in", "me@example.com", "--password-file", "\(site.path)/password",
    ])
    #expect(made.status == 0, "\(made.errors)")
    #expect(try clone.text("tasks/my-name.json") == "{\"title\": \"typed before\"}")
    try await clone.sync()
    #expect(try clone.titles() == ["one", "typed before"])
    try await a.sync()
    #expect(try a.titles() == ["one", "typed before"])

    let again = try await Tidemark.run(["init", clone.path, "--server", site.url, "--key", site.key])
    #expect(again.status == 1)
    #expect(again.errors.contains("is a workspace already"))
  }

  @Test(
    "a command line that cannot be understood exits with 2 and says what is wrong",
    arguments: [
      (["frobnicate"], "unknown command 'frobnicate'"), (["sync", "--fast"], "unknown option '--fast'"),
      (["serve", "--port", "99999999"], "whole number"), (["serve", "--port"], "needs a value"),
      (["init", "--server", "http://127.0.0.1:1"], "--key"), (["status", "extra"], "unexpected 'extra'"),
      (["status", "--json", "--json"], "given twice"), (["init", "--template", "none"], "no template 'none'"),
      (["help", "nothing"], "unknown command 'nothing'"),
    ])
  func usage(words: [String], said: String) async throws {
    let done = try await Tidemark.run(words)
    #expect(done.status == 2)
    #expect(done.errors.contains(said), "\(done.errors)")
    #expect(done.output.isEmpty)
  }

  @Test("help lists every command, and each command has help of its own")
  func help() async throws {
    let overview = try await Tidemark.run(["help"])
    #expect(overview.status == 0)
    let names = overview.output.split(separator: "\n").filter { $0.hasPrefix("  ") }
      .compactMap { $0.split(separator: " ").first.map(String.init) }
    try #require(names.count >= 20)
    for name in names {
      let own = try await Tidemark.run([name, "--help"])
      #expect(own.status == 0)
      #expect(own.output.hasPrefix("tidemark \(name)"))
      #expect(try await Tidemark.run(["help", name]).output == own.output)
    }
    #expect(try await Tidemark.run(["version"]).output.hasPrefix("tidemark "))
    #expect(try await Tidemark.run(["version", "--json"]).json()["version"] is String)
  }

  @Test("the tour plays to its end without a terminal")
  func tour() async throws {
    let tour = try await Tidemark.run(["demo"], in: Tidemark.packageRoot)
    #expect(tour.status == 0, "\(tour.errors)")
    #expect(tour.output.contains("That was the tour."))
  }
}
