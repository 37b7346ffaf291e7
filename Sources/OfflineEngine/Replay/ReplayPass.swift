import LosslessJSON
import SupabaseAPI

extension UserEngine {
  /// Sends the user's queued writes in the order they were made, and says what became of each (spec 4).
  ///
  /// Stops at the first failure that may pass, so that no write overtakes an earlier one; where writes of unknown tables
  /// and columns are kept (`rejectsUnknownNames` is off), only their own table's writes wait for such a name.
  /// Calls run one after another.
  /// Never throws: the report and `syncStatus.lastSyncError` say why a pass stopped.
  ///
  /// - Parameters:
  ///   - table: Only this table's writes are sent, and none of them ahead of an earlier write to another; `nil` for all
  ///     tables.
  ///   - tell: Gets what became of each write as soon as that is kept; must not block for long.
  public func syncPendingMutations(
    _ table: String? = nil, tell: (@Sendable (ReplayAnswer) -> Void)? = nil
  ) async -> SyncReport {
    await passLock.withLock {
      updateStatus { $0.isSyncing = true }
      var pass = ReplayPass(client: self, onlyTable: table, tell: tell)
      await pass.run()
      let report = pass.report
      updateStatus { status in
        status.isSyncing = false
        // With nothing to send the server was not asked, so what kept a pull from it still may.
        if report.stoppedBy != nil || report.isAnswered { status.lastSyncError = report.stoppedBy }
      }
      return report
    }
  }

  /// Has a running pass end before its next write, as if cancelled, and runs `body` before any other pass.
  func interruptingPasses<T: Sendable, E: Error>(_ body: () async throws(E) -> T) async throws(E) -> T {
    interruptions.add(1, ordering: .relaxed)
    defer { interruptions.subtract(1, ordering: .relaxed) }
    return try await passLock.withLock(body)
  }
}

/// One pass over the queue.
struct ReplayPass {
  let client: UserEngine
  /// The one table whose writes are sent; `nil` for all.
  let onlyTable: String?
  /// Gets what became of each write.
  let tell: (@Sendable (ReplayAnswer) -> Void)?
  var report = SyncReport()
  /// The token under which the server has just shown a row of this user.
  var provenToken: Secret?
  /// The last write that was taken in hand.
  private var last: Int64 = 0
  /// The writes that travel now.
  private var inHand: [PendingMutation] = []
  /// Whether they have left this device in this pass.
  private var hasLeft = false
  /// The writes that are on record as sent and not settled, and how often each was sent before this pass.
  private(set) var claims: [Int64: Int] = [:]
  /// The tables that wait for a name that the server does not know yet, and the first such answer.
  private var waitingTables: Set<String> = []
  private var unknownName: SyncFailure?

  /// How many writes go on record in one commit: no more travel in one request.
  static let claimCount = 60

  init(client: UserEngine, onlyTable: String?, tell: (@Sendable (ReplayAnswer) -> Void)?) {
    self.client = client
    self.onlyTable = onlyTable
    self.tell = tell
  }

  /// Tells what became of a write, once that is kept.
  func note(_ mutation: PendingMutation, _ outcome: ReplayAnswer.Outcome) { tell?(ReplayAnswer(mutation, outcome)) }

  mutating func run() async {
    do {
      try await sendAll()
      report.stoppedBy = unknownName
    } catch {
      report.stoppedBy = error
    }
    report.remaining = (try? client.read { try $0.counts().queued }) ?? 0
  }

  private mutating func sendAll() async throws(SyncFailure) {
    do throws(SyncFailure) {
      // One write on the wire at a time: who discards a write waits for its send, not for the pass.
      while try await client.wireLock.withLock({ () async throws(SyncFailure) in try await sendNext() }) {}
    } catch {
      try giveBack()
      throw error
    }
    try giveBack()
  }

  /// Sends the next write or run of writes; false when nothing is left to send.
  private mutating func sendNext() async throws(SyncFailure) -> Bool {
    guard var waiting = try next() else { return false }
    if let onlyTable, waiting.write.table != onlyTable {
      report.heldBehindOtherTables = try client.commit { try $0.queuedCount(onlyTable) }
      return false
    }
    if Task.isCancelled || client.interruptions.load(ordering: .relaxed) > 0 { throw .cancelled }
    do throws(RequestFailure) { try client.checkMayAsk() } catch { throw error.reason }
    guard let earlierSends = claims[waiting.id] else {
      try claim()
      return true  // What was claimed is read anew, as it now is.
    }
    waiting.sendCount = earlierSends
    let table = try client.description(of: waiting.write.table)
    do {
      try await replayRun(try run(from: waiting, table)[...], table)
    } catch {
      guard case .schemaCache = error else { throw error }
      if !client.configuration.rejectsUnknownNames, onlyTable == nil {
        setAside(waiting.write.table, error)
      } else {
        // The server's word on a run is taken only once one write of it stands alone.
        guard client.configuration.rejectsUnknownNames, try rejectUnknown(inHand.first ?? waiting) else { throw error }
        settleClaims()
      }
    }
    return true
  }

