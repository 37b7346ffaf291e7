import Foundation
import Testing

@Suite("Live changes, with real processes and files", .timeLimit(.minutes(5))) struct LiveTests {
  private static let isLive = "live: the server tells changes as they are made"

  /// A site with two workspaces that ask the server once a day only, and are told of changes before that.
  private static func live(_ site: Site) async throws -> (a: Replica, b: Replica, watchA: Program, watchB: Program) {
    let (a, b) = try await site.replicas()
    for replica in [a, b] { try replica.edit("tidemark.json") { $0["pullEvery"] = 86_400 } }
    let (watchA, watchB) = (try await a.watch(), try await b.watch())
    for watch in [watchA, watchB] { try await watch.line(with: isLive) }
    return (a, b, watchA, watchB)
  }

  @Test("a new file, an edit and a removal reach the other folder though nobody asks for them")
  func travels() async throws {
    let site = try await Site()
    let (a, b, watchA, watchB) = try await Self.live(site)
    try a.write("tasks/milk.json", "{\"title\": \"Buy oat milk\"}")
    try await watchB.line(with: "written", "tasks/buy-oat-milk.json")
    let before = watchA.lineCount
    try b.edit("tasks/buy-oat-milk.json") { $0["done"] = true }
    try await watchA.line(with: "written", "tasks/milk.json", from: before)
    #expect(try a.row("tasks/milk.json")["done"] as? Bool == true)
    // The edit has come back to b too, so that the removal is known to be of what the server has.
    try await b.sync()
    try b.remove("tasks/buy-oat-milk.json")
    try await watchA.line(with: "removed", "tasks/milk.json")
    #expect(try a.tasks() == [])

    let status = try await a.status()
    #expect(status["live"] as? String == "live" && status["liveReason"] is NSNull)
    #expect(try await a.run("status").output.contains("live      the server tells changes as they are made"))
    #expect(await watchA.stop().status == 0)
    #expect(await watchB.stop().status == 0)
    #expect(try await a.run("log").output.contains(Self.isLive))
  }

  @Test("an edit is one request while changes are told: the server is not asked for what it tells")
  func requests() async throws {
    let site = try await Site(serving: ["--log"])
    let a = try await site.workspace("a", isFirst: true)
    try a.edit("tidemark.json") { $0["pullEvery"] = 86_400 }
    try a.write("tasks/x.json", "{\"title\": \"edit 0\"}")
    let watch = try await a.watch()
    try await watch.line(with: Self.isLive)
    // The second edit is sent behind the read with which the telling began.
    var asked = 0
    for number in 1...4 {
      let told = watch.lineCount
      if number == 3 { asked = site.server.errorLines.count }
      try a.edit("tasks/x.json") { $0["title"] = "edit \(number)" }
      try await watch.line(with: "sent 1", from: told)
    }
    let requests = site.server.errorLines[asked...].filter { $0.contains("/rest/") }
    #expect(!requests.isEmpty && requests.allSatisfy { $0.hasPrefix("PATCH ") }, "\(requests)")
    await watch.stop()
  }

  @Test("a server that is killed and comes back is told of again, and what was missed is found")
  func serverKilled() async throws {
    let site = try await Site()
    let (a, b, watchA, watchB) = try await Self.live(site)
    let (fromA, fromB) = (watchA.lineCount, watchB.lineCount)
    await site.killServer()
    try await watchB.line(with: "live: not now, the server is asked instead", from: fromB)
    #expect(try await b.status()["live"] as? String == "waiting")
    try a.write("tasks/x.json", "{\"title\": \"written meanwhile\"}")
    try await site.startServer()
    try await watchA.line(with: Self.isLive, from: fromA)
    try await watchB.line(with: Self.isLive, from: fromB)
    try await watchB.line(with: "written", "tasks/written-meanwhile.json", from: fromB)
    try a.write("tasks/y.json", "{\"title\": \"written afterwards\"}")
    try await watchB.line(with: "written", "tasks/written-afterwards.json", from: fromB)
    await watchA.stop()
    await watchB.stop()
  }

  @Test("tokens that the server takes for expired are renewed, and changes go on")
  func tokens() async throws {
    let site = try await Site()
    let (a, _, watchA, watchB) = try await Self.live(site)
    let (fromA, fromB) = (watchA.lineCount, watchB.lineCount)
    try await site.misbehave(#"[{"kind": "clockSkew", "seconds": 3700}]"#)
    try a.write("tasks/x.json", "{\"title\": \"after the hour\"}")
    try await watchB.line(with: "written", "tasks/after-the-hour.json", from: fromB)
    try a.write("tasks/y.json", "{\"title\": \"and again\"}")
    try await watchB.line(with: "written", "tasks/and-again.json", from: fromB)
    #expect(!watchB.lines.dropFirst(fromB).contains { $0.contains("sign in") })
    #expect(!watchA.lines.dropFirst(fromA).contains { $0.contains("sign in") })
    await watchA.stop()
    await watchB.stop()
  }

  @Test("a server that stays silent is noticed by its missing heartbeat, and the rows are fetched")
  func silence() async throws {
    let site = try await Site()
    let (a, _, watchA, watchB) = try await Self.live(site)
    let fromB = watchB.lineCount
    try await site.misbehave(#"[{"kind": "realtimeSilence", "times": null}]"#)
    try a.write("tasks/x.json", "{\"title\": \"unheard\"}")
    try await watchA.line(with: "sent 1")
    try await watchB.line(with: "live: not now", "stopped answering", from: fromB)
    try await site.misbehave("[]")
    try await watchB.line(with: Self.isLive, from: fromB)
    try await watchB.line(with: "written", "tasks/unheard.json", from: fromB)
    await watchA.stop()
    await watchB.stop()
  }

  @Test("the command turns it off and on, and outlives the watcher; so do the settings")
  func switches() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    #expect(try await a.run("live").output == "no watcher runs\n")
    var watch = try await a.watch()
    try await watch.line(with: Self.isLive)
    let before = watch.lineCount
    #expect(try await a.run("live", "off").output == "live changes are off\n")
    try await watch.line(with: "live: off", from: before)
    #expect(try await a.status()["live"] as? String == "off")
    #expect(try await a.run("live").output == "off; the server is asked\n")
    await watch.stop()

    watch = try await a.watch()
    try a.write("tasks/x.json", "{\"title\": \"sent as ever\"}")
    try await watch.line(with: "sent 1")
    #expect(try await a.status()["live"] as? String == "off")
    #expect(try await a.run("live", "on", "--json").json()["wanted"] as? Bool == true)
    try await watch.line(with: Self.isLive)
    #expect(try await a.run("live", "sideways").status == 2)
    await watch.stop()

    let b = try await site.workspace("b", isFirst: false)
    try b.edit("tidemark.json") { $0["live"] = false }
    watch = try await b.watch()
    try await watch.line(with: "written", "tasks/sent-as-ever.json")
    #expect(try await b.status()["live"] as? String == "off")
    await watch.stop()
  }
}
