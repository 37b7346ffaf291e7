import LosslessJSON
import SupabaseAPI

extension ReplayPass {
  /// How often one write is sent in one pass before it is parked (spec 5, "The resolver").
  private static let sendCountMax = 3
  /// How long a resolver may take.
  private static let resolverLimit = Duration.seconds(30)

  /// Sends a write only while the server's row still has the version the writer saw, and settles an empty answer by
  /// reading the row (spec 5, "The five outcomes").
  mutating func replayGuarded(_ mutation: PendingMutation, _ base: WriteBase, _ table: TableDescription)
    async throws(SyncFailure)
  {
    var sends = 0
    if let version = base.version, table.versionColumn != nil {
      guard try await isLeftOver(mutation, table, version, wholeRowBefore: nil) else { return }
      sends = 1
    }
    try await settleByReading(mutation, table, base: base, sends: sends)
  }

  /// Sends a guarded write.
  ///
  /// True when no row had the version, so that the write is still to be settled.
  private mutating func isLeftOver(
    _ mutation: PendingMutation, _ table: TableDescription, _ version: String?, wholeRowBefore: JSONObject?
  ) async throws(SyncFailure) -> Bool {
    switch try await send(table.request(for: mutation.write, guardedWith: version), for: mutation) {
    case .refused(let details):
      try reject(mutation, details, details.message)
      return false
    case .rows(let rows):
      guard let row = rows.first else { return true }
      try finish(mutation, table, answer: row, guardedWith: version, wholeRowBefore: wholeRowBefore)
      return false
    }
  }

  /// Reads the row and decides: gone, denied, already there, a stale base, or moved.
  private mutating func settleByReading(
    _ mutation: PendingMutation, _ table: TableDescription, base: WriteBase, sends: Int
  ) async throws(SyncFailure) {
    let write = mutation.write
    guard let server = try await readByKey(write.key, table, also: write.values.names) else {
      try await settleGone(mutation, table, base: base, sends: sends)
      return
    }
    let version = table.version(of: server)
    if sends > 0, version == base.version {
      try reject(
        mutation, nil,
        "the server kept the row as it is without saying why: its policies do not allow this "
          + (write.operation == .delete ? "delete" : "change"))
      return
    }
    let comparison = ConflictComparison(local: write.values, base: base.values, server: server)
    if write.operation == .update, comparison.isAlreadyThere {
      report.alreadyOnServer += 1
      try finish(mutation, table, answer: server, guardedWith: nil, wholeRowBefore: server)
    } else if isStaleBase(write, base, server, comparison) {
      try await resend(mutation, table, base: base, server: server, sends: sends)
    } else {
      try await replayConflict(mutation, table, base: base, server: server, comparison, sends: sends)
    }
  }

  /// Whether nothing that the write is about has changed elsewhere.
  private func isStaleBase(
    _ write: Write, _ base: WriteBase, _ server: JSONObject, _ comparison: ConflictComparison
  ) -> Bool {
    switch write.operation {
    case .update: comparison.changedOnServer.isEmpty
    // A delete whose writer never had a version is judged by the values it saw; with one, any move is a conflict.
    case .delete: base.version == nil && base.values.members.allSatisfy { server[$0.name] == $0.value }
    case .insert: false
    }
  }

  /// Sends the write again, against the row just read.
  private mutating func resend(
    _ mutation: PendingMutation, _ table: TableDescription, base: WriteBase, server: JSONObject, sends: Int
  ) async throws(SyncFailure) {
    let comparison = ConflictComparison(local: mutation.write.values, base: base.values, server: server)
    let version = table.version(of: server)
    guard table.versionColumn == nil || version != nil else {
      try park(
        mutation, table, server, comparison, "the server's row came back without a version to guard the write with")
      return
    }
    guard sends < Self.sendCountMax else {
      try park(mutation, table, server, comparison, "the row kept changing on the server while this write was sent")
      return
    }
    guard try await isLeftOver(mutation, table, version, wholeRowBefore: server) else { return }
    try await settleByReading(
      mutation, table,
      base: WriteBase(values: base.values.merging(server.picking(base.values.names)), version: version),
      sends: sends + 1)
  }

