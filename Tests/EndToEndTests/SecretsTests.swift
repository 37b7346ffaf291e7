import Foundation
import Testing

@Suite("Secrets stay secret", .timeLimit(.minutes(5))) struct SecretsTests {
  @Test("after a day's use nothing kept or printed holds the password, a token or the key's secret part")
  func secrets() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    var outputs: [String] = []
    var secrets: Set<String> = ["correct horse", "wrong password"]
    func note(_ done: Finished) { outputs += [done.output, done.errors] }
    func run(_ words: String...) async throws { note(try await Tidemark.run(["-C", a.path] + words)) }
    func takeTokens() throws {
      let session = try #require(
        JSONSerialization.jsonObject(with: Data(a.text(".tidemark/session").utf8)) as? [String: Any])
      for name in ["access_token", "refresh_token"] { secrets.insert(try #require(session[name] as? String)) }
    }
    let secretPart = try #require(site.key.split(separator: "_").dropFirst(2).first.map(String.init))
    secrets.insert(secretPart)
    try takeTokens()
    let password = "\(site.path)/password"
    try Data("wrong password\n".utf8).write(to: URL(fileURLWithPath: "\(site.path)/wrong"))

    let watch = try await a.watch()
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    try a.write("tasks/bad.json", "{\"title\": ")
    try a.write("tasks/refused.json", "{\"title\": \"   \"}")
    try await watch.line(with: "added", "tasks/x.json")
    try await watch.line(with: "problem", "tasks/bad.json")
    try await run("sync", "--json")
    try await run("login", "--password-file", "\(site.path)/wrong")
    try await run("login", "--sign-in", "nobody@example.com", "--password-file", password)
    try await run("login", "--password-file", password)
    try takeTokens()
    await site.killServer()
    try a.edit("tasks/x.json") { $0["notes"] = "offline" }
    try await watch.line(with: "edited", "tasks/x.json")
    try await run("sync")
    try await run("doctor")
    try await site.startServer()
    try await run("logout", "--everywhere")
    try await run("sync")
    try await run("login", "--password-file", password)
    try takeTokens()
    // Ended on the server behind the watcher's back.
    note(try await b.run("logout", "--everywhere"))
    note(await watch.stop())
    for words in [
      ["sync"], ["sync", "--dry-run"], ["status", "--json"], ["whoami"], ["whoami", "--json"], ["log", "--last", "0"],
      ["why", "tasks/x.json"], ["why", "tasks/refused.json", "--json"], ["doctor"], ["doctor", "--json"], ["offline"],
    ] { note(try await Tidemark.run(["-C", a.path] + words)) }

    for secret in secrets {
      for output in outputs { #expect(!output.contains(secret), "printed: \(output)") }
    }
    let files = try FileManager.default.subpathsOfDirectory(atPath: "\(a.path)/.tidemark").filter { $0 != "session" }
    #expect(files.contains("log"))
    for name in files {
      guard let bytes = FileManager.default.contents(atPath: "\(a.path)/.tidemark/\(name)") else { continue }
      for secret in secrets { #expect(bytes.range(of: Data(secret.utf8)) == nil, "kept in \(name)") }
    }
  }
}