  /// Lets the other tables' writes go on past those of a table that the server does not know as it is described.
  private mutating func setAside(_ table: String, _ failure: SyncFailure) {
    waitingTables.insert(table)
    unknownName = unknownName ?? failure
    if hasLeft { settleClaims() }  // What may have arrived stays on record as sent.
  }

  /// Counts a refusal of an unknown table or column, and rejects the write at the tenth.
  private mutating func rejectUnknown(_ mutation: PendingMutation) throws(SyncFailure) -> Bool {
    guard try client.commit({ try $0.countUnknown(mutation.id) }) >= EngineTransaction.unknownCountMax else {
      return false
    }
    let error = report.stoppingError?.serverError
    report.stoppingError = nil
    try reject(mutation, error, error?.message ?? "the server does not know the table or a column")
    return true
  }

  private func next() throws(SyncFailure) -> PendingMutation? { try pending(after: last, limit: 1).first }

  /// The writes behind a number, as many as are claimed at once.
  func pending(after id: Int64, limit: Int = Self.claimCount) throws(SyncFailure) -> [PendingMutation] {
    do {
      return try client.read { try $0.pending(after: id, besides: waitingTables, limit: limit) }
    } catch {
      throw .local(reason: "\(error)")
    }
  }

  /// Notes that claimed writes are about to travel.
  mutating func takeInHand(_ writes: ArraySlice<PendingMutation>) {
    inHand = Array(writes)
    last = writes.last?.id ?? last
    hasLeft = false
  }

  /// Notes that what is in hand is settled.
  mutating func settleClaims() {
    for mutation in inHand { claims[mutation.id] = nil }
  }

  /// Puts the next writes on record as sent before anything of them leaves.
  ///
  /// A process that dies from here on finds them in doubt, and no later save folds into values that are on their way. One
  /// commit for many: it costs about as much as sending one write.
  private mutating func claim() throws(SyncFailure) {
    let claims = claims
    let new = try client.commit { transaction in
      let new = try transaction.claimable(after: last, besides: waitingTables, limit: Self.claimCount)
        .prefix { onlyTable == nil || $0.table == onlyTable }.filter { claims[$0.id] == nil }
      for mutation in new { try transaction.markSent(mutation.id) }
      return new
    }
    for mutation in new { self.claims[mutation.id] = mutation.sendCount }
  }

  /// Takes the writes off the record that certainly did not leave.
  private mutating func giveBack() throws(SyncFailure) {
    let left = hasLeft ? Set(inHand.map(\.id)) : []
    let unsent = claims.keys.filter { !left.contains($0) }
    claims = [:]
    guard !unsent.isEmpty else { return }
    try client.commit { transaction in
      for id in unsent { try transaction.markUnsent(id) }
    }
  }

  /// Sends a write that is in hand alone.
  mutating func replay(_ mutation: PendingMutation, _ table: TableDescription) async throws(SyncFailure) {
    let write = mutation.write
    guard write.request?.isWhole ?? true else {
      try reject(mutation, nil, "it can no longer be sent exactly as it was made; make the change again")
      return
    }
    switch (write.operation, write.base) {
    case (.insert, _) where write.isPinned: try await replayInsert(mutation, table)
    case (.insert, _) where !write.rowKeys.isEmpty: try await replayKeyedInserts(mutation, table)
    case (.update, let base?), (.delete, let base?): try await replayGuarded(mutation, base, table)
    case (.update, nil) where write.isPinned, (.delete, nil) where write.isPinned:
      try await replayUnguarded(mutation, table)
    default: try await replayAsMade(mutation, table)
    }
  }

  // MARK: Sending

  /// What a write's request came to.
  enum Answer {
    case rows([JSONObject])
    case refused(ServerError)
  }

  /// Sends a claimed write's request.
  mutating func send(_ request: TableRequest, _ table: TableDescription) async throws(SyncFailure) -> Answer {
    do throws(RequestFailure) {
      let (answer, token) = try await client.send(request, table: table.name)
      hasLeft = true
      if !answer.rows.isEmpty { provenToken = token }
      return .rows(answer.rows)
    } catch {
      if let refusal = error.refusal {
        // What has the key may be this very write, which something between here and the server has sent twice.
        if refusal.code == "23505" { hasLeft = true }
        return .refused(refusal)
      }
      if error.mayHaveReachedServer { hasLeft = true }
      report.stoppingError = error.error
      throw error.reason
    }
  }

