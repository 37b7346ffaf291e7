import LosslessJSON
import SupabaseAPI

/// Inserts into one table that follow one another in the queue travel as one request, and guarded deletes likewise; what
/// becomes of each is as if it had been sent alone (DESIGN section 5, "Bulk replay").
extension ReplayPass {
  /// How many bytes of rows travel in one request, unless a single row has more.
  private static let rowBytesMax = 256 << 10
  /// How many bytes of conditions do: proxies take 8 KiB of a request line, percent signs and all.
  private static let conditionBytesMax = 7_500

  /// The claimed writes from `first` on that may travel as one request, `first` among them.
  ///
  /// They follow one another in the queue, so no write overtakes another.
  func run(from first: PendingMutation, _ table: TableDescription) throws(SyncFailure) -> [PendingMutation] {
    let operation = first.write.operation
    let countMax = min(client.configuration.writesInOneRequest, Self.claimCount)
    guard countMax > 1, operation == .insert || operation == .delete else { return [first] }
    let bytesMax = operation == .insert ? Self.rowBytesMax : Self.conditionBytesMax
    var run: [PendingMutation] = []
    var keys: Set<String> = []
    var bytes = 0
    for var mutation in try pending(after: first.id - 1, limit: countMax) {
      guard let earlierSends = claims[mutation.id], mutation.write.table == table.name,
        mutation.write.operation == operation, let size = mutation.write.sizeInRun(table),
        keys.insert(mutation.write.key.identity).inserted
      else { break }
      bytes += size
      if bytes > bytesMax, !run.isEmpty { break }
      mutation.sendCount = earlierSends
      run.append(mutation)
    }
    return run.isEmpty ? [first] : run
  }

  /// Sends writes as one request, which the server takes or refuses as a whole.
  ///
  /// A refused run is halved until the write that is to blame stands alone: each still gets its own answer.
  mutating func replayRun(_ run: ArraySlice<PendingMutation>, _ table: TableDescription) async throws(SyncFailure) {
    takeInHand(run)
    guard run.count > 1 else {
      for mutation in run { try await replay(mutation, table) }
      settleClaims()
      return
    }
    guard let rows = try await sendTogether(run, table) else {
      let middle = run.startIndex + run.count / 2
      try await replayRun(run[..<middle], table)
      try await replayRun(run[middle...], table)
      return
    }
    let answers = Dictionary(rows.map { (table.key(of: $0)?.identity, $0) }) { first, _ in first }
    let taken = run.compactMap { mutation in answers[mutation.write.key.identity].map { (mutation, $0) } }
    try client.commit { transaction in
      for (mutation, row) in taken {
        let isInsert = mutation.write.operation == .insert
        try transaction.finish(mutation, table, answer: row, isInsert ? .making : .row(version: mutation.baseVersion))
      }
    }
    report.synced += taken.count
    for (mutation, _) in taken { note(mutation, .taken) }
    try await settleLeftOver(run.filter { answers[$0.write.key.identity] == nil }, table)
    settleClaims()
  }

  /// - Returns: The rows that were made or deleted; `nil` when the server took none of the writes because of one.
  private mutating func sendTogether(
    _ run: ArraySlice<PendingMutation>, _ table: TableDescription
  ) async throws(SyncFailure) -> [JSONObject]? {
    do {
      switch try await send(request(for: run, table), table) {
      case .rows(let rows): return rows
      case .refused: return nil
      }
    } catch {
      guard case .schemaCache = error else { throw error }
      let names = Set(run.map { Set($0.write.values.names) })
      guard names.count > 1 else {
        takeInHand(run.prefix(1))  // All name the same, so the first is where they stop.
        throw error
      }
      report.stoppingError = nil
      return nil
    }
  }

  private func request(for run: ArraySlice<PendingMutation>, _ table: TableDescription) -> TableRequest {
    guard run.first?.write.operation == .delete else {
      let rows = run.map(\.write.values)
      return .upsert(
        table.name, rows: rows, onConflict: table.keyColumns, ignoreDuplicates: true,
        returning: distinct(table.readColumns + rows.flatMap(\.names)))
    }
    let conditions = run.compactMap { $0.write.conditionInRun(table) }
    return .delete(table.name, filters: [.or(conditions)], returning: table.identityColumns)
  }

