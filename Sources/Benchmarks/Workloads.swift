import Glibc
import LosslessJSON

/// A named workload; each makes fresh folders and deletes nothing.
struct Workload: Sendable {
  var name: String
  var summary: String
  var run: @Sendable (Bench, Int) async throws -> [Measurement]

  static let all = [
    Workload(name: "edit-server", summary: "a file is saved → its row is on the server, beside a watcher") {
      try await $0.editToServer($1)
    },
    Workload(name: "edit-replica", summary: "a file is saved → the file of another replica shows it, two watchers") {
      try await $0.editToReplica($1)
    },
    Workload(name: "drop", summary: "new files are dropped into a watched folder → all their rows are on the server") {
      try await $0.drop($1)
    },
    Workload(name: "drop-slow", summary: "the same over a network on which every answer takes 50 ms") {
      try await $0.drop($1, latency: 0.05)
    },
    Workload(
      name: "photos", summary: "photos of 2 MB are dropped at once → all are on the server, and the watcher's memory"
    ) {
      try await $0.photos($1)
    },
    Workload(name: "photo-large", summary: "one photo of so many MB, and the watcher's memory") {
      try await $0.largePhoto(megabytes: $1)
    },
    Workload(name: "pull", summary: "an engine pulls a large table, and one row that changed") {
      try await $0.pull($1)
    },
    Workload(name: "first-sync", summary: "'sync' writes all rows into an empty folder") {
      try await $0.firstSync($1)
    },
    Workload(name: "unchanged", summary: "'sync' with nothing changed anywhere") { try await $0.unchanged($1) },
    Workload(name: "memory", summary: "the memory and the processor time of a watcher") { try await $0.memory($1) },
    Workload(name: "enqueue", summary: "a developer's client queues writes, also behind many others") {
      try await $0.enqueue($1)
    },
    Workload(name: "serve", summary: "the local server reads and inserts single rows over connections that stay open") {
      try await $0.serve($1)
    },
    Workload(name: "replay", summary: "a developer's client sends queued updates") { try await $0.replay($1) },
    Workload(name: "cache", summary: "a developer's client keeps a long list, patches it and reads a page") {
      try await $0.cache($1)
    },
  ]
}

/// One run of the benchmarks.
final class Bench {
  private let program: String
  private let folder: String
  let seed: UInt64
  private var stages = 0
  /// Filled workspaces, with the seconds of their first sync: three workloads begin with one.
  private var filled: [Int: (stage: Stage, workspace: String, seconds: Double)] = [:]

  init(program: String, folder: String, seed: UInt64) {
    self.program = program
    self.folder = folder
    self.seed = seed
  }

  /// Forgets the workspaces of the repetition before.
  func startOver() async {
    for (stage, _, _) in filled.values { await stage.end() }
    filled = [:]
  }

  func stage(isLogging: Bool = true, misbehaviour: String? = nil) async throws -> Stage {
    stages += 1
    sync()
    return try await Stage(
      "\(folder)/\(stages)", program: program, isLogging: isLogging, misbehaviour: misbehaviour)
  }

  /// A fresh folder for a workload that needs no server.
  func emptyFolder() throws -> String {
    stages += 1
    sync()
    try Files.makeFolder("\(folder)/\(stages)")
    return "\(folder)/\(stages)"
  }

  private func text(_ row: JSONObject, notes: String) -> String {
    var row = row
    row["notes"] = .string(notes)
    return JSONValue.object(row).serialized(.pretty) + "\n"
  }

  // MARK: One edit

  /// How long a saved file is left alone by default, which no edit can undercut.
  private static let settle = 0.05
  /// Enough files that looking at one does not pass for looking at all.
  private static let bystanders = 100
  /// Long enough for a watcher to join and for the server to say that changes flow.
  private static let untilLive = Duration.seconds(5)

