import LosslessJSON
import SupabaseAPI

extension ReplayPass {
  /// Sends an update or delete of one row that has no base: the last write wins.
  mutating func replayUnguarded(_ mutation: PendingMutation, _ table: TableDescription) async throws(SyncFailure) {
    switch try await send(table.request(for: mutation.write, guardedWith: nil), table) {
    case .rows(let rows):
      if let row = rows.first {
        try finish(mutation, table, answer: row, .unguarded)
      } else if let row = try await readByKey(
        mutation.write.key, table, besides: mutation.write.readNames(table))
      {
        if mutation.write.isReached(in: row, table) ?? false {
          try rejectDenied(mutation)
        } else {
          try client.commit { try $0.finishUnreached(mutation, table, row: row) }
          report.synced += 1
          note(mutation, .unreached)
        }
      } else {
        try await settleGone(GuardedAttempt(mutation, base: WriteBase(values: [:], version: nil)), table)
      }
    case .refused(let details):
      try reject(mutation, details, details.message)
    }
  }

  /// Sends a write exactly as it was made: an upsert, a list without keys, an update or delete by other conditions.
  ///
  /// Nothing tells whether an earlier send of it arrived, so it is simply sent again (spec 1, "Upserts and ids").
  mutating func replayAsMade(_ mutation: PendingMutation, _ table: TableDescription) async throws(SyncFailure) {
    var request = mutation.write.requestAsMade
    request.isSingle = false
    switch try await send(request, table) {
    case .rows(let rows):
      let returned = request.returnsRows ? rows : nil
      try client.commit { transaction in
        try transaction.remove(mutation.id)
        try transaction.applyAccepted(mutation.write, table, rows: returned)
      }
      report.synced += 1
      note(mutation, .taken)
    case .refused(let details):
      try reject(mutation, details, details.message)
    }
  }

  /// Sends a list of rows that carry their keys: rows that an earlier send brought are found, never made twice.
  mutating func replayKeyedInserts(_ mutation: PendingMutation, _ table: TableDescription) async throws(SyncFailure) {
    let rows = mutation.write.rows
    let names = distinct(table.readColumns + rows.flatMap(\.names))
    let takesDefaults = mutation.write.request?.takesDefaults ?? false
    let request =
      mutation.sendCount == 0
      ? TableRequest.insert(table.name, rows: rows, missingDefault: takesDefaults, returning: names)
      : .upsert(
        table.name, rows: rows, onConflict: table.keyColumns, ignoreDuplicates: true, missingDefault: takesDefaults,
        returning: names)
    switch try await send(request, table) {
    case .refused(let details) where mutation.write.mayBeHidden(details):
      try await replayAsMade(mutation, table)
    case .refused(let details):
      try reject(mutation, details, details.message)
    case .rows(let made):
      // Each answers for one row: a key that the list names twice was taken once.
      var answered = Set(made.compactMap { table.key(of: $0)?.identity })
      let missing = rows.filter { row in table.key(of: row).map { answered.remove($0.identity) == nil } ?? false }
      try await finishKeyedInserts(mutation, table, made: made, missing: missing)
    }
  }

  /// Ends a list of inserts whose missing rows the server has already, equal or not.
  private mutating func finishKeyedInserts(
    _ mutation: PendingMutation, _ table: TableDescription, made: [JSONObject], missing: [JSONObject]
  ) async throws(SyncFailure) {
    var present: [JSONObject] = []
    var differing: [(local: JSONObject, server: JSONObject)] = []
    for row in missing {
      guard let key = table.key(of: row) else { continue }
      guard let server = try await readByKey(key, table, besides: row.names) else {
        try reject(
          mutation, nil,
          "the server has a row under one of these keys that this user may not see, or its policies hide the new row")
        return
      }
      let comparison = ConflictComparison(local: table.besidesKey(row), base: nil, server: server)
      if comparison.isAlreadyThere { present.append(server) } else { differing.append((row, server)) }
    }
    let (there, different, bounds) = (present, differing, client.configuration.listBounds)
    let parked = try client.commit { transaction -> [ConflictedMutation] in
      try transaction.remove(mutation.id)
      try transaction.applyAccepted(mutation.write, table, rows: made + there)
      return try different.compactMap { row in
        guard let key = table.key(of: row.local) else { return nil }
        var write = mutation.write
        write.operation = .update
        write.key = key
        write.values = table.besidesKey(row.local)
        write.request = WriteRequest()
        write.request?.conditions = table.filters(for: key)
        write.request?.rowKeys = [key]
        let id = try transaction.park(
          write, server: row.server, serverVersion: table.version(of: row.server),
          message: "the server has a row with this key and other values", bounds)
        try transaction.show(row.server, of: key, table)
        return try transaction.conflictedMutation(id)
      }
    }
    report.synced += 1
    report.conflicted += parked
    if !missing.isEmpty { report.alreadyOnServer += 1 }
    note(mutation, parked.isEmpty ? .taken : .conflicted)
  }
}
