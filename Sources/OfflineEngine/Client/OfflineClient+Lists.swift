import LosslessJSON

extension OfflineClient {
  // MARK: The queue

  /// The current user's queued writes, in the order they will be sent.
  public func pendingMutationList(table: String? = nil) throws -> [PendingMutation] {
    try reading { try $0.pendingMutations(table: table) }
  }

  /// How many writes of the current user wait, for one table or for all.
  public func pendingMutationCount(table: String? = nil) throws -> Int {
    try reading { transaction in
      if let table { try transaction.queuedCount(table) } else { try transaction.counts().queued }
    }
  }

  /// Removes a queued write unsent: it is lost, and its rows show again as the server last sent them.
  ///
  /// Waits for a send of the write in flight. The writes behind it are sent.
  ///
  /// - Throws: `OfflineError.noSuchEntry` when the current user has no such write in the queue (any more).
  public func discardPendingMutation(id: Int64) async throws {
    let engine = engine
    try await engine.wireLock.withLock { () async throws(OfflineError) in
      try changing(engine) { try $0.discardPendingMutation(id) }
    }
    scheduler.trigger(.queueNeedsSending)
  }

  // MARK: Refused and parked writes

  /// The current user's refused writes, oldest first.
  public func rejectedMutationList() throws -> [RejectedMutation] { try reading { try $0.rejectedMutations() } }

  /// Queues a refused write again, and sends it.
  ///
  /// - Throws: `OfflineError.noSuchEntry`; `.cannotResolve` when the entry's body was too large to keep.
  public func retryRejectedMutation(id: Int64) throws {
    _ = try changing(engine) { try $0.retryRejectedMutation(id) }
    scheduler.trigger(.queueNeedsSending)
  }

  /// Drops a refused write for good.
  public func dismissRejectedMutation(id: Int64) throws { try changing(engine) { try $0.dismissRejectedMutation(id) } }

  /// The current user's parked writes, oldest first.
  public func conflictedMutationList() throws -> [ConflictedMutation] { try reading { try $0.conflictedMutations() } }

  /// Settles a parked write: `keepLocal` and `apply` queue it again against the server's version that the entry saw,
  /// `keepServer` drops it and shows the server's side.
  ///
  /// - Throws: `OfflineError.noSuchEntry`; `.cannotResolve` for what cannot apply to the entry.
  public func resolveConflictedMutation(id: Int64, resolution: ConflictResolution) throws {
    let configuration = configuration
    try changing(engine) { transaction in
      guard let entry = try transaction.conflictedMutation(id) else { throw OfflineError.noSuchEntry(id: id) }
      try transaction.resolveConflictedMutation(id, resolution)
      guard resolution == .keepServer else { return }
      let table = configuration.description(of: entry.table)
      if entry.write.isPinned, entry.server == nil { try transaction.show(nil, of: entry.write.key, table) }
      try transaction.markListsStale(entry.table, schema: configuration.schema)
    }
    scheduler.trigger(.queueNeedsSending)
  }

  /// Drops a parked write: the server's row stands.
  public func dismissConflictedMutation(id: Int64) throws {
    try changing(engine) { try $0.dismissConflictedMutation(id) }
  }

  // MARK: Following

  /// The queued writes as the queue changes, the first at once; a slow reader gets the newest.
  public func pendingMutations(table: String? = nil) -> PendingMutationSequence {
    follow { try $0.pendingMutations(table: table) }
  }

  /// How many writes wait as the queue changes, the first at once.
  public func pendingMutationCountSequence(table: String? = nil) -> PendingMutationCountSequence {
    follow { transaction in
      if let table { try transaction.queuedCount(table) } else { try transaction.counts().queued }
    }
  }

  /// The refused writes as the list changes, the first at once.
  public func rejectedMutations() -> RejectedMutationSequence { follow { try $0.rejectedMutations() } }

  /// The parked writes as the list changes, the first at once.
  public func conflictedMutations() -> ConflictedMutationSequence { follow { try $0.conflictedMutations() } }

  /// The status as it changes, the first at once.
  public func syncStatuses() -> SyncStatusSequence {
    FollowedSequence(signal: store.changes) { [self] in syncStatus }
  }

  private func follow<T: Sendable & Equatable>(
    _ look: @escaping @Sendable (EngineTransaction) throws -> T
  ) -> FollowedSequence<T> {
    FollowedSequence(signal: store.changes) { [self] in try? store.read(user: currentUser, look) }
  }

  // MARK: The state

  func reading<T: Sendable>(_ body: (EngineTransaction) throws -> T) throws(OfflineError) -> T {
    do { return try store.read(user: currentUser, body) } catch { throw OfflineError(storing: error) }
  }

  func changing<T: Sendable>(_ engine: UserEngine, _ body: (EngineTransaction) throws -> T) throws(OfflineError) -> T {
    try checkOpen()
    do { return try engine.transaction(body) } catch { throw OfflineError(storing: error) }
  }
}

/// The queued writes as the queue changes.
public typealias PendingMutationSequence = FollowedSequence<[PendingMutation]>
/// The number of queued writes as the queue changes.
public typealias PendingMutationCountSequence = FollowedSequence<Int>
/// The refused writes as the list changes.
public typealias RejectedMutationSequence = FollowedSequence<[RejectedMutation]>
/// The parked writes as the list changes.
public typealias ConflictedMutationSequence = FollowedSequence<[ConflictedMutation]>
/// The status as it changes.
public typealias SyncStatusSequence = FollowedSequence<SyncStatus>
