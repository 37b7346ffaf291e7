import Foundation
import FoundationNetworking
import Testing

/// A folder of its own for one test, with a stand-in server that can be killed and started again on its port.
final class Site {
  let path: String
  private(set) var server: Program
  let url: String
  let key: String
  /// The key that opens the stand-in's own part.
  let serviceKey: String
  private let port: String
  private var serving: [String]

  /// Starts a server whose rows survive it.
  ///
  /// - Parameter serving: More options of `serve`.
  init(serving: [String] = []) async throws {
    self.serving = serving
    let base = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-e2e-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true)
    path = URL(fileURLWithPath: base).resolvingSymlinksInPath().path
    server = try Program(["serve", "--port", "0", "--data", "\(path)/server", "--json"] + serving)
    let first = try await Self.firstLine(of: server)
    url = try #require(first["url"] as? String)
    key = try #require(first["publishable_key"] as? String)
    serviceKey = try #require(first["service_key"] as? String)
    port = String(url.split(separator: ":").last ?? "")
    try Data("correct horse\n".utf8).write(to: URL(fileURLWithPath: "\(path)/password"))
  }

  deinit {
    server.signal(SIGKILL)
    try? FileManager.default.removeItem(atPath: path)
  }

  private static func firstLine(of server: Program) async throws -> [String: Any] {
    try await server.line(with: "publishable_key")
    return try #require(server.firstLineAsJSON)
  }

  /// Kills the server as a power cut would.
  func killServer() async {
    server.signal(SIGKILL)
    _ = await server.finished()
  }

  /// Starts it again with its data, on its port.
  ///
  /// - Parameter serving: Other options of `serve` than before.
  func startServer(serving other: [String]? = nil) async throws {
    serving = other ?? serving
    server = try Program(["serve", "--port", port, "--data", "\(path)/server", "--json"] + serving)
    _ = try await Self.firstLine(of: server)
  }

  /// Lays out misbehaviour of the server, in place of any that is left.
  func misbehave(_ faults: String) async throws {
    var request = URLRequest(url: try #require(URL(string: "\(url)/stand-in/faults")))
    request.httpMethod = "PUT"
    request.setValue(serviceKey, forHTTPHeaderField: "apikey")
    request.httpBody = Data(faults.utf8)
    let (_, response) = try await URLSession.shared.data(for: request)
    #expect((response as? HTTPURLResponse)?.statusCode == 200)
  }

  /// All rows of a table, whoever's they are.
  func rows(_ table: String) async throws -> [[String: Any]] {
    var request = URLRequest(url: try #require(URL(string: "\(url)/rest/v1/\(table)?select=*")))
    request.setValue(serviceKey, forHTTPHeaderField: "apikey")
    let (data, _) = try await URLSession.shared.data(for: request)
    return try #require(JSONSerialization.jsonObject(with: data) as? [[String: Any]])
  }

  /// Makes a workspace of the site's one user.
  func workspace(_ name: String, isFirst: Bool, options: [String] = []) async throws -> Replica {
    let account = [isFirst ? "--sign-up" : "--sign-in", "me@example.com", "--password-file", "\(path)/password"]
    let made = try await Tidemark.run(["init", "\(path)/\(name)", "--server", url, "--key", key] + account + options)
    #expect(made.status == 0, "\(made.errors)")
    return Replica(path: "\(path)/\(name)")
  }

  /// Two workspaces of one user.
  func replicas() async throws -> (Replica, Replica) {
    (try await workspace("a", isFirst: true), try await workspace("b", isFirst: false))
  }
}

extension Program {
  var firstLineAsJSON: [String: Any]? {
    let line = firstLine
    return try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
  }
}

/// One workspace of a test.
struct Replica: Sendable {
  let path: String

  func run(_ arguments: String...) async throws -> Finished { try await Tidemark.run(["-C", path] + arguments) }

  func watch() async throws -> Program {
    let program = try Program(["-C", path, "watch"])
    try await program.line(with: "watching \(path)")
    return program
  }

  @discardableResult
  func sync(expecting status: Int32 = 0, at location: SourceLocation = #_sourceLocation) async throws -> [String: Int] {
    let done = try await run("sync", "--json")
    #expect(done.status == status, "\(done.output) \(done.errors)", sourceLocation: location)
    return try done.json(at: location).compactMapValues { $0 as? Int }
  }

  func status() async throws -> [String: Any] { try await run("status", "--json").json() }

  func write(_ name: String, _ text: String) throws {
    try save(Data(text.utf8), to: "\(path)/\(name)")
  }

  func text(_ name: String) throws -> String { try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8) }

  func row(_ name: String) throws -> [String: Any] {
    let value = try JSONSerialization.jsonObject(with: Data(text(name).utf8))
    return try #require(value as? [String: Any])
  }

  /// Changes members of a file in place, as an editor that keeps the inode does.
  func edit(_ name: String, _ change: (inout [String: Any]) -> Void) throws {
    var row = try row(name)
    change(&row)
    let data = try JSONSerialization.data(withJSONObject: row, options: [.prettyPrinted, .sortedKeys])
    try save(data, to: "\(path)/\(name)")
  }

  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(path)/\(name)") }

  func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }

  func move(_ from: String, to: String) { rename("\(path)/\(from)", "\(path)/\(to)") }

  /// The names in `tasks/`, without hidden ones.
  func tasks() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(path)/tasks").filter { !$0.hasPrefix(".") }.sorted()
  }

  /// The titles of all tasks, sorted.
  func titles() throws -> [String] {
    try tasks().filter { $0.hasSuffix(".json") && !$0.hasSuffix(".mine.json") }
      .compactMap { try row("tasks/\($0)")["title"] as? String }.sorted()
  }
}
