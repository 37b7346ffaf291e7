import SupabaseAPI

extension OfflineClient {
  /// How long a pass waits for the session to settle (spec 4, "Order and the session").
  static let sessionWait = Duration.seconds(10)

  /// Sends the current user's queued writes now, in the order they were made, and says what happened.
  ///
  /// A call that meets a running pass waits for it, then sends what is left. It returns promptly offline.
  ///
  /// - Parameter table: Only this table's writes are sent, and none of them ahead of an earlier write to another.
  /// - Throws: Only `OfflineError.closed`; `syncStatus.lastSyncError` says why a pass stopped.
  @discardableResult
  public func syncPendingMutations(table: String? = nil) async throws -> SyncReport {
    try checkOpen()
    scheduler.noteManualPass()
    return await pass(table)
  }

  private func pass(_ table: String?) async -> SyncReport {
    guard network.isEnabled else { return unsent(.networkDisabled) }
    let session = network.isKnownOffline ? auth.state : await auth.settled(waitingAtMost: Self.sessionWait)
    guard session.isSettled else {
      return unsent(
        .session(.cannotRefresh(reason: "the stored session is still being restored", isConnectivity: false)))
    }
    let engine = engine(of: session.user ?? "")
    store.changes.ring()
    let report = await engine.syncPendingMutations(table)
    note(report)
    return report
  }

  private func unsent(_ failure: SyncFailure) -> SyncReport {
    var report = SyncReport()
    report.remaining = syncStatus.pendingMutationCount
    if report.remaining > 0 { report.stoppedBy = failure }
    note(report)
    return report
  }

  /// One pass of the library's own.
  func automaticPass() async -> PassEnd {
    let report = await pass(nil)
    switch report.stoppedBy {
    case .cancelled?, nil:
      return report.remaining == 0 && report.synced == 0 && report.rejected.isEmpty
        ? .nothingToSend : .finished(writesWait: report.remaining > 0)
    case .networkDisabled?: return .nothingToSend  // The switch itself calls for the next pass.
    case .unavailable(_, let retryAfter)?: return .stopped(retryAfter: retryAfter, isConnectivity: false)
    case let failure?: return .stopped(retryAfter: nil, isConnectivity: failure.isConnectivity)
    }
  }
}