  /// Reads a row by its key, with the columns of all the row's queued writes.
  ///
  /// - Returns: `nil` when there is none, which is proven to be the user's own view.
  mutating func readByKey(_ key: RowKey, _ table: TableDescription, besides names: [String] = [])
    async throws(SyncFailure) -> JSONObject?
  {
    let written = try client.commit { transaction in
      try transaction.mutations(list: .queued, table: table.name, key: key)
        .flatMap { $0.write.values.names + $0.write.conditionColumns(table) }
    }
    let own = distinct(table.readColumns + names)
    let all = distinct(own + written)
    let request = { (columns: [String]) in
      TableRequest.select(table.name, columns: columns, filters: table.filters(for: key), limit: 1)
    }
    do throws(RequestFailure) {
      let answer: TableAnswer
      let token: Secret?
      do throws(RequestFailure) {
        (answer, token) = try await client.send(request(all), table: table.name)
      } catch {
        // A column of a later write that is not there, or not to be read, is that write's to answer for.
        guard error.refusal != nil, all.count > own.count else { throw error }
        (answer, token) = try await client.send(request(own), table: table.name)
      }
      if let row = answer.rows.first {
        provenToken = token
        return row
      }
      try await proveView(token, besides: key, table)
      return nil
    } catch {
      report.stoppingError = error.error
      throw error.reason
    }
  }

  /// Makes sure that an empty answer was given to this user: with a missing or anonymous token the server answers 200
  /// and no rows, which would read as "gone" (DESIGN section 5).
  mutating func proveView(_ token: Secret?, besides key: RowKey, _ table: TableDescription)
    async throws(RequestFailure)
  {
    guard token == nil || provenToken != token else { return }
    if await client.isViewProven(token, besides: key, table) {
      provenToken = token
    } else {
      try client.checkMayAsk()
      throw RequestFailure(.unproven(table: table.name))
    }
  }

  // MARK: Endings

  /// Moves a write that the server refused to the rejected list.
  ///
  /// - Throws: why another table's writes wait, where the refusal may come of a row that is still among them.
  mutating func reject(_ mutation: PendingMutation, _ details: ServerError?, _ message: String) throws(SyncFailure) {
    if let unknownName, details.map(Self.mayNeedAnotherRow) ?? false { throw unknownName }
    let entry = try client.commit { transaction -> RejectedMutation? in
      try transaction.reject(mutation, details, message: message, client.configuration.listBounds)
      return try transaction.entry(mutation.id, list: .rejected).map(transaction.rejectedMutation)
    }
    if let entry { report.rejected.append(entry) }
    note(mutation, .refused(code: details?.code))
  }

  /// Whether a refusal may end once a row of another table is there: a foreign key, or a policy that looks it up.
  private static func mayNeedAnotherRow(_ refusal: ServerError) -> Bool {
    refusal.code == "23503" || refusal.code == "42501"
  }

  /// The server matched no row although the row is there as the write expects it.
  mutating func rejectDenied(_ mutation: PendingMutation) throws(SyncFailure) {
    if let unknownName { throw unknownName }
    try reject(
      mutation, nil,
      "the server kept the row as it is without saying why: its policies do not allow this "
        + (mutation.write.operation == .delete ? "delete" : "change"))
  }

  /// Records that the server has the write.
  ///
  /// - Parameters:
  ///   - answer: The columns the server returned; `nil` for a delete of a row that was gone already.
  ///   - isAlreadyThere: Whether it did not take this send for that.
  mutating func finish(
    _ mutation: PendingMutation, _ table: TableDescription, answer: JSONObject?, _ origin: AnsweredBy,
    isAlreadyThere: Bool = false
  ) throws(SyncFailure) {
    try client.commit { try $0.finish(mutation, table, answer: answer, origin) }
    report.synced += 1
    if isAlreadyThere { report.alreadyOnServer += 1 }
    note(mutation, isAlreadyThere ? .alreadyThere : .taken)
  }
}

extension UserEngine {
  /// How many rows are asked for to prove a view; some of them may be gone.
  private static let witnessCount = 20

  /// Whether the server has just shown this token a row it is known to see, or the Auth server vouches for it.
  func isViewProven(_ token: Secret?, besides key: RowKey, _ table: TableDescription) async -> Bool {
    let known = try? read { try $0.visibleRows(table, besides: key, limit: Self.witnessCount) }
    if let known, !known.isEmpty, (try? checkMayAsk()) != nil {
      let request = TableRequest.select(
        table.name, columns: table.keyColumns, filters: [table.filter(forAnyOf: known)], limit: 1)
      do {
        if try await !tables.send(request, accessToken: token).rows.isEmpty { return true }
      } catch {
        noteFailure(error)
      }
    }
    return await isTokenProven(token)
  }

  /// Whether the Auth server says that the token is this user's, for an answer that nothing else can prove.
  func isTokenProven(_ token: Secret?) async -> Bool {
    guard let token else { return user.isEmpty }  // With the key alone everybody is the same nobody.
    guard (try? checkMayAsk()) != nil else { return false }
    return await sessions.isTokenProven(token)
  }
}
