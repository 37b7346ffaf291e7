import LosslessJSON
import OfflineEngine
import SQLite
import SupabaseAPI

/// The queue of a developer's client, measured inside this process.
extension Bench {
  /// How fast writes are queued, into a short queue and behind many others, beside bare commits of the same size.
  func enqueue(_ count: Int) async throws -> [Measurement] {
    let stage = try await stage()
    let client = try await stage.client("\(stage.path)/queue.sqlite")
    client.disableNetwork()
    let writes = 500
    let tasks = client.from("tasks")
    var sample = SampleTasks(seed: seed &+ 6)
    func queue(_ number: Int) async throws -> Double {
      let rows = (0..<number).map { _ in OfflineJSON.object(sample.row()) }
      let start = ContinuousClock.now
      for row in rows { _ = try await tasks.insert(row).execute() }
      return (ContinuousClock.now - start).seconds / Double(number)
    }
    let early = try await queue(writes)
    let before = try Machine.memory("VmRSS") ?? 0
    while try client.pendingMutationCount() < count { _ = try await queue(min(writes, count)) }
    let late = try await queue(writes)
    let grown = (try Machine.memory("VmRSS") ?? 0) - before
    let commit = try Limits.commit("\(stage.path)/commit.sqlite", count: writes)
    let start = ContinuousClock.now
    let depth = try client.pendingMutationCount()
    let counting = (ContinuousClock.now - start).seconds
    client.close()
    let opening = ContinuousClock.now
    let again = try await stage.client("\(stage.path)/queue.sqlite")
    let open = (ContinuousClock.now - opening).seconds
    again.close()
    await stage.end()
    let limits = [Limit(name: "one SQLite commit, synchronous=FULL", value: commit)]
    return [
      Measurement(
        workload: "enqueue", size: writes, what: "one write into a short queue", unit: .seconds, values: [early],
        limits: limits),
      Measurement(
        workload: "enqueue", size: depth, what: "one write behind that many", unit: .seconds, values: [late],
        limits: limits),
      Measurement(
        workload: "queue count", size: depth, what: "how many wait", unit: .seconds, values: [counting], limits: limits),
      Measurement(
        workload: "queue open", size: depth, what: "opening a client over that queue", unit: .seconds, values: [open],
        limits: limits),
      Measurement(
        workload: "queue memory", size: depth, what: "memory grown while that many were queued", unit: .bytes,
        values: [grown], limits: [Limit(name: "one kilobyte each", value: Double(depth) * 1_000)]),
    ]
  }

  /// How fast updates of as many rows are replayed, which cannot travel together, beside one round trip and one commit each.
  func replay(_ count: Int) async throws -> [Measurement] {
    let stage = try await stage()
    try await stage.seed(count, seed: seed &+ 7)
    let client = try await stage.client("\(stage.path)/queue.sqlite")
    client.disableNetwork()
    var sample = SampleTasks(seed: seed &+ 8)
    for row in stage.seeded {
      guard let id = row["id"]?.stringValue else { continue }
      _ = try await client.from("tasks").update(["notes": .string(sample.notes())]).eq("id", value: id).execute()
    }
    client.enableNetwork()
    let start = ContinuousClock.now
    var sent = 0
    while try client.pendingMutationCount() > 0 {
      let report = try await client.syncPendingMutations()
      sent += report.synced
      if let failure = report.stoppedBy { throw ChildProcess.Failure(description: "the replay stopped: \(failure)") }
    }
    let seconds = (ContinuousClock.now - start).seconds
    client.close()
    let commit = try Limits.commit("\(stage.path)/commit.sqlite")
    let ids = stage.seeded.prefix(100).compactMap { $0["id"]?.stringValue }
    let notes = ids.map { _ in sample.notes() }
    let patch = try await Limits.roundTrip(count: ids.count) { try await stage.change(ids[$0], notes: notes[$0]) }
    await stage.end()
    return [
      Measurement(
        workload: "replay", size: count, what: "queued updates → the server", unit: .seconds, values: [seconds],
        limits: [
          Limit(name: "as many PATCHes and SQLite commits, one after another", value: Double(count) * (patch + commit)),
          Limit(name: "as many PATCHes", value: Double(count) * patch),
        ])
    ]
  }
}

extension Stage {
  /// A client of this stage's user, opened, whose database is at `database`.
  fileprivate func client(_ database: String) async throws -> OfflineClient {
    var configuration = OfflineConfiguration(
      project: try Project(url: url, key: Secret(key)), databasePath: database)
    configuration.sessionStorage = SessionFile(path: "\(database).session")
    configuration.autoSync = false
    let client = try OfflineClient(configuration, environment: .live(http: CurlExchange()))
    try await client.open()
    if client.auth.state == .signedOut {
      try await client.auth.signIn(email: Self.email, password: Secret(Self.password))
    }
    return client
  }
}
