import Foundation
import Testing

@Suite("A watcher that is killed", .timeLimit(.minutes(60)))
struct WatchKillTests {
  /// How often it is killed: a few times in every run, 500 times by `make soak`.
  private static let killCount = ProcessInfo.processInfo.environment["TIDEMARK_KILLS"].flatMap { Int($0) } ?? 8

  /// What a server does wrong while somebody works: a little of everything, for ever.
  private static let trouble = """
    [{"kind": "dropAfter", "times": null, "probability": 0.05}, {"kind": "dropBefore", "times": null, "probability": 0.05},
     {"kind": "truncate", "times": null, "probability": 0.03}, {"kind": "proxy520", "times": null, "probability": 0.03},
     {"kind": "unavailable", "times": null, "probability": 0.03}, {"kind": "expiredToken", "times": null, "probability": 0.01},
     {"kind": "realtimeDisconnect", "times": null, "probability": 0.05},
     {"kind": "latency", "milliseconds": 5, "jitter": 60, "times": null, "probability": 0.5}]
    """

  /// What people did, which nothing may lose.
  private struct Account {
    /// The last value that was saved of a column, by the row's key.
    var titles: [String: String] = [:]
    var notes: [String: String] = [:]
    /// Titles of new files, each of which must be one row.
    var added: Set<String> = []
    /// Titles of files that were added and removed again.
    var removed: Set<String> = []
  }

  private static let sharedCount = 12

  @Test("loses no save, makes none twice and ends equal with its server and the other folder, however often it dies")
  func killed() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    var account = Account()
    for number in 0..<Self.sharedCount {
      let id = UUID().uuidString.lowercased()
      account.titles[id] = "shared \(number)"
      account.notes[id] = "none yet"
      try a.write(
        "tasks/shared-\(number).json",
        #"{"id": "\#(id)", "title": "shared \#(number)", "notes": "none yet", "done": false}"#)
    }
    for replica in [a, b] { try await replica.converge() }
    let names = try a.tasks().filter { $0.hasPrefix("shared") }
    try #require(names.count == Self.sharedCount)
    try await site.misbehave(Self.trouble)
    let other = try await b.watch()
    var random = SystemRandomNumberGenerator()
    for round in 0..<Self.killCount {
      // Killed at any time: also while it starts, and while it settles what the one before left.
      let program = try Program(["-C", a.path, "watch"])
      if Int.random(in: 0..<4, using: &random) > 0 { await program.said(1) }
      var edits = 0
      for name in names.shuffled(using: &random).prefix(Int.random(in: 1...6, using: &random)) {
        try Self.change(a, name, "title", "title \(round) \(name)") { account.titles[$0] = $1 }
        edits += 1
      }
      for name in names.shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random)) {
        try Self.change(b, name, "notes", "notes \(round) \(name)") { account.notes[$0] = $1 }
      }
      try a.write("tasks/added-\(round).json", #"{"title": "added-\#(round)"}"#)
      account.added.insert("added-\(round)")
      let old = "added-\(round - 2)"
      if round % 3 == 2, a.exists("tasks/\(old).json") {
        try a.remove("tasks/\(old).json")
        account.added.remove(old)
        account.removed.insert(old)
      }
      await program.said(1 + Int.random(in: 0...edits, using: &random))
      program.signal(SIGKILL)
      _ = await program.finished()
    }
    await other.stop()
    try await site.misbehave("[]")
    // Of so many kills many removals may be left that are seen at once: they were meant.
    _ = try await a.run("confirm")
    try await Self.settle([a, b])
    try await Self.expect(account, in: [a, b])
  }

  /// Saves as editors do, beside the file and then over it; a file that lies elsewhere just now is left alone.
  private static func change(
    _ replica: Replica, _ name: String, _ column: String, _ value: String, note: (_ id: String, _ value: String) -> Void
  ) throws {
    guard var row = try? replica.row("tasks/\(name)"), let id = row["id"] as? String else { return }
    row[column] = value
    let data = try JSONSerialization.data(withJSONObject: row, options: [.prettyPrinted, .sortedKeys])
    let draft = "\(replica.path)/.draft-\(UUID().uuidString)"
    try data.write(to: URL(fileURLWithPath: draft))
    guard rename(draft, "\(replica.path)/tasks/\(name)") == 0 else { return }
    note(id, value)
  }

  /// Syncs one after the other until none has anything to do.
  private static func settle(_ replicas: [Replica]) async throws {
    for _ in 0..<30 {
      var isQuiet = true
      for replica in replicas {
        let counts = try await replica.run("sync", "--json").json()
        if ["queued", "synced", "filesWritten", "filesRemoved", "held", "remaining"].contains(where: {
          counts[$0] as? Int ?? 0 > 0
        }) {
          isQuiet = false
        }
      }
      if isQuiet { return }
    }
    Issue.record("no end of work")
  }

  /// Every text that was saved stands in a file, in a side file or in the trash, and the folders show the same rows once.
  private static func expect(_ account: Account, in replicas: [Replica]) async throws {
    var folders: [[String: String]] = []
    var kept = ""
    for replica in replicas {
      var titles: [String: String] = [:]
      for name in try replica.tasks() {
        kept += try replica.text("tasks/\(name)")
        guard [".mine.", ".deleted.", ".refused.", ".problem."].allSatisfy({ !name.contains($0) }) else { continue }
        let row = try replica.row("tasks/\(name)")
        // The key of a new file comes into it after a while.
        guard let id = row["id"] as? String, let title = row["title"] as? String else { continue }
        #expect(titles.updateValue(title, forKey: id) == nil, "two files are \(id)")
      }
      folders.append(titles)
      for path in FileManager.default.enumerator(atPath: "\(replica.path)/.tidemark/trash") ?? .init() {
        kept += (path as? String).flatMap { try? replica.text(".tidemark/trash/\($0)") } ?? ""
      }
    }
    for (id, title) in folders[0] where folders[1][id] != nil { #expect(folders[1][id] == title) }
    let added = folders[1].values.filter { $0.hasPrefix("added") }
    #expect(Set(added).count == added.count)
    for text in Array(account.titles.values) + account.notes.values + account.added {
      #expect(kept.contains("\"\(text)\""), "\(text) is lost")
    }
  }
}
