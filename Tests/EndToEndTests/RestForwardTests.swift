import Foundation
import Testing

/// `serve --rest`: Auth here, the tables elsewhere.
///
/// What answers there is another stand-in with the same keys.
@Suite("serve before a PostgREST", .timeLimit(.minutes(5))) struct RestForwardTests {
  /// A server with the tables, and one in front of it that has none of them.
  private final class Pair {
    let path: String
    let back: Program
    let front: Program
    let url: String
    let key: String

    init() async throws {
      path = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-e2e-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try Data("a secret that is long enough for any server\n".utf8).write(to: URL(fileURLWithPath: "\(path)/secret"))
      try Data("correct horse\n".utf8).write(to: URL(fileURLWithPath: "\(path)/password"))
      let secret = ["--json", "--port", "0", "--jwt-secret-file", "\(path)/secret"]
      // Both are to have the same keys: the second begins with a copy of the first one's.
      let first = try Program(["serve", "--data", "\(path)/back"] + secret)
      try await first.line(with: "publishable_key")
      await first.stop()
      try FileManager.default.copyItem(atPath: "\(path)/back", toPath: "\(path)/front")
      back = try Program(["serve", "--data", "\(path)/back"] + secret)
      try await back.line(with: "publishable_key")
      let backURL = try #require(back.firstLineAsJSON?["url"] as? String)
      front = try Program(["serve", "--data", "\(path)/front", "--rest", "\(backURL)/rest/v1/"] + secret)
      try await front.line(with: "publishable_key")
      url = try #require(front.firstLineAsJSON?["url"] as? String)
      key = try #require(front.firstLineAsJSON?["publishable_key"] as? String)
    }

    deinit {
      front.signal(SIGKILL)
      back.signal(SIGKILL)
      try? FileManager.default.removeItem(atPath: path)
    }

    func workspace(_ name: String, isFirst: Bool) async throws -> Replica {
      let account = [isFirst ? "--sign-up" : "--sign-in", "me@example.com", "--password-file", "\(path)/password"]
      let made = try await Tidemark.run(["init", "\(path)/\(name)", "--server", url, "--key", key] + account)
      #expect(made.status == 0, "\(made.errors)")
      return Replica(path: "\(path)/\(name)")
    }
  }

  @Test("workspaces work as with a server alone: edits arrive, merge and conflict")
  func works() async throws {
    let pair = try await Pair()
    let (a, b) = (try await pair.workspace("a", isFirst: true), try await pair.workspace("b", isFirst: false))
    try a.write("tasks/milk.json", #"{"title": "Buy milk", "notes": "Ä+%&"}"#)
    try await a.sync()
    try await b.sync()
    #expect(try b.row("tasks/buy-milk.json")["notes"] as? String == "Ä+%&")
    try a.edit("tasks/milk.json") { $0["title"] = "mine" }
    try b.edit("tasks/buy-milk.json") { $0["title"] = "theirs" }
    try await b.sync()
    try await a.sync(expecting: 4)
    #expect(a.exists("tasks/milk.mine.json"))
    try a.write("tasks/blank.json", #"{"title": "  "}"#)
    try await a.sync(expecting: 4)
    #expect(try a.text("tasks/blank.refused.json").contains("23514"))
  }

  @Test("without the PostgREST writes wait, and nothing counts as gone")
  func away() async throws {
    let pair = try await Pair()
    let a = try await pair.workspace("a", isFirst: true)
    try a.write("tasks/x.json", #"{"title": "x"}"#)
    try await a.sync()
    await pair.back.stop()
    try a.edit("tasks/x.json") { $0["title"] = "y" }
    let counts = try await a.sync(expecting: 3)
    #expect(counts["remaining"] == 1)
    #expect(try a.row("tasks/x.json")["title"] as? String == "y")
  }

  @Test(
    "what cannot work is said before anything starts",
    arguments: [
      (["--rest", "http://127.0.0.1:1"], "--jwt-secret-file"), (["--rest", "ftp://x"], "http://"),
      (["--rest", "http://127.0.0.1:1", "--template", "contacts"], "--template"),
    ])
  func refused(_ options: [String], _ said: String) async throws {
    let done = try await Tidemark.run(["serve", "--port", "0"] + options)
    #expect(done.status == 2)
    #expect(done.errors.contains(said), "\(done.errors)")
  }
}
