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

  /// What people did, and so what everybody is to see in the end.
  private struct Account {
    /// What was saved last of a row's columns, by its key; each column has one person who edits it.
    var shared: [String: Row] = [:]
    /// Titles of new files, each of which is one row; without those that were removed again, which are none.
    var added: Set<String> = []
  }

  /// What a row says.
  private struct Row: Comparable, CustomStringConvertible {
    var title: String
    var notes: String?

    static func < (left: Row, right: Row) -> Bool { (left.title, left.notes ?? "") < (right.title, right.notes ?? "") }

    var description: String { "'\(title)' with \(notes.map { "'\($0)'" } ?? "no notes")" }
  }

  private static let sharedCount = 12

  @Test("loses no save, makes none twice and ends equal with its server and the other folder, however often it dies")
  func killed() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    var account = Account()
    for number in 0..<Self.sharedCount {
      let id = UUID().uuidString.lowercased()
      account.shared[id] = Row(title: "shared \(number)", notes: "none yet")
      try a.write(
        "tasks/shared-\(number).json",
        #"{"id": "\#(id)", "title": "shared \#(number)", "notes": "none yet", "done": false}"#)
    }
    for replica in [a, b] { try await replica.converge() }
    let names = try a.tasks().filter { $0.hasPrefix("shared") }
    try #require(names.count == Self.sharedCount)
    try await site.misbehave(Self.trouble)
    var other = try await b.watch()
    var random = SystemRandomNumberGenerator()
    for round in 0..<Self.killCount {
      // Killed at any time: also while it starts, and while it settles what the one before left.
      let program = try Program(["-C", a.path, "watch"])
      if Int.random(in: 0..<4, using: &random) > 0 { await program.said(1) }
      let told = other.lineCount
      var edits = 0
      for name in names.shuffled(using: &random).prefix(Int.random(in: 1...6, using: &random)) {
        try Self.change(a, name, "title", "title \(round) \(name)") { account.shared[$0]?.title = $1 }
        edits += 1
      }
      for name in names.shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random)) {
        try Self.change(b, name, "notes", "notes \(round) \(name)") { account.shared[$0]?.notes = $1 }
      }
      try a.write("tasks/added-\(round).json", #"{"title": "added-\#(round)"}"#)
      account.added.insert("added-\(round)")
      let old = "added-\(round - 2)"
      if round % 3 == 2, a.exists("tasks/\(old).json") {
        try a.remove("tasks/\(old).json")
        account.added.remove(old)
      }
      // Before anything is sent, in the middle of it, and after some of it has come to the other folder.
      if Bool.random(using: &random) {
        await program.said(1 + Int.random(in: 0...edits, using: &random))
      } else {
        await other.said(told + Int.random(in: 1...6, using: &random))
      }
      program.signal(SIGKILL)
      _ = await program.finished()
      if Int.random(in: 0..<5, using: &random) == 0 {
        other.signal(SIGKILL)
        _ = await other.finished()
        other = try await b.watch()
      }
    }
    await other.stop()
    try await site.misbehave("[]")
    // Of so many kills many removals may be left that are seen at once: they were meant.
    _ = try await a.run("confirm")
    try await Self.settle([a, b])
    try await Self.expect(account, of: site, in: [a, b])
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

  /// The server's rows are what people saved last, each once; both folders show the same, and ask nobody anything.
  private static func expect(_ account: Account, of site: Site, in replicas: [Replica]) async throws {
    let rows = try await site.rows("tasks")
    for (id, wanted) in account.shared {
      let found = rows.filter { $0["id"] as? String == id }
      #expect(found.count == 1 && row(found[0]) == wanted, "\(found.map(row)) where \(wanted) was saved")
    }
    let others = rows.filter { row in account.shared[row["id"] as? String ?? ""] == nil }.map { row($0).title }
    #expect(others.sorted() == account.added.sorted())
    for replica in replicas {
      let names = try replica.tasks()
      #expect(
        names.allSatisfy { name in [".mine.", ".deleted.", ".refused.", ".problem."].allSatisfy { !name.contains($0) } }
      )
      #expect(
        try names.map { row(try replica.row("tasks/\($0)")) }.sorted() == rows.map(row).sorted(), "in \(replica.path)")
      let status = try await replica.status()
      #expect(status["pending"] as? Int == 0 && status["conflicted"] as? Int == 0, "\(status)")
    }
  }

  private static func row(_ members: [String: Any]) -> Row {
    Row(title: members["title"] as? String ?? "", notes: members["notes"] as? String)
  }
}
