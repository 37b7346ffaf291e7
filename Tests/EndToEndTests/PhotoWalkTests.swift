import Foundation
import Testing

@Suite("A walk with photos", .timeLimit(.minutes(5))) struct PhotoWalkTests {
  /// What goes on: a watched workspace in git, another one of the same user, and whether the watcher is killed all the time.
  private final class Walk {
    let (a, b): (Replica, Replica)
    private let isKilling: Bool
    private var watch: Program

    init(_ site: Site, isKilling: Bool) async throws {
      (a, b) = try await site.replicas()
      self.isKilling = isKilling
      for replica in [a, b] { try replica.edit("tidemark.json") { $0["deleteAfter"] = 1 } }
      let made = try await Program(
        shell: "git init -q . && git add -A && git -c user.name=me -c user.email=me@example.com commit -qm first",
        in: a.path
      ).finished()
      #expect(made.status == 0, "\(made.errors)")
      watch = try await a.watch()
    }

    /// Between two steps: the watcher dies and another one takes over, and git sees nothing but tasks and photos.
    func step() async throws {
      if isKilling {
        watch.signal(SIGKILL)
        _ = await watch.finished()
        watch = try await a.watch()
      }
      let status = try await Program(shell: "git status --porcelain --untracked-files=all", in: a.path).finished()
      let others = status.output.split(separator: "\n").filter { !$0.contains(" tasks/") && !$0.contains(" photos/") }
      #expect(others.isEmpty, "\(others)")
    }

    func end() async {
      let ended = await watch.stop()
      #expect(ended.status == 0, "\(ended.errors)")
    }

    /// Looks again until everything here is on the server: each look is a process of its own, so this is no waiting by the
    /// clock, and the suite's limit ends it.
    func settle(at location: SourceLocation = #_sourceLocation) async throws {
      while true {
        let status = try await a.status()
        let photos = status["photos"] as? [String: Any] ?? [:]
        let states = Set(try await a.photos().values)
        try #require(!states.contains("failed") && photos["held"] as? Int == 0, "\(status)", sourceLocation: location)
        if photos["waiting"] as? Int == 0, photos["toFetch"] as? Int == 0, status["pending"] as? Int == 0,
          (status["waits"] as? [String])?.isEmpty == true, states.isSubset(of: ["same"])
        {
          return
        }
      }
    }

    /// What the other workspace shows after a sync.
    func shown() async throws -> [String: Data] {
      try await b.sync()
      var shown: [String: Data] = [:]
      for folder in b.names("photos") {
        for name in b.names("photos/\(folder)") { shown["\(folder)/\(name)"] = try b.bytes("photos/\(folder)/\(name)") }
      }
      return shown
    }
  }

  @Test(
    "photos go the whole way online and offline, also when the watcher dies between any two steps",
    arguments: [false, true])
  func walk(isKilling: Bool) async throws {
    let site = try await Site()
    let walk = try await Walk(site, isKilling: isKilling)
    let a = walk.a

    // 1. Online, a photo is dropped into a task's folder.
    try a.write("tasks/kitchen.json", #"{"title": "Kitchen"}"#)
    try a.write("tasks/garden.json", #"{"title": "Garden"}"#)
    try await walk.step()
    try a.drop(.turned, at: "photos/kitchen/front.jpg")
    try await walk.step()
    try await walk.settle()
    #expect(try await walk.shown() == ["kitchen/front.jpg": Picture.turned.bytes])
    try await walk.step()

    // 2. What is known of it, a link, and another task.
    let info = try await a.ask("photos", "info", "photos/kitchen/front.jpg")
    #expect((info["server"] as? [String: Any])?["isInBucket"] as? Bool == true)
    #expect(info["takenAt"] as? String == "2026-10-18T11:00:27Z")
    let link = try await a.run("photos", "share", "photos/kitchen/front.jpg", "--width", "10", "--expires", "30m")
    let url = try #require(URL(string: link.output.trimmingCharacters(in: .whitespacesAndNewlines)), "\(link.errors)")
    #expect(try Data(contentsOf: url).count > 100)
    try await a.run("photos", "move", "garden", "photos/kitchen/front.jpg").expectSuccess()
    try await walk.step()
    try await walk.settle()
    #expect(try await walk.shown() == ["garden/front.jpg": Picture.turned.bytes])
    try await walk.step()

    // 3. Offline, a new task with two photos.
    try await a.run("offline").expectSuccess()
    try a.write("tasks/attic.json", #"{"title": "Attic"}"#)
    try await walk.step()
    try await a.run("photos", "add", "attic", Picture.red.path, Picture.moving.path).expectSuccess()
    try await walk.step()
    let waiting = try await a.photos()
    #expect(waiting["photos/attic/two-colours.png"] == "waiting")
    #expect(waiting["photos/attic/moving.gif"] == "waiting")
    #expect(waiting["photos/garden/front.jpg"] == "same")
    let refused = try await a.run("photos", "share", "photos/attic/moving.gif")
    #expect(refused.status == 1 && refused.errors.contains("is not on the server yet"), "\(refused.errors)")

    // 4. Nothing of it is on the server.
    #expect(try await walk.shown() == ["garden/front.jpg": Picture.turned.bytes])
    #expect(!walk.b.exists("tasks/attic.json"))
    try await walk.step()

    // 5. Online again, the task goes, and its photos behind it.
    try await a.run("online").expectSuccess()
    try await walk.step()
    try await walk.settle()
    #expect(
      try await walk.shown() == [
        "garden/front.jpg": Picture.turned.bytes, "attic/two-colours.png": Picture.red.bytes,
        "attic/moving.gif": Picture.moving.bytes,
      ])
    try await walk.step()

    // 6. Every other change, offline: what each means is kept until the network is back.
    try await a.run("offline").expectSuccess()
    try await a.run("photos", "replace", "photos/garden/front.jpg", Picture.placed.path).expectSuccess()
    try await walk.step()
    try await a.run("photos", "move", "kitchen", "photos/attic/moving.gif").expectSuccess()
    try await walk.step()
    try await a.run("photos", "copy", "kitchen", "photos/garden/front.jpg").expectSuccess()
    try await walk.step()
    try await a.run("photos", "remove", "photos/attic/two-colours.png").expectSuccess()
    try await walk.step()
    #expect(a.names("photos/kitchen") == ["front.jpg", "moving.gif"])
    try await a.run("online").expectSuccess()
    try await walk.step()
    try await walk.settle()
    #expect(
      try await walk.shown() == [
        "garden/front.jpg": Picture.placed.bytes, "kitchen/front.jpg": Picture.placed.bytes,
        "kitchen/moving.gif": Picture.moving.bytes,
      ])
    await walk.end()
  }
}
