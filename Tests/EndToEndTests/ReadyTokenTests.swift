import Foundation
import Testing

/// Workspaces whose access tokens are made elsewhere, on a server without Auth.
@Suite("A workspace with ready tokens", .timeLimit(.minutes(5))) struct ReadyTokenTests {
  /// A server, somebody's session on it, and a token file beside it.
  private struct Ground {
    let site: Site
    let first: Replica
    var file: String { "\(site.path)/token" }

    init() async throws {
      site = try await Site()
      first = try await site.workspace("first", isFirst: true)
      try renew()
    }

    var token: String {
      get throws { try first.row(".tidemark/session")["access_token"] as? String ?? "" }
    }

    func renew() throws { try put("\(token)\n") }

    func put(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: file)) }

    /// `init` for the tables alone, with a token of the first workspace's user.
    func start(_ options: String...) async throws -> Finished {
      try await Tidemark.run(
        ["init", "\(site.path)/alone", "--rest", "\(site.url)/rest/v1/", "--key", site.key] + options)
    }

    var alone: Replica { Replica(path: "\(site.path)/alone") }
  }

  @Test("keeps in step without any Auth service, from a file or a command", arguments: [true, false])
  func inStep(isFile: Bool) async throws {
    let ground = try await Ground()
    let source = isFile ? ["--token-file", ground.file] : ["--token-command", "cat '\(ground.file)'"]
    let made = try await ground.start(source[0], source[1])
    #expect(made.status == 0, "\(made.errors)")
    let server = try #require(try ground.alone.row("tidemark.json")["server"] as? [String: Any])
    #expect(Set(server.keys) == ["rest", "key"])
    let alone = ground.alone
    try alone.write("tasks/x.json", #"{"title": "one"}"#)
    try await alone.sync()
    try await ground.first.sync()
    try ground.first.edit("tasks/one.json") { $0["title"] = "two" }
    try await ground.first.sync()
    try await alone.sync()
    #expect(try alone.row("tasks/x.json")["title"] as? String == "two")
    try alone.remove("tasks/x.json")
    try await alone.sync()
    try await ground.first.sync()
    #expect(try ground.first.tasks().isEmpty)
    // What is stored names the source; no token lies in the workspace.
    #expect(try !alone.text(".tidemark/session").contains(ground.token))
    for command in ["whoami", "status", "doctor"] {
      let done = try await alone.run(command)
      #expect(done.status == 0, "\(command): \(done.output) \(done.errors)")
      #expect(try !done.output.contains(ground.token))
    }
  }

  @Test("waits with an old token and goes on with a new one, beside a watcher as without", arguments: [false, true])
  func renewed(isWatching: Bool) async throws {
    let ground = try await Ground()
    #expect(try await ground.start("--token-file", ground.file).status == 0)
    let alone = ground.alone
    try alone.write("tasks/x.json", #"{"title": "one"}"#)
    try await alone.sync()
    // A token that the server refuses: its signature is another's.
    let token = try ground.token
    try ground.put(token.dropLast(4) + "AAAA")
    let watch = isWatching ? try await alone.watch() : nil
    try alone.edit("tasks/x.json") { $0["title"] = "two" }
    let waiting = try await alone.run("sync")
    #expect(waiting.status == 1 && waiting.errors.contains("refuses the token"), "\(waiting.errors)")
    #expect(try alone.row("tasks/x.json")["title"] as? String == "two")
    try ground.renew()
    let done = try await alone.run("login", "--token-file", ground.file)
    #expect(done.status == 0, "\(done.errors)")
    try await alone.sync()
    try await ground.first.sync()
    #expect(try ground.first.titles() == ["two"])
    await watch?.stop()
  }

  @Test("belongs to one user: another's token is refused and changes nothing")
  func otherUser() async throws {
    let ground = try await Ground()
    #expect(try await ground.start("--token-file", ground.file).status == 0)
    let other = try await Tidemark.run([
      "init", "\(ground.site.path)/other", "--server", ground.site.url, "--key", ground.site.key,
    ])
    try #require(other.status == 0)
    let token = try Replica(path: "\(ground.site.path)/other").row(".tidemark/session")["access_token"] as? String ?? ""
    try Data(token.utf8).write(to: URL(fileURLWithPath: "\(ground.site.path)/other-token"))
    let before = try ground.alone.text(".tidemark/session")
    let done = try await ground.alone.run("login", "--token-file", "\(ground.site.path)/other-token")
    #expect(done.status == 1 && done.errors.contains("another user"), "\(done.errors)")
    #expect(try ground.alone.text(".tidemark/session") == before)
    try await ground.alone.sync()
  }

  @Test("logs out and in again; the token itself is nobody's here to end")
  func loggedOut() async throws {
    let ground = try await Ground()
    #expect(try await ground.start("--token-file", ground.file).status == 0)
    #expect(try await ground.alone.run("logout").status == 0)
    let without = try await ground.alone.run("login")
    #expect(without.status == 1 && without.errors.contains("--token-file"), "\(without.errors)")
    #expect(!ground.alone.exists(".tidemark/session"))
    #expect(FileManager.default.fileExists(atPath: ground.file))
    try await ground.first.sync()
    #expect(try await ground.alone.run("login", "--token-file", ground.file).status == 0)
    try await ground.alone.sync()
  }

  @Test(
    "what is no token is said, and nothing is made",
    arguments: [
      ("", "is no access token"), ("not a token\n", "is no access token"), ("a.b.c\n", "is no access token"),
      ("e30.eyJyb2xlIjoiYW5vbiJ9.x\n", "names no user"), ("e30.eyJzdWIiOiJ1Iiwicm9sZSI6ImFub24ifQ.x\n", "'role'"),
      ("e30.eyJzdWIiOiJ1In0.x\n", "'role'"),
    ])
  func refused(_ text: String, _ said: String) async throws {
    let ground = try await Ground()
    try ground.put(text)
    let done = try await ground.start("--token-file", ground.file)
    #expect(done.status == 1 && done.errors.contains(said), "\(done.errors)")
    #expect(!FileManager.default.fileExists(atPath: "\(ground.alone.path)/.tidemark"))
  }

  @Test("without a token, with a command that fails, or with two sources: each is told what to do")
  func choices() async throws {
    let ground = try await Ground()
    let none = try await ground.start()
    #expect(none.status == 1 && none.errors.contains("--token-file"), "\(none.errors)")
    let failing = try await ground.start("--token-command", "exit 7")
    #expect(failing.status == 1 && failing.errors.contains("exit code 7"), "\(failing.errors)")
    let missing = try await ground.start("--token-file", "\(ground.site.path)/nowhere")
    #expect(missing.status == 1 && missing.errors.contains("nowhere"), "\(missing.errors)")
    let both = try await ground.start("--token-file", ground.file, "--token-command", "true")
    #expect(both.status == 2)
    let server = try await ground.start("--server", ground.site.url, "--token-file", ground.file)
    #expect(server.status == 2)
  }
}