  func editToServer(_ edits: Int) async throws -> [Measurement] {
    let stage = try await stage()
    try await stage.seed(Self.bystanders, seed: seed)
    let workspace = try stage.workspace("a")
    try stage.run(["-C", workspace, "sync"])
    let watcher = try stage.watch(workspace)
    var sample = SampleTasks(seed: seed &+ 1)
    let files = try self.files(workspace)
    var values: [Double] = []
    for index in 0..<edits {
      stage.idle(.milliseconds(300 + sample.number(below: 700)))
      let (path, row) = files[index % files.count]
      let sent = stage.answered("PATCH")
      let text = text(row, notes: sample.notes() + " \(index)")
      let start = ContinuousClock.now
      try Files.write(path, text)
      try stage.wait(for: "an edit on the server", within: .seconds(30)) { stage.answered("PATCH") > sent }
      values.append((ContinuousClock.now - start).seconds)
    }
    try stage.stop(watcher)
    let commit = try Limits.commit("\(stage.path)/commit.sqlite")
    let patch = try await patch(stage, &sample)
    await stage.end()
    return [
      Measurement(
        workload: "edit-server", size: edits, what: "one edit → row on the server", unit: .seconds, values: values,
        limits: [
          Limit(name: "settle of 50 ms + one commit + one PATCH", value: Self.settle + commit + patch),
          Limit(name: "one PATCH to the server", value: patch),
          Limit(name: "one SQLite commit, synchronous=FULL", value: commit),
        ])
    ]
  }

  func editToReplica(_ edits: Int) async throws -> [Measurement] {
    [try await editToReplica(edits, pullEvery: nil), try await editToReplica(edits, pullEvery: ("0.1", 0.1))]
  }

  /// - Parameter pullEvery: How often each replica asks, without live changes; `nil` where the server tells.
  private func editToReplica(
    _ edits: Int, pullEvery: (text: String, seconds: Double)?
  ) async throws -> Measurement {
    let stage = try await stage()
    try await stage.seed(Self.bystanders, seed: seed)
    let settings: KeyValuePairs<String, JSONValue> =
      if let pullEvery { ["live": false, "pullEvery": JSONNumber(pullEvery.text).map(JSONValue.number) ?? .null] } else
      { [:] }
    let (a, b) = (try stage.workspace("a", settings: settings), try stage.workspace("b", settings: settings))
    for workspace in [a, b] { try stage.run(["-C", workspace, "sync"]) }
    let watchers = [try stage.watch(a), try stage.watch(b)]
    if pullEvery == nil { stage.idle(Self.untilLive) }
    var sample = SampleTasks(seed: seed &+ 2)
    let files = try self.files(a)
    let others = Dictionary(try self.files(b).map { ($0.row["id"], $0.path) }) { first, _ in first }
    var values: [Double] = []
    for index in 0..<edits {
      stage.idle(.milliseconds(300 + sample.number(below: 2_000)))
      let (path, row) = files[index % files.count]
      guard let other = others[row["id"]] else { continue }
      let before = Files.stamp(other)
      let text = text(row, notes: sample.notes() + " \(index)")
      let start = ContinuousClock.now
      try Files.write(path, text)
      try stage.wait(for: "an edit in the other folder", within: .seconds(60), step: .microseconds(200)) {
        let stamp = Files.stamp(other)
        return stamp != nil && stamp != before
      }
      values.append((ContinuousClock.now - start).seconds)
    }
    for watcher in watchers { try stage.stop(watcher) }
    let commit = try Limits.commit("\(stage.path)/commit.sqlite")
    let patch = try await patch(stage, &sample)
    let page = try await Limits.roundTrip(count: 20) { _ in _ = try await stage.page(0, limit: 1) }
    await stage.end()
    let bare = Self.settle + commit + patch + page
    var limits = [Limit(name: "settle of 50 ms + commit + PATCH + GET", value: bare)]
    if let pullEvery {
      let name = "the same and half of pullEvery \(pullEvery.text) s"
      limits.insert(Limit(name: name, value: bare + pullEvery.seconds / 2), at: 0)
    }
    return Measurement(
      workload: "edit-replica", size: edits,
      what: "one edit → the other replica's file, " + (pullEvery.map { "pullEvery \($0.text), not live" } ?? "live"),
      unit: .seconds, values: values, limits: limits)
  }

