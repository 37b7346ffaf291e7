import LosslessJSON
import SupabaseAPI

extension ReplayPass {
  /// How many bytes of rows travel in one request, unless a single row has more.
  private static let runBytesMax = 256 << 10

  /// The claimed inserts from `first` on that may travel as one request.
  ///
  /// They follow one another in the queue, so no write overtakes another. All name the same columns, so that a column left
  /// out takes its default as it would alone. Their keys are texts, by which an answer's rows are told apart.
  func insertRun(from first: PendingMutation, _ table: TableDescription) throws(SyncFailure) -> [PendingMutation] {
    guard first.write.operation == .insert, table.keyColumns.count == 1 else { return [] }
    let waiting = try pending(after: first.id - 1)
    let names = Set(first.write.values.names)
    var run: [PendingMutation] = []
    var keys: Set<String> = []
    var bytes = 0
    for var mutation in waiting {
      let write = mutation.write
      guard let earlierSends = claims[mutation.id], write.operation == .insert, write.table == table.name,
        write.request?.isWhole ?? true,
        Set(write.values.names) == names, let key = write.values[table.keyColumns[0]]?.stringValue,
        RowKey(key) == write.key, keys.insert(key).inserted
      else { break }
      bytes += JSONValue.object(write.values).serialized().utf8.count
      if bytes > Self.runBytesMax, !run.isEmpty { break }
      mutation.sendCount = earlierSends
      run.append(mutation)
    }
    return run
  }

  /// Sends inserts as one request, which the server takes or refuses as a whole.
  ///
  /// A refused run is halved until the write that is to blame stands alone: each still gets its own answer.
  mutating func replayInserts(_ run: ArraySlice<PendingMutation>, _ table: TableDescription) async throws(SyncFailure) {
    takeInHand(run.map(\.id))
    guard run.count > 1, let first = run.first else {
      for mutation in run { try await replayInsert(mutation, table) }
      settleClaims()
      return
    }
    let request = TableRequest.upsert(
      table.name, rows: run.map(\.write.values), onConflict: table.keyColumns, ignoreDuplicates: true,
      returning: distinct(table.readColumns + first.write.values.names))
    switch try await send(request, table) {
    case .refused:
      let middle = run.startIndex + run.count / 2
      try await replayInserts(run[..<middle], table)
      try await replayInserts(run[middle...], table)
    case .rows(let rows):
      let answers = Dictionary(rows.map { (table.key(of: $0)?.identity, $0) }) { first, _ in first }
      let made = run.compactMap { mutation in answers[mutation.write.key.identity].map { (mutation, $0) } }
      try client.commit { transaction in
        for (mutation, row) in made { try transaction.finish(mutation, table, answer: row, .making) }
      }
      report.synced += made.count
      for mutation in run where answers[mutation.write.key.identity] == nil {
        try await settleUnanswered(mutation, table)
      }
      settleClaims()
    }
  }
}
