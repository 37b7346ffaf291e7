import LosslessJSON
import SupabaseAPI

extension OfflineClient {
  /// Sends the user's queued writes in the order they were made, and says what became of each (spec 4).
  ///
  /// Stops at the first failure that may pass, so that no write overtakes an earlier one. Calls run one after another.
  /// Never throws: the report and `syncStatus.lastSyncError` say why a pass stopped.
  public func syncPendingMutations() async -> SyncReport {
    await passLock.withLock {
      updateStatus { $0.isSyncing = true }
      var pass = ReplayPass(client: self)
      await pass.run()
      let report = pass.report
      updateStatus { status in
        status.isSyncing = false
        status.lastSyncError = report.stoppedBy
      }
      return report
    }
  }
}

/// One pass over the queue.
struct ReplayPass {
  let client: OfflineClient
  var report = SyncReport()
  /// The token under which the server has just shown a row of this user.
  var provenToken: Secret?

  init(client: OfflineClient) { self.client = client }

  mutating func run() async {
    do {
      try await sendAll()
    } catch {
      report.stoppedBy = error
    }
    report.remaining = (try? client.read { try $0.counts().queued }) ?? 0
  }

  private mutating func sendAll() async throws(SyncFailure) {
    var last: Int64 = 0
    while let mutation = try next(after: last) {
      if Task.isCancelled { throw .cancelled }
      last = mutation.id
      let table = try client.description(of: mutation.write.table)
      switch (mutation.write.operation, mutation.write.base) {
      case (.insert, _): try await replayInsert(mutation, table)
      case (_, nil): try await replayUnguarded(mutation, table)
      case (_, let base?): try await replayGuarded(mutation, base, table)
      }
    }
  }

  private func next(after id: Int64) throws(SyncFailure) -> PendingMutation? {
    do { return try client.read { try $0.nextPending(after: id) } } catch { throw .local(reason: "\(error)") }
  }

  // MARK: Sending

  /// What a write's request came to.
  enum Answer {
    case rows([JSONObject])
    case refused(RefusalDetails)
  }

  /// Sends one write's request, on record before it leaves: a process that dies here finds a write in doubt.
  mutating func send(_ request: TableRequest, for mutation: PendingMutation) async throws(SyncFailure) -> Answer {
    try client.commit { try $0.markSent(mutation.id) }
    do throws(RequestFailure) {
      let (answer, token) = try await client.send(request, table: mutation.write.table)
      if !answer.rows.isEmpty { provenToken = token }
      return .rows(answer.rows)
    } catch {
      if let refusal = error.refusal { return .refused(refusal) }
      if !error.mayHaveReachedServer { try client.commit { try $0.markUnsent(mutation.id) } }
      throw error.reason
    }
  }

  /// Reads a row by its key; `nil` when there is none, which is proven to be the user's own view.
  mutating func readByKey(_ key: RowKey, _ table: TableDescription, also columns: [String] = [])
    async throws(SyncFailure)
    -> JSONObject?
  {
    let request = TableRequest.select(
      table.name, columns: distinct(table.readColumns + columns), filters: table.filters(for: key), limit: 1)
    do throws(RequestFailure) {
      let (answer, token) = try await client.send(request, table: table.name)
      if let row = answer.rows.first {
        provenToken = token
        return row
      }
      try await proveView(token, besides: key, table)
      return nil
    } catch {
      throw error.reason
    }
  }

  /// Makes sure that an empty answer was given to this user: with a missing or anonymous token the server answers 200
  /// and no rows, which would read as "gone" (DESIGN section 5).
  private mutating func proveView(_ token: Secret, besides key: RowKey, _ table: TableDescription)
    async throws(RequestFailure)
  {
    guard provenToken != token else { return }
    if await client.isViewProven(token, besides: key, table) {
      provenToken = token
    } else {
      throw RequestFailure(.unproven(table: table.name))
    }
  }

  // MARK: Inserts

  private mutating func replayInsert(_ mutation: PendingMutation, _ table: TableDescription) async throws(SyncFailure) {
    let write = mutation.write
    // A send that may have arrived is repeated so that it cannot make a second row or fail on its own first one.
    let returning = distinct(table.readColumns + write.values.names)
    let request =
      mutation.sendCount == 0
      ? TableRequest.insert(table.name, row: write.values, returning: returning)
      : .upsert(
        table.name, rows: [write.values], onConflict: table.keyColumns, ignoreDuplicates: true, returning: returning)
    switch try await send(request, for: mutation) {
    case .rows(let rows):
      if let row = rows.first {
        try finish(mutation, table, answer: row, guardedWith: nil, wholeRowBefore: [:])
        return
      }
      guard let row = try await readByKey(write.key, table, also: write.values.names) else {
        try reject(
          mutation, nil,
          "the server has a row under this key that this user may not see, or its policies hide the new row")
        return
      }
      try await settleExisting(mutation, table, row)
    case .refused(let details):
      if details.code == "23505", let row = try await readByKey(write.key, table, also: write.values.names) {
        try await settleExisting(mutation, table, row)
      } else {
        try reject(mutation, details, details.message)
      }
    }
  }