  /// The files of a workspace with their rows.
  private func files(_ workspace: String) throws -> [(path: String, row: JSONObject)] {
    try Files.names("\(workspace)/tasks").compactMap { name in
      let path = "\(workspace)/tasks/\(name)"
      return try JSONValue(parsing: Files.text(path)).objectValue.map { (path, $0) }
    }
  }

  private func patch(_ stage: Stage, _ sample: inout SampleTasks) async throws -> Double {
    let ids = stage.seeded.prefix(20).compactMap { $0["id"]?.stringValue }
    let notes = ids.map { _ in sample.notes() }
    return try await Limits.roundTrip(count: ids.count) { try await stage.change(ids[$0], notes: notes[$0]) }
  }

  // MARK: Many at once

  /// - Parameter latency: How many seconds the server holds back every answer.
  func drop(_ count: Int, latency: Double = 0) async throws -> [Measurement] {
    let milliseconds = Int(latency * 1_000)
    let stage = try await stage(misbehaviour: latency > 0 ? "latency milliseconds=\(milliseconds)" : nil)
    let workspace = try stage.workspace("a")
    let watcher = try stage.watch(workspace)
    var sample = SampleTasks(seed: seed &+ 3)
    let texts = (0..<count).map { _ in sample.newFile() }
    stage.idle(.milliseconds(500))
    let start = ContinuousClock.now
    for (index, text) in texts.enumerated() { try Files.write("\(workspace)/tasks/new-\(index).json", text) }
    var rows = 0
    while rows < count {
      guard ContinuousClock.now - start < .seconds(600) else {
        throw watcher.failure("waited in vain for \(count) rows; there are \(rows)")
      }
      stage.idle(.milliseconds(20))
      rows = try await stage.rowCount()
    }
    let seconds = (ContinuousClock.now - start).seconds
    try stage.stop(watcher)
    let commit = try Limits.commit("\(stage.path)/commit.sqlite")
    let inserts = (0..<(latency > 0 ? 10 : 100)).map { _ in sample.row() }
    let post = try await Limits.roundTrip(count: inserts.count) { try await stage.insert(inserts[$0]) }
    let renames = try Limits.renames(of: "\(workspace)/tasks", into: "\(stage.path)/renames")
    await stage.end()
    let number = Double(count)
    return [
      Measurement(
        workload: latency > 0 ? "drop-slow" : "drop", size: count,
        what: "new files → all rows on the server" + (latency > 0 ? ", \(milliseconds) ms away" : ""), unit: .seconds,
        values: [seconds],
        limits: (latency > 0
          ? [Limit(name: "as many POSTs of 60 rows, one after another", value: (number / 60).rounded(.up) * post)] : [])
          + [
            Limit(name: "as many POSTs, one after another", value: number * post),
            Limit(name: "as many SQLite commits, synchronous=FULL", value: number * commit),
            Limit(name: "as many files by temporary name and rename", value: renames),
          ])
    ]
  }

  private func filledWorkspace(_ count: Int) async throws -> (stage: Stage, workspace: String, seconds: Double) {
    if let known = filled[count] { return known }
    let stage = try await stage()
    try await stage.seed(count, seed: seed &+ 4)
    let workspace = try stage.workspace("b")
    sync()
    let seconds = try stage.run(["-C", workspace, "sync"])
    let names = try Files.names("\(workspace)/tasks").count
    guard names == count else {
      throw ChildProcess.Failure(description: "the first sync made \(names) files of \(count) rows")
    }
    filled[count] = (stage, workspace, seconds)
    return (stage, workspace, seconds)
  }

