import LosslessJSON
import OfflineEngine
import SupabaseAPI

/// Pulls of a large table, measured inside this process.
extension Bench {
  /// How long the first pull takes and how much memory it grows by, and what one row costs that changed since.
  func pull(_ count: Int) async throws -> [Measurement] {
    let stage = try await stage(isLogging: false)
    try await stage.seed(count, seed: seed &+ 10)
    let engine = try stage.engine("\(stage.path)/pull.sqlite")
    try Files.write("/proc/self/clear_refs", "5")  // The peak is counted from here on (proc(5)).
    let before = try Machine.memory("VmRSS") ?? 0
    let first = try await Limits.timedRequests { try await Self.pull(engine, finding: count) }
    let grown = (try Machine.memory("VmHWM") ?? 0) - before
    let pages = try await Limits.timedRequests {
      for offset in stride(from: 0, to: count, by: 1_000) { _ = try await stage.page(offset, limit: 1_000) }
    }
    let bare = try Limits.kept(stage.seeded, "\(stage.path)/kept.sqlite")

    // The overlap behind the cursor, read once more, is not what a later change costs.
    try await Self.pull(engine, finding: 0)
    var sample = SampleTasks(seed: seed &+ 11)
    var changed: [Double] = []
    var asked: [Double] = []
    for _ in 0..<20 {
      let row = stage.seeded[sample.number(below: count)]
      try await stage.change(row["id"]?.stringValue ?? "", notes: sample.notes())
      changed.append(try await Limits.timedRequests { try await Self.pull(engine, finding: 1) })
      asked.append(
        try await Limits.timedRequests {
          _ = try await stage.newest(limit: 1)
          _ = try await stage.rowCount()
        })
    }
    await stage.end()
    return [
      Measurement(
        workload: "first-pull", size: count, what: "the first pull of all rows into the cache", unit: .seconds,
        values: [first],
        limits: [
          Limit(name: "the rows in pages of 1,000 over HTTP, and as many inserts into SQLite", value: pages + bare),
          Limit(name: "the rows in pages of 1,000 over HTTP", value: pages),
        ]),
      Measurement(
        workload: "first-pull memory", size: count, what: "memory grown at its peak", unit: .bytes, values: [grown],
        limits: [Limit(name: "all rows' texts at once", value: Double(stage.seededBytes))]),
      Measurement(
        workload: "one-change", size: count, what: "a pull that finds one changed row", unit: .seconds, values: changed,
        limits: [Limit(name: "the newest row and the count over HTTP", value: Measurement.quantile(asked, 0.5))]),
    ]
  }

  private static func pull(_ engine: UserEngine, finding count: Int) async throws {
    let report = try await engine.pull("tasks")
    guard report.changed == count else {
      throw ChildProcess.Failure(description: "a pull found \(report.changed) rows of \(count)")
    }
  }
}
