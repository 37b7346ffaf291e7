import FileWorkspace
import OfflineEngine

extension WatchRun {
  /// For how long the rows of photos that follow each other are gathered, so that some are sent together.
  private static let rowsTogether = Duration.milliseconds(250)

  /// Reads, sends and fetches photos as they come, beside everything else.
  func photos() async throws {
    let (transfers, clock) = (PhotoTransfers(open.workspace), open.environment.clock)
    var lastFailure: String?
    while !watchIsOver {
      if let rest = open.watchState.rest(at: clock.now()) {
        await photoWake.wait(upTo: max(rest, .seconds(1)), clock: clock)
        continue
      }
      var run = PhotoRun()
      var due: WallTime?
      let isOnline = open.client.syncStatus.network != .disabled
      try await attempt {
        run = try await transfers.run(isOnline: isOnline) { self.book($0, sendingBy: self.photoRowsWake) }
        if run.report.queued > 0 { networkWake.ring() }
        due = try await open.workspace.nextPhotoDue()
        return WorkspaceReport()
      }
      let text = run.failure.map { "\($0)" }
      if let text, text != lastFailure, !watchIsOver { say(WorkspaceEvent(.note, "", "photos wait: \(text)")) }
      lastFailure = text
      let pause = photoPlan.withLock { $0.pause(after: run.failure, at: clock.elapsed()) }
      // After a failure neither an edit nor a drop mends what stands between here and the server.
      let rests = [run.failure.map { _ in pause.length }, due.map { max(.milliseconds(20), $0 - clock.now()) }]
      await photoWake.wait(upTo: rests.compactMap(\.self).min(), clock: clock)
    }
  }

  /// Has the rows of photos sent that are queued while others are on their way: the first at once, then some together.
  func sendPhotoRows() async {
    let clock = open.environment.clock
    while !watchIsOver {
      await photoRowsWake.wait(upTo: nil, clock: clock)
      networkWake.ring()
      await endWake.wait(upTo: Self.rowsTogether, clock: clock)
    }
  }
}