  /// Settles the writes of a run for which no row came back: the key of an insert is taken, the row of a delete moved, is
  /// gone or stays.
  private mutating func settleLeftOver(
    _ writes: [PendingMutation], _ table: TableDescription
  ) async throws(SyncFailure) {
    let rows = try await readTogether(writes, table)
    for mutation in writes {
      let row = rows[mutation.write.key.identity]
      if let base = mutation.write.base, mutation.write.operation == .delete {
        var attempt = GuardedAttempt(mutation, base: base)
        attempt.sends = 1
        try await settle(attempt, table, server: row)
      } else {
        try await settleUnanswered(mutation, table, row: row)
      }
    }
  }

  /// Reads the rows of several writes by their keys.
  ///
  /// - Returns: The rows that are there by the identity of their keys; what is missing is proven to be.
  private mutating func readTogether(
    _ writes: [PendingMutation], _ table: TableDescription
  ) async throws(SyncFailure) -> [String: JSONObject] {
    var found: [String: JSONObject] = [:]
    var left = writes
    let names = distinct(table.readColumns + writes.flatMap { $0.write.readNames(table) })
    while left.count > 1 {
      let request = TableRequest.select(
        table.name, columns: names, filters: [table.filter(forAnyOf: left.map(\.write.key))], limit: left.count)
      do throws(RequestFailure) {
        let (answer, token) = try await client.send(request, table: table.name)
        guard !answer.rows.isEmpty else {
          try await proveView(token, besides: left[0].write.key, table)
          return found
        }
        provenToken = token
        for row in answer.rows { found[table.key(of: row)?.identity ?? ""] = row }
      } catch {
        // A column that one of them may not read.
        if error.refusal != nil { break }
        report.stoppingError = error.error
        throw error.reason
      }
      // A server may cut any answer short; only one that shows none of the keys says that they are not there.
      let rest = left.filter { found[$0.write.key.identity] == nil }
      guard rest.count < left.count else { break }
      left = rest
    }
    for mutation in left {
      let write = mutation.write
      found[write.key.identity] = try await readByKey(write.key, table, besides: write.readNames(table))
    }
    return found
  }
}

extension Write {
  /// How many bytes an insert's row or a delete's condition adds to a request of several, roughly; `nil` for a write that
  /// must travel alone.
  ///
  /// The key must be one by which the rows of the answer are told apart.
  fileprivate func sizeInRun(_ table: TableDescription) -> Int? {
    guard request?.isWhole ?? true, isPinned,
      key.values.allSatisfy({ $0.stringValue != nil || $0.int64Value != nil })
    else { return nil }
    switch operation {
    case .insert: return table.key(of: values) == key ? JSONValue.object(values).serialized().utf8.count : nil
    case .delete:
      guard conditionInRun(table) != nil,
        request?.conditions ?? [] == [] || request?.conditions == table.filters(for: key)
      else { return nil }
      let names = table.identityColumns.reduce(0) { $0 + $1.utf8.count + 7 }
      let texts = key.values.compactMap(\.plainText) + [base?.version ?? ""]
      return texts.reduce(names + 12) { $0 + $1.sizeInQuery }
    case .upsert, .update: return nil
    }
  }

  /// The condition under which a guarded delete takes its row.
  fileprivate func conditionInRun(_ table: TableDescription) -> Filter? {
    guard let column = table.versionColumn, let version = base?.version else { return nil }
    return .and(table.filters(for: key) + [.eq(column, .string(version))])
  }
}

extension String {
  /// How many bytes the text takes in a query, where most signs need quotes and three bytes each.
  fileprivate var sizeInQuery: Int {
    let plain = utf8.count { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D: true
      default: false
      }
    }
    return plain == utf8.count ? plain : plain + (utf8.count - plain) * 3 + 6
  }
}
