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
    var (replay, failure) = await exchange(isConfirmed: isConfirmed)
    take(try await workspace.writeRows())
    if try await workspace.hasOpenAbsences() {
      try await environment.clock.sleep(for: Workspace.absenceProof)
      take(try await workspace.scan(deleteAfter: .zero))
      take(try await workspace.writeRows())
    }
    take(try await workspace.tick())
    if failure == nil, try client.read({ try $0.counts().queued }) > 0 {
      let (second, secondFailure) = await exchange(isConfirmed: false)
      replay.add(second)
      failure = secondFailure
      take(try await workspace.writeRows())
    }
    if !isWatching { take(try await workspace.writeProblemNotes(isAtOnce: true)) }
    record(LogEntry.events(sent: replay.synced, failure: failure))
    try await workspace.seeWrittenFiles()
    if failure == nil { client.noteSynced() }
    try remember(client.syncStatus)
    return SyncOutcome(replay: replay, files: files, summary: try await workspace.summary(), failure: failure)
  }

  /// Sends what waits, then reads what changed.
  func exchange(isConfirmed: Bool) async -> (SyncReport, SyncFailure?) {
    let replay = await client.syncPendingMutations()
    if let failure = replay.stoppedBy { return (replay, failure) }
    for collection in settings.collections {
      do throws(SyncFailure) {
        _ = try await client.pull(collection.table, isConfirmed: isConfirmed)
      } catch {
        return (replay, error)
      }
    }
    return (replay, nil)
  }
}
