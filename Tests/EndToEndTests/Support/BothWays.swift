import Testing

/// A replica that is worked on with a watcher or without: the same commands must come to the same.
struct BothWays {
  let replica: Replica
  let watch: Program?

  init(_ replica: Replica, isWatching: Bool) async throws {
    self.replica = replica
    watch = isWatching ? try await replica.watch() : nil
  }

  func stop() async { await watch?.stop() }
}

extension Replica {
  /// Runs a command that must succeed, and reads what it prints with `--json`.
  func ask(_ arguments: String...) async throws -> [String: Any] {
    let done = try await Tidemark.run(["-C", path] + arguments + ["--json"])
    return try done.status == 0 ? done.json() : ["failed": done.errors]
  }

  /// The entries of a list: `pending`, `rejected`, `conflicts`, `trash` or `list`.
  func entries(_ command: String, _ arguments: String...) async throws -> [[String: Any]] {
    let done = try await Tidemark.run(["-C", path, command] + arguments + ["--json"]).json()
    return done[command == "list" ? "rows" : command] as? [[String: Any]] ?? []
  }

  /// Syncs until nothing waits: a watcher may have sent a part of it before.
  func converge() async throws {
    for _ in 0..<5 {
      let counts = try await run("sync", "--json").json()
      if counts["remaining"] as? Int == 0 { return }
    }
  }
}