  /// Asks the resolver about a row that moved, and does what it says.
  mutating func replayConflict(
    _ mutation: PendingMutation, _ table: TableDescription, base: WriteBase, server: JSONObject,
    _ comparison: ConflictComparison, sends: Int
  ) async throws(SyncFailure) {
    guard sends < Self.sendCountMax else {
      try park(mutation, table, server, comparison, "the row kept changing on the server while this write was sent")
      return
    }
    let before = report.synced
    switch await resolution(of: mutation, base: base, server: server, comparison) {
    case .hold:
      try park(mutation, table, server, comparison, Self.message(mutation.write, isGone: false))
    case .keepServer:
      try client.commit { transaction in
        try transaction.remove(mutation.id)
        try transaction.setCachedRow(table, mutation.write.key, server)
      }
      report.conflictsKeptServer += 1
    case .keepLocal:
      try await resend(mutation, table, base: base, server: server, sends: sends)
      if report.synced > before { report.conflictsResolved += 1 }
    case .apply(let columns):
      guard mutation.write.operation == .update, !columns.isEmpty else {
        try park(mutation, table, server, comparison, "the columns chosen for it cannot be sent")
        return
      }
      var chosen = mutation
      chosen.write.values = columns
      try await resend(chosen, table, base: base, server: server, sends: sends)
      if report.synced > before { report.conflictsResolved += 1 }
    }
  }

  private mutating func settleGone(
    _ mutation: PendingMutation, _ table: TableDescription, base: WriteBase, sends: Int
  ) async throws(SyncFailure) {
    guard mutation.write.operation == .update else {
      report.alreadyOnServer += 1
      try finish(mutation, table, answer: nil, guardedWith: nil, wholeRowBefore: nil)
      return
    }
    switch await resolution(of: mutation, base: base, server: nil, nil) {
    case .keepServer:
      try client.commit { transaction in
        try transaction.remove(mutation.id)
        try transaction.setGone(table.name, mutation.write.key)
      }
      report.conflictsKeptServer += 1
    case .hold, .keepLocal, .apply:
      try park(mutation, table, nil, nil, Self.message(mutation.write, isGone: true))
    }
  }

  private static func message(_ write: Write, isGone: Bool) -> String {
    if isGone { return "the row is gone from the server since this change was made" }
    return switch write.operation {
    case .insert: "the server has a row with this key and other values"
    case .update: "the row changed on the server since this change was made"
    case .delete: "the row changed on the server since it was deleted here"
    }
  }

  private mutating func park(
    _ mutation: PendingMutation, _ table: TableDescription, _ server: JSONObject?, _ comparison: ConflictComparison?,
    _ message: String
  ) throws(SyncFailure) {
    let entry = try client.commit { transaction -> ConflictedMutation? in
      try transaction.park(
        mutation, server: server, serverVersion: server.flatMap(table.version), comparison, message: message)
      if let server {
        try transaction.setCachedRow(table, mutation.write.key, server)
      } else {
        try transaction.setGone(table.name, mutation.write.key)
      }
      return try transaction.conflictedMutation(mutation.id)
    }
    if let entry { report.conflicted.append(entry) }
  }

  /// The resolver's word, outside every transaction; `hold` when it throws or takes too long.
  private func resolution(
    of mutation: PendingMutation, base: WriteBase, server: JSONObject?, _ comparison: ConflictComparison?
  ) async -> ConflictResolution {
    let write = mutation.write
    let conflict = MutationConflict(
      mutationID: mutation.id, table: write.table, operation: write.operation, rowKey: write.key, base: base.values,
      local: write.operation == .delete ? nil : write.values, server: server,
      changedOnServer: write.operation == .delete ? [] : comparison?.changedOnServer ?? [],
      conflictingColumns: write.operation == .delete ? [] : comparison?.conflictingColumns ?? [])
    let (resolver, clock) = (client.configuration.resolver, client.environment.clock)
    return await withTaskGroup(of: ConflictResolution?.self) { group in
      group.addTask { (try? await resolver(conflict)) ?? .hold }
      group.addTask {
        try? await clock.sleep(for: Self.resolverLimit)
        return nil
      }
      let first = await group.next().flatMap(\.self)
      group.cancelAll()
      return first ?? .hold
    }
  }
}
