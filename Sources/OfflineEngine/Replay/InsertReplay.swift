import LosslessJSON
import SupabaseAPI

extension ReplayPass {
  mutating func replayInsert(_ mutation: PendingMutation, _ table: TableDescription) async throws(SyncFailure) {
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
      try await settleUnanswered(mutation, table)
    case .refused(let details) where write.mayBeHidden(details):
      try await replayAsMade(mutation, table)
    case .refused(let details):
      if details.code == "23505",
        let row = try await readByKey(write.key, table, besides: write.readNames(table))
      {
        try await settleExisting(mutation, table, row)
      } else {
        try reject(mutation, details, Self.refusal(details))
      }
    }
  }

  /// Settles an insert that gave no row back: its key is taken.
  mutating func settleUnanswered(_ mutation: PendingMutation, _ table: TableDescription) async throws(SyncFailure) {
    guard let row = try await readByKey(mutation.write.key, table, besides: mutation.write.readNames(table)) else {
      try reject(
        mutation, nil,
        "the server has a row under this key that this user may not see, or its policies hide the new row")
      return
    }
    try await settleExisting(mutation, table, row)
  }

  /// An insert found its key taken: by its own earlier send, or by a row with other values.
  private mutating func settleExisting(_ mutation: PendingMutation, _ table: TableDescription, _ row: JSONObject)
    async throws(SyncFailure)
  {
    let comparison = ConflictComparison(local: table.besidesKey(mutation.write.values), base: nil, server: row)
    if comparison.isAlreadyThere {
      report.alreadyOnServer += 1
      try finish(mutation, table, answer: row, .reading(row))
      return
    }
    var attempt = GuardedAttempt(mutation, base: WriteBase(values: [:], version: table.version(of: row)))
    attempt.mutation.write.operation = .update  // The row is there: its columns are set.
    attempt.mutation.write.values = table.besidesKey(attempt.mutation.write.values)
    attempt.isInsert = true
    try await settleConflict(attempt, table, server: row, comparison)
  }

  /// The server's words on a new row; of a policy it does not say which of two it was.
  private static func refusal(_ error: ServerError) -> String {
    guard error.code == "42501" else { return error.message }
    return "\(error.message); the insert policy forbids the row, or the select policy does not show it to its writer"
  }
}
