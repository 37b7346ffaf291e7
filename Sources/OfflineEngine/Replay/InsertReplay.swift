import LosslessJSON
import SupabaseAPI

extension ReplayPass {
  mutating func replayInsert(_ mutation: PendingMutation, _ table: TableDescription) async throws(SyncFailure) {
    guard mutation.sendCount > 0 else { return try await insert(mutation, table) }
    // A send that may have arrived is repeated so that it cannot make a second row or fail on its own first one.
    let request = TableRequest.upsert(
      table.name, rows: [mutation.write.values], onConflict: table.keyColumns, ignoreDuplicates: true,
      returning: insertedColumns(mutation, table))
    switch try await send(request, table) {
    case .rows(let rows):
      if let row = rows.first {
        try finish(mutation, table, answer: row, .making)
      } else {
        let write = mutation.write
        try await settleUnanswered(
          mutation, table, row: try await readByKey(write.key, table, besides: write.readNames(table)))
      }
    case .refused(let details): try await settleRefused(mutation, table, details)
    }
  }

  /// Settles an insert that duplicates were ignored for and that gave no row back: its key is taken by the row that was
  /// just read.
  mutating func settleUnanswered(
    _ mutation: PendingMutation, _ table: TableDescription, row: JSONObject?
  ) async throws(SyncFailure) {
    if let row {
      try await settleExisting(mutation, table, row)
    } else {
      // A row that this user may not see: sent as it was made, the server says what it has against it.
      try await insert(mutation, table)
    }
  }

  /// Sends an insert as it was made.
  private mutating func insert(_ mutation: PendingMutation, _ table: TableDescription) async throws(SyncFailure) {
    let returning = insertedColumns(mutation, table)
    switch try await send(.insert(table.name, row: mutation.write.values, returning: returning), table) {
    case .rows(let rows):
      if let row = rows.first {
        try finish(mutation, table, answer: row, .making)
      } else if let row = try await readByKey(
        mutation.write.key, table, besides: mutation.write.readNames(table))
      {
        try await settleExisting(mutation, table, row)
      } else {
        try reject(mutation, nil, "the server refused nothing and made no row: a trigger or a rule of its own drops it")
      }
    case .refused(let details): try await settleRefused(mutation, table, details)
    }
  }

  private func insertedColumns(_ mutation: PendingMutation, _ table: TableDescription) -> [String] {
    distinct(table.readColumns + mutation.write.values.names)
  }

  private mutating func settleRefused(
    _ mutation: PendingMutation, _ table: TableDescription, _ details: ServerError
  ) async throws(SyncFailure) {
    let write = mutation.write
    if write.mayBeHidden(details) {
      try await replayAsMade(mutation, table)
    } else if details.code == "23505", let row = try await readByKey(write.key, table, besides: write.readNames(table))
    {
      try await settleExisting(mutation, table, row)
    } else {
      try reject(mutation, details, Self.refusal(details))
    }
  }

  /// An insert found its key taken: by its own earlier send, or by a row with other values.
  private mutating func settleExisting(_ mutation: PendingMutation, _ table: TableDescription, _ row: JSONObject)
    async throws(SyncFailure)
  {
    let comparison = ConflictComparison(local: table.besidesKey(mutation.write.values), base: nil, server: row)
    if comparison.isAlreadyThere {
      try finish(mutation, table, answer: row, .reading(row), isAlreadyThere: true)
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
