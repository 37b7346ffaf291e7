import FileWorkspace
import LosslessJSON
import OfflineEngine

/// What one whole sync came to.
public struct SyncOutcome: Sendable {
  /// What the passes did.
  public var replay = SyncReport()
  /// What was done to files.
  public var files = WorkspaceReport()
  /// What waits afterwards.
  public var summary: WorkspaceSummary
  /// Why it did not reach its end, if so.
  public var failure: SyncFailure?

  /// The counts, as `tidemark sync --json` prints them.
  public var json: JSONObject {
    let counts: [(String, Int)] = [
      ("synced", replay.synced), ("rejected", replay.rejected.count), ("remaining", summary.counts.queued),
      ("alreadyOnServer", replay.alreadyOnServer), ("heldBehindOtherTables", replay.heldBehindOtherTables),
      ("conflictsResolved", replay.conflictsResolved), ("conflictsKeptServer", replay.conflictsKeptServer),
      ("conflicted", replay.conflicted.count), ("filesWritten", files.filesWritten),
      ("filesRemoved", files.filesRemoved), ("problems", summary.problems.count), ("held", summary.held),
    ]
    return JSONObject(counts.map { (name: $0.0, value: .integer(Int64($0.1))) })
  }
}

/// What talking to the server came to, and what of that stands in files.
struct ExchangeOutcome {
  var replay: SyncReport
  /// Why the server was not heard to the end.
  var failure: SyncFailure?
  /// What the writing of files came to, or what kept it from going on.
  var files: Result<WorkspaceReport, any Error>
}

extension SyncReport {
  /// Adds what another pass did.
  mutating func add(_ other: SyncReport) {
    synced += other.synced
    rejected += other.rejected
    remaining = other.remaining
    alreadyOnServer += other.alreadyOnServer
    heldBehindOtherTables = other.heldBehindOtherTables
    conflictsResolved += other.conflictsResolved
    conflictsKeptServer += other.conflictsKeptServer
    conflicted += other.conflicted
    stoppedBy = other.stoppedBy ?? stoppedBy
  }
}

extension OpenWorkspace {
  /// One whole pass: scan, queue, replay, pull, write back.
  ///
  /// Files that are gone are looked for again after two seconds and then deleted on the server: a single run has no later.
  ///
  /// - Parameters:
  ///   - isConfirmed: Whether a person has said that what is missing in large numbers is really gone.
  ///   - isWatching: Whether a watcher goes on when this is over.
  public func sync(isConfirmed: Bool = false, isWatching: Bool = false) async throws -> SyncOutcome {
    var files = WorkspaceReport()
    func take(_ report: WorkspaceReport) {
      record(report.events)
      files.add(report)
    }
    await workspace.beginSync()
    take(try await workspace.start())
    take(isConfirmed ? try await workspace.confirm() : try await workspace.scan())
    try await readPhotos(take)
    let first = await exchange(isConfirmed: isConfirmed)
    var (replay, failure) = (first.replay, first.failure)
    take(try first.files.get())
    if try await workspace.hasOpenAbsences() {
      try await environment.clock.sleep(for: Workspace.absenceProof)
      take(try await workspace.scan(deleteAfter: .zero))
      take(try await workspace.writeRows())
    }
    take(try await workspace.tick(isLast: !isWatching))
    func exchangeAgain() async throws {
      let another = await exchange(isConfirmed: false)
      replay.add(another.replay)
      failure = another.failure
      take(try another.files.get())
    }
    func isSomethingQueued() throws -> Bool { try client.read { try $0.counts().queued > 0 } }
    if failure == nil, try isSomethingQueued() { try await exchangeAgain() }
    while failure == nil {
      let run = try await PhotoTransfers(workspace).run(isOnline: true)
      take(run.report)
      failure = run.failure
      // What was sent is to stand in its row, and what the rows say then may be more to do.
      guard failure == nil, run.report.queued > 0 else { break }
      try await exchangeAgain()
    }
    // A watcher goes on with the photos beside this, and may have filed the row of one meanwhile.
    if isWatching, failure == nil, try isSomethingQueued() { try await exchangeAgain() }
    take(isWatching ? try await workspace.tellProblems() : try await workspace.writeProblemNotes(isAtOnce: true))
    record(LogEntry.events(sent: replay.synced, failure: failure))
    try await workspace.seeWrittenFiles()
    if failure == nil { client.noteSynced() }
    try remember(client.syncStatus)
    return SyncOutcome(replay: replay, files: files, summary: try await workspace.summary(), failure: failure)
  }

  /// Reads the photos that are new or have changed, those too that were left alone only a moment ago.
  private func readPhotos(_ take: (WorkspaceReport) -> Void) async throws {
    let clock = environment.clock
    var patience = Self.photoPatience
    while true {
      take(try await PhotoTransfers(workspace).run(isOnline: false).report)
      guard let due = try await workspace.nextPhotoReadDue(), patience > .zero else { return }
      let pause = max(.milliseconds(20), due - clock.now())
      try await clock.sleep(for: pause)
      patience -= pause
      take(try await workspace.look(at: []))
    }
  }

  /// How long a single run waits for photos that somebody still writes to, besides the time that reading others takes.
  private static let photoPatience = Duration.seconds(5)

  /// Sends what waits, reads what changed, and writes that into files: of many rows the first while the others are on
  /// their way.
  ///
  /// - Parameter reads: Whether the server is asked what changed, too.
  func exchange(isConfirmed: Bool, reads: Bool = true) async -> ExchangeOutcome {
    let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    async let written = writeRows(as: arrivals)
    let (replay, failure) = await sendAndRead(isConfirmed: isConfirmed, reads: reads) { arrival.yield() }
    arrival.finish()
    return ExchangeOutcome(replay: replay, failure: failure, files: await written)
  }

  /// Writes rows into files each time that some have come, and once more when no more will.
  private func writeRows(as arrivals: AsyncStream<Void>) async -> Result<WorkspaceReport, any Error> {
    do {
      var report = WorkspaceReport()
      for await _ in arrivals { report.add(try await workspace.writeRows()) }
      report.add(try await workspace.writeRows())
      return .success(report)
    } catch {
      return .failure(error)
    }
  }

  private func sendAndRead(
    isConfirmed: Bool, reads: Bool, hasChanged: @escaping @Sendable () -> Void
  ) async -> (SyncReport, SyncFailure?) {
    let replay = await client.syncPendingMutations { [self] in record([workspace.event(of: $0)]) }
    if let failure = replay.stoppedBy { return (replay, failure) }
    for table in reads ? settings.tables : [] {
      do throws(SyncFailure) {
        _ = try await client.pull(table, isConfirmed: isConfirmed, hasChanged: hasChanged)
      } catch {
        return (replay, error)
      }
    }
    return (replay, nil)
  }
}