  /// An insert found its key taken: by its own earlier send, or by a row with other values.
  private mutating func settleExisting(_ mutation: PendingMutation, _ table: TableDescription, _ row: JSONObject)
    async throws(SyncFailure)
  {
    let comparison = ConflictComparison(local: mutation.write.values, base: nil, server: row)
    if comparison.isAlreadyThere {
      report.alreadyOnServer += 1
      try finish(mutation, table, answer: row, guardedWith: nil, wholeRowBefore: row)
      return
    }
    var update = mutation
    update.write.operation = .update
    for column in table.keyColumns { update.write.values[column] = nil }
    try await replayConflict(
      update, table, base: WriteBase(values: [:], version: table.version(of: row)), server: row, comparison, sends: 0)
  }

  // MARK: Unguarded writes

  private mutating func replayUnguarded(_ mutation: PendingMutation, _ table: TableDescription)
    async throws(SyncFailure)
  {
    switch try await send(table.request(for: mutation.write, guardedWith: nil), for: mutation) {
    case .rows(let rows):
      try finish(mutation, table, answer: rows.first, guardedWith: nil, wholeRowBefore: nil)
    case .refused(let details):
      try reject(mutation, details, details.message)
    }
  }

  // MARK: Endings

  mutating func reject(_ mutation: PendingMutation, _ details: RefusalDetails?, _ message: String) throws(SyncFailure) {
    let entry = try client.commit { transaction -> RejectedMutation? in
      try transaction.reject(mutation, details, message: message)
      return try transaction.entry(mutation.id, list: .rejected).map(transaction.rejectedMutation)
    }
    if let entry { report.rejected.append(entry) }
  }

  /// Records that the server has the write: it leaves the queue, its row goes into the cache, its version forwards.
  ///
  /// - Parameters:
  ///   - answer: The columns the server returned; `nil` when it returned none.
  ///   - version: The version the write was guarded with.
  ///   - wholeRowBefore: The row as read by key just before a resend; `nil` when the first send was taken, `[:]` for a
  ///     new row.
  mutating func finish(
    _ mutation: PendingMutation, _ table: TableDescription, answer: JSONObject?, guardedWith version: String?,
    wholeRowBefore: JSONObject?
  ) throws(SyncFailure) {
    let write = mutation.write
    try client.commit { transaction in
      try transaction.remove(mutation.id)
      if write.operation == .delete {
        try transaction.setGone(table.name, write.key)
        return
      }
      guard let answer else {
        try transaction.setStale(table.name, write.key)
        return
      }
      if let wholeRowBefore, !wholeRowBefore.isEmpty {
        try transaction.setCachedRow(table, write.key, wholeRowBefore.merging(answer))
      } else {
        try transaction.mergeAnswer(table, write.key, answer, guardedWith: version)
      }
      try transaction.forward(
        mutation, table, answer: answer, guardedWith: version,
        rowRead: write.operation == .insert ? nil : wholeRowBefore)
    }
    report.synced += 1
  }
}

extension OfflineClient {
  /// Whether the server has just shown this token a row it is known to see, or the Auth server vouches for it.
  func isViewProven(_ token: Secret, besides key: RowKey, _ table: TableDescription) async -> Bool {
    let known = try? read { try $0.anyVisibleRow(table, besides: key) }
    if let known = known.flatMap(\.self) {
      let request = TableRequest.select(
        table.name, columns: table.keyColumns, filters: table.filters(for: known), limit: 1)
      if let answer = try? await tables.send(request, accessToken: token), !answer.rows.isEmpty { return true }
    }
    return await sessions.isTokenProven(token)
  }
}

extension TableDescription {
  /// The filters that pin one row.
  func filters(for key: RowKey) -> [Filter] {
    zip(keyColumns, key.values).map { Filter.eq($0, $1) }
  }

  /// The request of an update or delete, guarded by a version where one is given.
  func request(for write: Write, guardedWith version: String?) -> TableRequest {
    var filters = filters(for: write.key)
    if let versionColumn, let version { filters.append(.eq(versionColumn, .string(version))) }
    if write.operation == .delete { return .delete(name, filters: filters, returning: identityColumns) }
    return .update(
      name, set: write.values, filters: filters, returning: distinct(identityColumns + write.values.names))
  }
}
