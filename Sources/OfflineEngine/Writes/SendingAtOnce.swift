import LosslessJSON
import SupabaseAPI

extension UserEngine {
  /// What became of a write that was sent as soon as it was made.
  enum SentAtOnce: Sendable {
    /// The server has it, and so many writes are left in the queue.
    case accepted(TableAnswer, remaining: Int)
    /// The server refused it, and it left the queue.
    case refused(SupabaseError, remaining: Int)
    /// It stays queued; whether a pass should be asked for, or will come by itself.
    case waits(needsPass: Bool)
    /// The caller was cancelled while it was on the wire: it stays queued, since the server may have it.
    case cancelled
  }

  /// Sends a queued write exactly as it was built, if it still heads the queue (spec 1, "What a write returns").
  func sendAtOnce(
    _ mutation: PendingMutation, _ request: TableRequest, _ table: TableDescription, isGuarded: Bool
  ) async throws(RequestFailure) -> SentAtOnce {
    try await passLock.withLock { () async throws(RequestFailure) in
      try await wireLock.withLock { () async throws(RequestFailure) in
        // A pass that was running, or a discard, may have been faster.
        let isHead = try store { transaction in
          guard try transaction.pending(after: 0, limit: 1).first?.id == mutation.id else { return false }
          try transaction.markSent(mutation.id)
          return true
        }
        guard isHead else { return .waits(needsPass: true) }
        var guarded = request
        if isGuarded, let column = table.versionColumn, let version = mutation.baseVersion {
          guarded.filters.append(.eq(column, .string(version)))
          // No more than a replay asks for: of the other columns the user may not read some.
          if !guarded.returnsRows { guarded.columns = distinct(table.identityColumns + mutation.write.values.names) }
          guarded.returnsRows = true
          guarded.isSingle = false  // Asked for one, the server calls a row that moved a refusal.
        }
        let answer: TableAnswer
        do throws(RequestFailure) {
          answer = try await send(guarded, table: table.name).answer
        } catch {
          return try settle(mutation, error)
        }
        // A guard that let nothing through leaves it to a pass to find out why.
        if isGuarded, answer.rows.isEmpty { return .waits(needsPass: true) }
        do throws(RequestFailure) {
          let remaining = try store { transaction in
            try transaction.finishAtOnce(mutation, table, guarded.returnsRows ? answer.rows : nil, isGuarded: isGuarded)
            return try transaction.counts().queued
          }
          return .accepted(answer, remaining: remaining)
        } catch {
          // The server has it and this device could not write that down: in doubt, it is found there before it is sent.
          return .waits(needsPass: true)
        }
      }
    }
  }

  private func settle(_ mutation: PendingMutation, _ failure: RequestFailure) throws(RequestFailure) -> SentAtOnce {
    guard let error = failure.error, error.isRefusalOfWrite else {
      try store { transaction in
        if !failure.mayHaveReachedServer { try transaction.markUnsent(mutation.id) }
        if case .schemaCache? = failure.error { _ = try transaction.countUnknown(mutation.id) }
      }
      if case .cancelled = failure.reason { return .cancelled }
      // Whatever kept it from being sent may have been the cancellation.
      return Task.isCancelled ? .cancelled : .waits(needsPass: false)
    }
    let remaining = try store { transaction in
      try transaction.remove(mutation.id)
      return try transaction.counts().queued
    }
    return .refused(error, remaining: remaining)
  }

  private func store<T: Sendable>(_ body: (EngineTransaction) throws -> T) throws(RequestFailure) -> T {
    do { return try transaction(body) } catch { throw RequestFailure(.local(reason: "\(error)")) }
  }
}

extension EngineTransaction {
  /// Takes a write that was sent at once out of the queue.
  fileprivate func finishAtOnce(
    _ mutation: PendingMutation, _ table: TableDescription, _ rows: [JSONObject]?, isGuarded: Bool
  ) throws {
    try remove(mutation.id)
    try applyAccepted(mutation.write, table, rows: rows)
    guard mutation.write.isPinned, mutation.write.operation != .delete, let row = rows?.first else { return }
    try forward(mutation, table, answer: row, isGuarded ? .row(version: mutation.baseVersion) : .unguarded)
  }
}

extension SupabaseError {
  /// Whether the answer to a write sent at once decides against it (spec 1, "What a write returns"): only the server's
  /// own word does, and not where that says that the write may not have run.
  fileprivate var isRefusalOfWrite: Bool {
    switch self {
    case .refused, .tokenRefused, .http(.badRequest): true
    case .unavailable(let status, _, let error): error != nil && status != 503 && status != 520
    case .http, .schemaCache, .gatewayRefused, .notAnAnswer, .invalidProject, .invalidSession: false
    }
  }
}
