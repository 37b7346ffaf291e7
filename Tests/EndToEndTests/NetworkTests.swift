import Foundation
import Testing

@Suite("The network of a workspace", .timeLimit(.minutes(5)))
struct NetworkTests {
  @Test("while access is off nothing is sent, a restart of the watcher included; on again, everything is at once")
  func switchedOff() async throws {
    let site = try await Site(serving: ["--log"])
    let a = try await site.workspace("a", isFirst: true)
    var watch = try await a.watch()
    try a.write("tasks/milk.json", "{\"title\": \"Milk\"}")
    try await watch.line(with: "sent 1")
    try await a.run("offline").expectSuccess()
    // From here on no request of before is on its way.
    try await watch.line(with: "changes wait", "network access is off")
    let before = site.server.errorLines.count

    try a.edit("tasks/milk.json") { $0["notes"] = "one" }
    try await watch.line(with: "edited", "tasks/milk.json")
    #expect(try await a.sync(expecting: 3)["remaining"] == 1)
    let status = try await a.run("status")
    #expect(status.output.contains("(disabled)"), "\(status.output)")
    await watch.stop()

    // Without a watcher, and with the next one.
    try a.write("tasks/eggs.json", "{\"title\": \"Eggs\"}")
    #expect(try await a.sync(expecting: 3)["remaining"] == 2)
    watch = try await a.watch()
    try a.edit("tasks/milk.json") { $0["notes"] = "two" }
    try await watch.line(with: "edited", "tasks/milk.json")
    #expect(try await a.status()["network"] as? String == "disabled")
    #expect(site.server.errorLines.count == before)

    try await a.run("online").expectSuccess()
    try await watch.line(with: "sent 3")
    try await watch.line(with: "in step again")
    #expect(try await a.status()["network"] as? String == "online")
    let log = try await a.run("log").output
    #expect(log.contains("network access is off") && log.contains("network access is on"), "\(log)")
    await watch.stop()
  }

  @Test("a page of a network that wants a log-in is no answer: edits wait, and are sent once it is gone")
  func captivePortal() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    let watch = try await a.watch()
    await site.killServer()
    try await site.startServer(serving: ["--misbehave", "loginPage"])
    try await watch.line(with: "changes wait", "a login page of this network")
    try a.write("tasks/milk.json", "{\"title\": \"Milk\"}")
    try await watch.line(with: "added", "tasks/milk.json")
    #expect(try await a.run("status").output.contains("a login page of this network"))
    await site.killServer()
    try await site.startServer(serving: [])
    try await watch.line(with: "sent 1")
    #expect(try await a.run("status").status == 0)
    await watch.stop()
  }

  @Test("a server that takes requests and says nothing keeps no edit from being queued, and no watcher from ending")
  func halfOpen() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try await a.sync()
    await site.killServer()
    try await site.startServer(serving: ["--misbehave", "latency milliseconds=600000 path=/rest"])
    let watch = try await a.watch()
    try a.write("tasks/milk.json", "{\"title\": \"Milk\"}")
    try await watch.line(with: "added", "tasks/milk.json")
    #expect(try await a.status()["pending"] as? Int == 1)
    #expect(await watch.stop().status == 0)
    await site.killServer()
    try await site.startServer(serving: [])
    #expect(try await a.sync()["synced"] == 1)
  }
}
