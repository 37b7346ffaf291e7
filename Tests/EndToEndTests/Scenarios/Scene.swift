import Foundation
import FoundationNetworking
import Glibc
import Testing

/// Real programs that scenarios are played with; one that is missing skips its scenario by name.
enum Tool {
  static func isInstalled(_ name: String) -> Bool { path(of: name) != nil }

  static func path(of name: String) -> String? {
    ["/usr/bin/\(name)", "/bin/\(name)", "/usr/sbin/\(name)", "/sbin/\(name)"].first { access($0, X_OK) == 0 }
  }

  /// What a skipped scenario says.
  static func missing(_ name: String) -> Comment { "\(name) is not installed: make setup-tests installs it" }
}

/// A workspace in step with a server that tells its requests, watched, and what its people's programs do to it.
///
/// Not below `/tmp`: vim and emacs save otherwise there, and Git's own rules do not matter.
final class Scene {
  let site: Site
  let replica: Replica
  private(set) var watch: Program
  /// What had been told and sent when the scenario began.
  private var start = Account()

  /// What the watcher said it queued, and what the server was asked to write.
  struct Account: Equatable {
    var events: [String] = []
    var writes: [String] = []
  }

  /// - Parameters:
  ///   - files: The texts of files in `tasks/` by their names.
  ///   - settings: Members of `tidemark.json` to set.
  init(
    _ files: [String: String] = ["t.json": Scene.task], settings: [String: Any] = [:], serving: [String] = []
  ) async throws {
    site = try await Site(serving: ["--log"] + serving)
    replica = try await site.workspace("a", isFirst: true)
    if !settings.isEmpty { try replica.set(settings) }
    for (name, text) in files { try replica.write("tasks/\(name)", text) }
    if !files.isEmpty { try await replica.sync() }
    watch = try await replica.watch()
    start = try await account()
  }

  static let id = "8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10"
  /// A task of which every column stands in the file, the key among them.
  static let task = """
    {
      "id": "\(id)",
      "title": "one",
      "notes": "first",
      "done": false
    }

    """

  /// The id of the task of a number.
  static func taskID(_ number: Int) -> String {
    "8c1f0f0e-6a55-4a0c-9d0e-" + String(repeating: "0", count: 12 - String(number).count) + String(number)
  }

  /// A task of its own for a number.
  static func task(_ number: Int, title: String = "task", notes: String = "") -> String {
    """
    {
      "id": "\(taskID(number))",
      "title": "\(title)",
      "notes": "\(notes)",
      "done": false
    }

    """
  }

  /// Runs a shell script in the workspace's folder; `$T` is the task's file, editors find a home in `$HOME`.
  @discardableResult
  func shell(_ script: String, at location: SourceLocation = #_sourceLocation) async throws -> Finished {
    let done = try await start(script).finished()
    #expect(done.status == 0, "\(script)\n\(done.output)\(done.errors)", sourceLocation: location)
    return done
  }

  /// Starts such a script.
  func start(_ script: String) throws -> Program {
    let home = "\(site.path)/home"
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    let set = """
      set -e
      export HOME='\(home)' TERM=xterm T=tasks/t.json TIDEMARK='\(Tidemark.path)'
      export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=me GIT_AUTHOR_EMAIL=me@example.com
      export GIT_COMMITTER_NAME=me GIT_COMMITTER_EMAIL=me@example.com

      """
    return try Program(shell: set + script, in: replica.path)
  }

  /// Takes what was told and sent until now out of later accounts.
  func begin(at account: Account) {
    start.events += account.events
    start.writes += account.writes
  }

  /// Starts a watcher again after the scenario has ended the first.
  func watchAgain() async throws { watch = try await replica.watch() }

  /// Waits until the watcher has told that it queued an edit of the task's file.
  func edited(
    _ column: String = "title", of path: String = "tasks/t.json", after line: Int,
    at location: SourceLocation = #_sourceLocation
  ) async throws {
    try await watch.line(with: "edited", path, column, from: line, at: location)
  }

  /// Everything that was queued and sent since the scenario began.
  ///
  /// A whole sync comes before: what a listing of everything would still queue, such as a delete whose proof is now
  /// complete, is part of the account.
  func account(expecting status: Int32 = 0, at location: SourceLocation = #_sourceLocation) async throws -> Account {
    _ = try await replica.sync(expecting: status, at: location)
    let log = try await Tidemark.run(["-C", replica.path, "log", "--last", "0", "--json"])
    let entries = try JSONSerialization.jsonObject(with: Data(log.output.utf8)) as? [[String: String]] ?? []
    var account = Account()
    for entry in entries
    where ["added", "edited", "deleted", "conflict", "refused", "problem"].contains(entry["event"]) {
      account.events.append("\(entry["event"] ?? "") \(entry["path"] ?? "") \(entry["detail"] ?? "")")
    }
    account.writes = site.server.errorLines.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
      .filter { line in ["POST ", "PATCH ", "DELETE "].contains { line.hasPrefix($0 + "/rest/") } }
    account.events.removeFirst(min(start.events.count, account.events.count))
    account.writes.removeFirst(min(start.writes.count, account.writes.count))
    return account
  }

  /// The rows of the table on the server by their ids.
  func rows() async throws -> [String: [String: Any]] {
    try await site.rows().reduce(into: [:]) { $0[$1["id"] as? String ?? ""] = $1 }
  }
}

extension Site {
  /// The rows on the server, whoever owns them.
  func rows(of table: String = "tasks") async throws -> [[String: Any]] {
    var rows: [[String: Any]] = []
    // The server gives a thousand at a time.
    while true {
      var request = URLRequest(
        url: try #require(URL(string: "\(url)/rest/v1/\(table)?order=id&offset=\(rows.count)&limit=1000")))
      request.setValue(serviceKey, forHTTPHeaderField: "apikey")
      request.setValue("Bearer \(serviceKey)", forHTTPHeaderField: "Authorization")
      let (data, _) = try await URLSession.shared.data(for: request)
      let page = try JSONSerialization.jsonObject(with: data) as? [[String: Any]] ?? []
      rows += page
      if page.count < 1000 { return rows }
    }
  }
}

extension Replica {
  /// Sets members of `tidemark.json`.
  func set(_ settings: [String: Any]) throws {
    var json = try row("tidemark.json")
    for (name, value) in settings { json[name] = value }
    try JSONSerialization.data(withJSONObject: json, options: [.prettyPrinted, .sortedKeys])
      .write(to: URL(fileURLWithPath: "\(path)/tidemark.json"))
  }
}

/// How much the long tests do: 1 by default, more with `TIDEMARK_TEST_EFFORT`.
let testEffort = max(1, ProcessInfo.processInfo.environment["TIDEMARK_TEST_EFFORT"].flatMap { Int($0) } ?? 1)
