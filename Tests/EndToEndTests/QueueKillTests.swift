import Foundation
import Testing

@Suite("A developer's program that is killed", .timeLimit(.minutes(10)))
struct QueueKillTests {
  private static let effort = ProcessInfo.processInfo.environment["TIDEMARK_TEST_EFFORT"].flatMap { Int($0) } ?? 1

  /// A line `stored ID TITLE` or `waits ID TITLE`.
  private static func reported(_ lines: [String]) -> [String: String] {
    var titles: [String: String] = [:]
    for line in lines {
      let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
      if parts.count == 3, parts[0] == "stored" || parts[0] == "waits" { titles[parts[1]] = parts[2] }
    }
    return titles
  }

  @Test(
    "loses no write that was reported, and makes none twice, however it dies", arguments: [true, false])
  func killed(isServerThere: Bool) async throws {
    let site = try await Site()
    let workspace = try await site.workspace("w", isFirst: true)
    let folder = "\(site.path)/example"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let arguments = [folder, site.url, site.key, "me@example.com"]
    let signIn = await (try Program(example: arguments, password: "correct horse", input: "")).finished()
    #expect(signIn.status == 0, "\(signIn.errors)")
    if !isServerThere { await site.killServer() }
    var reported: [String: String] = [:]
    var generator = SystemRandomNumberGenerator()
    for round in 0..<(30 * Self.effort) {
      let titles = (0..<40).map { "Round \(round) task \($0)" }.joined(separator: "\n") + "\n"
      let program = try Program(example: arguments, password: "correct horse", input: titles)
      await program.said(Int.random(in: 1...30, using: &generator))
      program.signal(SIGKILL)
      let died = await program.finished()
      reported.merge(Self.reported(died.output.split(separator: "\n").map(String.init))) { _, new in new }
    }
    if !isServerThere { try await site.startServer() }
    let last = await (try Program(example: arguments, password: "correct horse", input: "")).finished()
    #expect(last.output.contains("refused 0, still waiting 0"), "\(last.output) \(last.errors)")
    #expect(try await workspace.run("sync").status == 0)
    var titles: [String: String] = [:]
    for entry in try await workspace.entries("list") {
      let key = try #require(entry["key"] as? String)
      #expect(titles[key] == nil)
      titles[key] = entry["title"] as? String
    }
    #expect(!reported.isEmpty)
    for (key, title) in reported { #expect(titles[key] == title) }
    // A write of a dying round may have been made without being reported; none was made twice under two keys.
    #expect(Set(titles.values).count == titles.count)
  }
}
