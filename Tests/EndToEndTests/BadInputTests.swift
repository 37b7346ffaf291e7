import Foundation
import Testing

@Suite("Bad input gets one clear message and changes nothing", .timeLimit(.minutes(5))) struct BadInputTests {
  static let files: [(text: String, message: String)] = [
    ("{\"title\": \"a\",}", "problem"), ("{\"title\": 12}", "1:11"), ("{\"titel\": \"a\"}", "titel"),
    ("{\"title\": \"a\"\n \"notes\": null}", "2:2"), ("[1]", "expected an object"), ("{\"title\": null}", "title"),
    ("{\"notes\": \"no title\"}", "title"), ("{\"title\": \"a\", \"done\": \"yes\"}", "done"),
    ("{\"title\": \"a\", \"title\": \"b\"}", "title"), ("not json", "1:1"),
  ]

  @Test("a file that is not a row is named with its place, and the rest goes on", arguments: files)
  func unreadable(text: String, message: String) async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try a.write("tasks/bad.json", text)
    try a.write("tasks/good.json", "{\"title\": \"good\"}")
    let done = try await a.run("sync")
    #expect(done.status == 4)
    #expect(done.output.contains("tasks/bad.json") && done.output.contains(message), "\(done.output)")
    #expect(try a.text("tasks/bad.json") == text)
    #expect(try await a.status()["problems"] as? Int == 1)
    let status = try await a.run("status")
    #expect(status.status == 4)
    #expect(status.output.contains("tasks/bad.json:"))

    try a.write("tasks/bad.json", "{\"title\": \"mended\"}")
    try await a.sync()
    #expect(try await a.run("status").status == 0)
  }

  @Test("a file that is not UTF-8 is a problem and stays as it is")
  func notUTF8() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    let bytes = Data([0x7B, 0x22, 0x74, 0x69, 0x74, 0x6C, 0x65, 0x22, 0x3A, 0x22, 0xFF, 0x22, 0x7D])
    try save(bytes, to: "\(a.path)/tasks/bad.json")
    let done = try await a.run("sync")
    #expect(done.status == 4)
    #expect(done.output.contains("UTF-8"), "\(done.output)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: "\(a.path)/tasks/bad.json")) == bytes)
  }

  @Test("a server that is not there, or answers pages, or is no project, makes no workspace")
  func badServers() async throws {
    let nothing = try await Tidemark.run(["init", "/nonexistent/x", "--server", "http://127.0.0.1:9", "--key", "k"])
    #expect(nothing.status == 1)
    #expect(nothing.errors.contains("127.0.0.1:9"), "\(nothing.errors)")

    let site = try await Site()
    let folder = "\(site.path)/none"
    let wrongKey = try await Tidemark.run(["init", folder, "--server", site.url, "--key", "sb_publishable_wrong"])
    #expect(wrongKey.status == 1)
    #expect(wrongKey.errors.contains("key"), "\(wrongKey.errors)")
    let wrongPath = try await Tidemark.run(["init", folder, "--server", "\(site.url)/elsewhere", "--key", site.key])
    #expect(wrongPath.status == 1)
    #expect(!FileManager.default.fileExists(atPath: folder), "nothing was made")
  }

  static let settings: [(change: @Sendable (String) -> String, message: String)] = [
    ({ $0.replacingOccurrences(of: "\"title text required\"", with: "\"titel text required\"") }, "tidemark.json:"),
    ({ $0.replacingOccurrences(of: "\"collections\"", with: "\"colections\"") }, "colections"),
    ({ String($0.dropLast(4)) }, "tidemark.json:"), ({ _ in "" }, "tidemark.json"),
    ({ $0.replacingOccurrences(of: "127.0.0.1", with: "localhost") }, "names the server"),
  ]

  @Test("settings that are wrong are named with their place", arguments: settings.indices)
  func badSettings(number: Int) async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    let good = try a.text("tidemark.json")
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    try a.write("tidemark.json", Self.settings[number].change(good))
    for command in ["sync", "status", "watch"] {
      let done = try await a.run(command)
      #expect(done.status == 1, "\(command)")
      #expect(done.errors.contains(Self.settings[number].message), "\(done.errors)")
    }
    try a.write("tidemark.json", good)
    try await a.sync()
  }

  @Test("a column that the server does not have is told, and nothing is refused or lost")
  func unknownColumn() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    let good = try a.text("tidemark.json")
    let edited = good.replacingOccurrences(of: "\"notes text\"", with: "\"notes text\", \"colour text\"")
    try #require(edited != good)
    try a.write("tidemark.json", edited)
    try a.write("tasks/x.json", "{\"title\": \"one\", \"colour\": \"red\"}")
    let done = try await a.run("sync")
    #expect(done.status == 1)
    #expect(done.errors.contains("colour"), "\(done.errors)")
    #expect(try await a.status()["pending"] as? Int == 1)
    #expect(try await a.status()["rejected"] as? Int == 0)
  }

  @Test("a session that cannot be refreshed keeps files and queue and says so")
  func lostSession() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try FileManager.default.removeItem(atPath: "\(a.path)/.tidemark/session")
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    let done = try await a.run("sync")
    #expect(done.status == 1)
    #expect(done.errors.contains("signed in"), "\(done.errors)")
    #expect(try await a.status()["pending"] as? Int == 1)
  }

  @Test("a command outside a workspace says how to make one")
  func noWorkspace() async throws {
    let done = try await Tidemark.run(["status"], in: "/")
    #expect(done.status == 1)
    #expect(done.errors.contains("tidemark init"))
  }

  @Test("the server's refusal leaves the person's text and says why")
  func refused() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try a.write("tasks/x.json", "{\"title\": \"   \"}")
    try a.write("tasks/y.json", "{\"title\": \"good\"}")
    let done = try await a.run("sync", "--json")
    #expect(done.status == 4)
    #expect(try done.json()["rejected"] as? Int == 1)
    #expect(try a.text("tasks/x.json") == "{\"title\": \"   \"}")
    #expect(try a.text("tasks/x.refused.json").contains("23514"))
    #expect(try await a.status()["rejected"] as? Int == 1)
    try a.write("tasks/x.json", "{\"title\": \"better\"}")
    try await a.sync()
    #expect(!a.exists("tasks/x.refused.json"))
    #expect(try await a.run("status").status == 0)
  }
}