  func firstSync(_ count: Int) async throws -> [Measurement] {
    let (stage, workspace, seconds) = try await filledWorkspace(count)
    let source = "\(workspace)/tasks"
    sync()
    let renames = try Limits.renames(of: source, into: "\(stage.path)/renames")
    sync()
    let durable = try Limits.renames(of: source, into: "\(stage.path)/durable", isDurable: true)
    sync()
    let tar = try Limits.extraction(of: source, into: "\(stage.path)/tar")
    let pages = try await Limits.timedRequests {
      for offset in stride(from: 0, to: count, by: 1_000) { _ = try await stage.page(offset, limit: 1_000) }
    }
    return [
      Measurement(
        workload: "first-sync", size: count, what: "first sync into an empty folder", unit: .seconds,
        values: [seconds],
        limits: [
          Limit(name: "the same files by temporary name and rename", value: renames),
          Limit(name: "the same with one syncfs before the renames", value: durable),
          Limit(name: "tar extracts the same files", value: tar),
          Limit(name: "the rows in pages of 1,000 over HTTP", value: pages),
        ])
    ]
  }

  func unchanged(_ count: Int) async throws -> [Measurement] {
    let (stage, workspace, _) = try await filledWorkspace(count)
    // The first run after a write looks closer at files that are younger than the clock is exact.
    try stage.run(["-C", workspace, "sync"])
    var values: [Double] = []
    var listings: [Double] = []
    for _ in 0..<5 {
      values.append(try stage.run(["-C", workspace, "sync"]))
      listings.append(try Limits.listing(of: workspace))
    }
    let start = try stage.run(["version"])
    return [
      Measurement(
        workload: "unchanged", size: count, what: "sync with nothing changed", unit: .seconds, values: values,
        limits: [
          Limit(name: "find -printf over the same tree", value: Measurement.quantile(listings, 0.5)),
          Limit(name: "'tidemark version': starting the program", value: start),
        ])
    ]
  }

  // MARK: Memory

  /// How long a watcher is looked at while nothing happens.
  private static let quiet = Duration.seconds(10)

  func memory(_ count: Int) async throws -> [Measurement] {
    let (stage, workspace, _) = try await filledWorkspace(count)
    let empty = try await self.stage()
    let idler = try empty.watch(try empty.workspace("a"))
    empty.idle(.seconds(3))
    let bare = try idler.memory("VmRSS")
    await empty.end()
    let watcher = try stage.watch(workspace)
    stage.idle(.seconds(3))
    let time = try watcher.processorTime()
    stage.idle(Self.quiet)
    let used = (try watcher.processorTime() - time) / Self.quiet.seconds
    let idle = try watcher.memory("VmRSS")
    var sample = SampleTasks(seed: seed &+ 5)
    let posts = stage.answered("POST")
    for index in 0..<(count / 10) { try Files.write("\(workspace)/tasks/peak-\(index).json", sample.newFile()) }
    try stage.wait(for: "a first new row", within: .seconds(120)) { stage.answered("POST") > posts }
    let goal = count + count / 10
    var rows = 0
    while rows < goal {
      guard watcher.status == nil else { throw watcher.failure("the watcher ended") }
      stage.idle(.milliseconds(100))
      rows = try await stage.rowCount()
    }
    stage.idle(.seconds(3))
    let peak = try watcher.memory("VmHWM")
    let after = try watcher.memory("VmRSS")
    try stage.stop(watcher)
    let limits = [Limit(name: "a watcher over an empty folder", value: bare)]
    return [
      Measurement(
        workload: "memory idle", size: count, what: "watch, nothing happening: resident memory", unit: .bytes,
        values: [idle], limits: limits),
      Measurement(
        workload: "memory after", size: count, what: "watch, 3 s after a tenth more files: resident memory",
        unit: .bytes, values: [after], limits: limits),
      Measurement(
        workload: "memory peak", size: count, what: "watch, peak while a tenth more files were dropped", unit: .bytes,
        values: [peak], limits: limits),
      Measurement(
        workload: "idle processor", size: count, what: "watch, nothing happening: processor time a second",
        unit: .seconds, values: [used], limits: [Limit(name: "one second of one core", value: 1)]),
    ]
  }
}
