import LosslessJSON
import SupabaseAPI

extension OfflineClient {
  /// Sends the user's queued writes in the order they were made, and says what became of each (spec 4).
  ///
  /// Stops at the first failure that may pass, so that no write overtakes an earlier one. Calls run one after another.
  /// Never throws: the report and `syncStatus.lastSyncError` say why a pass stopped.
  ///
  /// - Parameter table: Only this table's writes are sent, and none of them ahead of an earlier write to another; `nil`
  ///   for all tables.
  public func syncPendingMutations(_ table: String? = nil) async -> SyncReport {
    await passLock.withLock {
      updateStatus { $0.isSyncing = true }
      var pass = ReplayPass(client: self, onlyTable: table)
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
  /// The one table whose writes are sent; `nil` for all.
  let onlyTable: String?
  var report = SyncReport()
  /// The token under which the server has just shown a row of this user.
  var provenToken: Secret?
  /// Whether the write at hand has left this device in this pass.
  private var hasLeft = false

  init(client: OfflineClient, onlyTable: String?) {
    self.client = client
    self.onlyTable = onlyTable
  }

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
    while let waiting = try next(after: last) {
      if let onlyTable, waiting.write.table != onlyTable {
        report.heldBehindOtherTables = try client.commit { try $0.queuedCount(onlyTable) }
        return
      }
      if Task.isCancelled { throw .cancelled }
      do throws(RequestFailure) { try client.checkMayAsk() } catch { throw error.reason }
      // Read again: the write may have been taken back or folded meanwhile.
      guard let mutation = try claim(waiting.id) else { continue }
      last = mutation.id
      do {
        try await replay(mutation, try client.description(of: mutation.write.table))
      } catch {
        if !hasLeft { try client.commit { try $0.markUnsent(mutation.id) } }
        throw error
      }
    }
  }

  private func next(after id: Int64) throws(SyncFailure) -> PendingMutation? {
    do { return try client.read { try $0.nextPending(after: id) } } catch { throw .local(reason: "\(error)") }
  }

  /// The write, on record as sent before anything of it leaves; `nil` when it is queued no more.
  ///
  /// A process that dies from here on finds a write in doubt, and no later save folds into values that are on their way.
  private mutating func claim(_ id: Int64) throws(SyncFailure) -> PendingMutation? {
    hasLeft = false
    return try client.commit { transaction in
      guard let row = try transaction.entry(id, list: .queued) else { return nil }
      try transaction.markSent(id)
      return try transaction.pendingMutation(row)
    }
  }

  private mutating func replay(_ mutation: PendingMutation, _ table: TableDescription) async throws(SyncFailure) {
    switch (mutation.write.operation, mutation.write.base) {
    case (.insert, _): try await replayInsert(mutation, table)
    case (_, nil): try await replayUnguarded(mutation, table)
    case (_, let base?): try await replayGuarded(mutation, base, table)
    }
  }

  // MARK: Sending

  /// What a write's request came to.
  enum Answer {
    case rows([JSONObject])
    case refused(RefusalDetails)
  }

  /// Sends a claimed write's request.
  mutating func send(_ request: TableRequest, _ table: TableDescription) async throws(SyncFailure) -> Answer {
    do throws(RequestFailure) {
      let (answer, token) = try await client.send(request, table: table.name)
      hasLeft = true
      if !answer.rows.isEmpty { provenToken = token }
      return .rows(answer.rows)
    } catch {
      if let refusal = error.refusal { return .refused(refusal) }
      if error.mayHaveReachedServer { hasLeft = true }
      throw error.reason
    }
  }

  /// Reads a row by its key, with the columns of all the row's queued writes.
  ///
  /// - Returns: `nil` when there is none, which is proven to be the user's own view.
  mutating func readByKey(_ key: RowKey, _ table: TableDescription) async throws(SyncFailure) -> JSONObject? {
    let written = try client.commit { transaction in
      try transaction.mutations(list: .queued, table: table.name, key: key).flatMap(\.write.values.names)
    }
    let request = TableRequest.select(
      table.name, columns: distinct(table.readColumns + written), filters: table.filters(for: key), limit: 1)
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
      try client.checkMayAsk()
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
    switch try await send(request, table) {
    case .rows(let rows):
      if let row = rows.first {
        try finish(mutation, table, answer: row, .making)
        return
      }
      guard let row = try await readByKey(write.key, table) else {
        try reject(
          mutation, nil,
          "the server has a row under this key that this user may not see, or its policies hide the new row")
        return
      }
      try await settleExisting(mutation, table, row)
    case .refused(let details):
      if details.code == "23505", let row = try await readByKey(write.key, table) {
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
      try finish(mutation, table, answer: row, .reading(row))
      return
    }
    var attempt = GuardedAttempt(mutation, base: WriteBase(values: [:], version: table.version(of: row)))
    attempt.mutation.write.operation = .update  // The row is there: its columns are set.
    for column in table.keyColumns { attempt.mutation.write.values[column] = nil }
    attempt.isInsert = true
    try await settleConflict(attempt, table, server: row, comparison)
  }

  // MARK: Unguarded writes

  private mutating func replayUnguarded(_ mutation: PendingMutation, _ table: TableDescription)
    async throws(SyncFailure)
  {
    switch try await send(table.request(for: mutation.write, guardedWith: nil), table) {
    case .rows(let rows):
      if let row = rows.first {
        try finish(mutation, table, answer: row, .row(version: nil))
      } else if try await readByKey(mutation.write.key, table) != nil {
        try rejectDenied(mutation)
      } else {
        try await settleGone(GuardedAttempt(mutation, base: WriteBase(values: [:], version: nil)), table)
      }
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

  /// The server matched no row although the row is there as the write expects it.
  mutating func rejectDenied(_ mutation: PendingMutation) throws(SyncFailure) {
    try reject(
      mutation, nil,
      "the server kept the row as it is without saying why: its policies do not allow this "
        + (mutation.write.operation == .delete ? "delete" : "change"))
  }

  /// Records that the server has the write: it leaves the queue, its row goes into the cache, its version forwards.
  ///
  /// - Parameter answer: The columns the server returned; `nil` for a delete of a row that was gone already.
  mutating func finish(
    _ mutation: PendingMutation, _ table: TableDescription, answer: JSONObject?, _ origin: AnsweredBy
  ) throws(SyncFailure) {
    let write = mutation.write
    try client.commit { transaction in
      try transaction.remove(mutation.id)
      guard write.operation != .delete, let answer else {
        try transaction.setGone(table.name, write.key)
        return
      }
      switch origin {
      case .making:
        try transaction.mergeAnswer(table, write.key, answer, guardedWith: nil)
        // Not of a row that an earlier send made: others may have read and changed it since.
        try transaction.setMadeRow(table.name, write.key, answer)
      case .row(let version): try transaction.mergeAnswer(table, write.key, answer, guardedWith: version)
      case .reading(let row): try transaction.setCachedRow(table, write.key, row.merging(answer))
      }
      try transaction.forward(mutation, table, answer: answer, origin)
    }
    report.synced += 1
  }
}

extension OfflineClient {
  /// How many rows are asked for to prove a view; some of them may be gone.
  private static let witnessCount = 20

  /// Whether the server has just shown this token a row it is known to see, or the Auth server vouches for it.
  func isViewProven(_ token: Secret, besides key: RowKey, _ table: TableDescription) async -> Bool {
    let known = try? read { try $0.visibleRows(table, besides: key, limit: Self.witnessCount) }
    if let known, !known.isEmpty, (try? checkMayAsk()) != nil {
      let request = TableRequest.select(
        table.name, columns: table.keyColumns, filters: [table.filter(forAnyOf: known)], limit: 1)
      if let answer = try? await tables.send(request, accessToken: token), !answer.rows.isEmpty { return true }
    }
    return await isTokenProven(token)
  }

  /// Whether the Auth server says that the token is this user's, for an answer that nothing else can prove.
  func isTokenProven(_ token: Secret) async -> Bool {
    guard (try? checkMayAsk()) != nil else { return false }
    return await sessions.isTokenProven(token)
  }
}

extension TableDescription {
  /// The filters that pin one row.
  func filters(for key: RowKey) -> [Filter] {
    zip(keyColumns, key.values).map { Filter.eq($0, $1) }
  }

  /// The condition that a row is one of several.
  func filter(forAnyOf keys: [RowKey]) -> Filter {
    keyColumns.count == 1
      ? .in(keyColumns[0], keys.flatMap { $0.values.prefix(1) })
      : .or(keys.map { .and(filters(for: $0)) })
  }

  /// The request of an update or delete, guarded by a version where one is given.
  func request(for write: Write, guardedWith version: String?) -> TableRequest {
    var filters = filters(for: write.key)
    if let versionColumn, let version { filters.append(.eq(versionColumn, .string(version))) }
    if write.operation == .delete { return .delete(name, filters: filters, returning: identityColumns) }
    // A row keeps its key: a user may well be allowed to set its columns, but not these.
    var values = write.values
    for column in keyColumns { values[column] = nil }
    return .update(name, set: values, filters: filters, returning: distinct(identityColumns + values.names))
  }
}
