import LosslessJSON
import SupabaseAPI

extension OfflineClient {
  /// Makes a write that was built (spec 1, "What a write returns").
  ///
  /// - Returns: The rows that came back: a list, or the one row that was asked for.
  func execute(_ builder: WriteBuilder) async throws -> MutationOutcome<OfflineJSON> {
    try checkOpen()
    try Task.checkCancellation()
    let clearings = clearings
    let (rows, isList) = try builder.rows()
    let isDefault = builder.schema == configuration.schema
    let description = configuration.description(
      of: isDefault ? builder.table : "\(builder.schema).\(builder.table)")
    let write = builder.write(rows, isList: isList, description)
    let request = builder.request(for: write)
    guard builder.strategy == .queueIfOffline else {
      guard network.isEnabled else { throw OfflineError.networkDisabled }
      return .applied(result: try await sendOnly(request, auth.state).response(isSingle: builder.isSingle))
    }
    if let kind = builder.unqueueableKind(defaultSchema: configuration.schema) ?? userlessKind {
      return .applied(
        result: try await sendUnqueued(write, request, description, kind).response(isSingle: builder.isSingle))
    }
    let recorded: Recorded?
    do {
      recorded = try record(write, description, clearings)
    } catch {
      throw OfflineError(storing: error)
    }
    guard let recorded else {
      return .applied(
        result: try await sendUnqueued(write, request, description, .localDataCleared)
          .response(isSingle: builder.isSingle))
    }
    guard network.isEnabled else { return .queued(pendingMutation: recorded.mutation) }
    guard recorded.isHead, auth.state.isSettled else {
      scheduler.trigger(.queueNeedsSending)
      return .queued(pendingMutation: recorded.mutation)
    }
    return try await sendAtOnce(recorded, request, description, builder)
  }

  /// A session that does not say whose it is cannot be sent for later.
  private var userlessKind: UnqueueableWrite? { auth.state == .signedIn(user: nil) ? .noUser : nil }

  // MARK: Straight to the server

  private func sendOnly(_ request: TableRequest, _ session: SessionState) async throws -> TableAnswer {
    try await withToken(session) { token throws(SupabaseError) in try await tables.send(request, accessToken: token) }
  }

  /// Sends a write that the queue cannot hold; a success still updates the cache.
  private func sendUnqueued(
    _ write: Write, _ request: TableRequest, _ description: TableDescription, _ kind: UnqueueableWrite
  ) async throws -> TableAnswer {
    // Who makes it is who sees it, whoever is signed in when the answer comes.
    let session = auth.state
    let engine = engine(of: session.user ?? "")
    let answer: TableAnswer
    do {
      guard network.isEnabled else { throw OfflineError.networkDisabled }
      answer = try await sendOnly(request, session)
    } catch let error as OfflineError where error.isConnectivity {
      throw OfflineError.mutationNotQueueable(kind, cause: error)
    }
    if kind == .dryRun {
      if answer.appliedPreferences.contains("tx=rollback") { return answer }
      warnOfDryRun(write.table)
    }
    let schema = request.schema
    let isDefault = schema == configuration.schema
    do {
      try engine.transaction { transaction in
        if isDefault {
          try transaction.applyAccepted(write, description, rows: request.returnsRows ? answer.rows : nil)
        } else {
          try transaction.markListsStale(write.table, schema: schema)
        }
      }
    } catch {
      throw OfflineError(storing: error)
    }
    return answer
  }

  // MARK: Through the queue

  /// A write in the queue.
  struct Recorded: Sendable {
    var mutation: PendingMutation
    /// Whether nothing of its user waits ahead of it.
    var isHead: Bool
    var engine: UserEngine
  }

  /// Saves a write with what this device saw of its row; `nil` when the data on this device was cleared meanwhile.
  func record(_ write: Write, _ description: TableDescription, _ clearings: Int) throws -> Recorded? {
    let engine = engine
    return try engine.transaction { transaction -> Recorded? in
      guard self.clearings == clearings else { return nil }
      let isHead = try transaction.counts().queued == 0
      var write = write
      if write.isGuardable(description) {
        write.base = try transaction.cachedBase(description, write.key, columns: write.values.names)
      }
      guard let id = try transaction.enqueue(write),
        let mutation = try transaction.entry(id, list: .queued).map(transaction.pendingMutation)
      else { return nil }
      return Recorded(mutation: mutation, isHead: isHead, engine: engine)
    }
  }

  /// Sends the write at the head of the queue as it was built.
  private func sendAtOnce(
    _ recorded: Recorded, _ request: TableRequest, _ description: TableDescription, _ builder: WriteBuilder
  ) async throws -> MutationOutcome<OfflineJSON> {
    let mutation = recorded.mutation
    let engine = recorded.engine
    let isGuarded = builder.isGuarded && mutation.baseVersion != nil
    let sent: UserEngine.SentAtOnce
    do {
      sent = try await engine.sendAtOnce(mutation, request, description, isGuarded: isGuarded)
    } catch {
      throw OfflineError(error)
    }
    switch sent {
    case .accepted(let answer, let remaining):
      noteSentAtOnce(leaving: remaining)
      return .applied(result: answer.response(isSingle: builder.isSingle))
    case .refused(let error, let remaining):
      if remaining > 0 { scheduler.trigger(.queueNeedsSending) }
      throw OfflineError(error)
    case .waits(let needsPass):
      if needsPass { scheduler.trigger(.queueNeedsSending) }
      return .queued(pendingMutation: mutation)
    case .cancelled:
      scheduler.trigger(.queueNeedsSending)
      throw CancellationError()
    }
  }
}

extension Write {
  /// Whether a base can guard the write: it pins one row of a table with a version that it does not name itself.
  func isGuardable(_ table: TableDescription) -> Bool {
    guard let versionColumn = table.versionColumn, isPinned, operation == .update || operation == .delete else {
      return false
    }
    return values[versionColumn] == nil && !(request?.conditions.contains { $0.columnName == versionColumn } ?? false)
  }
}

extension TableAnswer {
  /// The answer as a response: the list of rows, or the one row.
  fileprivate func response(isSingle: Bool) -> OfflineResponse<OfflineJSON> {
    let row = isSingle ? rows.first : nil
    return OfflineResponse(value: row.map { .object($0) } ?? .array(rows.map { .object($0) }), count: total)
  }
}
