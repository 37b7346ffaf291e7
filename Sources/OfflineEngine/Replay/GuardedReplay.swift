import LosslessJSON
import SupabaseAPI

/// A guarded write on its way through one pass.
struct GuardedAttempt {
  /// The write as it is sent now: a resolver may have chosen other columns than were queued.
  var mutation: PendingMutation
  /// What it is judged against: what the writer saw, then the row as it was last read.
  var base: WriteBase
  /// How often it was sent in this pass.
  var sends = 0
  /// Whether a resolver has settled it with this device's side.
  var isResolved = false
  /// Whether it was queued as an insert and found its key taken.
  var isInsert = false

  init(_ mutation: PendingMutation, base: WriteBase) {
    self.mutation = mutation
    self.base = base
  }
}

extension ReplayPass {
  /// How often one write is sent in one pass before it is parked (spec 5, "The resolver").
  private static let sendCountMax = 3

  private static let keptMoving = "the row kept changing on the server while this write was sent"

  /// Sends a write only while the server's row still has the version the writer saw, and settles an empty answer by
  /// reading the row (spec 5, "The five outcomes").
  mutating func replayGuarded(_ mutation: PendingMutation, _ base: WriteBase, _ table: TableDescription)
    async throws(SyncFailure)
  {
    var attempt = GuardedAttempt(mutation, base: base)
    if let version = base.version, table.versionColumn != nil {
      guard try await isLeftOver(attempt, table, .row(version: version)) else { return }
      attempt.sends = 1
    }
    try await settleByReading(attempt, table)
  }

  /// Sends a guarded write.
  ///
  /// True when no row had the version, so that the write is still to be settled.
  private mutating func isLeftOver(_ attempt: GuardedAttempt, _ table: TableDescription, _ origin: AnsweredBy)
    async throws(SyncFailure) -> Bool
  {
    let version: String? =
      switch origin {
      case .row(let version): version
      case .reading(let row): table.version(of: row)
      case .making, .unguarded: nil
      }
    switch try await send(table.request(for: attempt.mutation.write, guardedWith: version), table) {
    case .refused(let details):
      try reject(attempt.mutation, details, details.message)
      return false
    case .rows(let rows):
      guard let row = rows.first else { return true }
      try finish(attempt.mutation, table, answer: row, origin)
      if attempt.isResolved { report.conflictsResolved += 1 }
      return false
    }
  }

  private mutating func settleByReading(_ attempt: GuardedAttempt, _ table: TableDescription)
    async throws(SyncFailure)
  {
    let write = attempt.mutation.write
    try await settle(attempt, table, server: try await readByKey(write.key, table, besides: write.readNames(table)))
  }

  /// Decides by the row as it was just read: gone, denied, already there, a stale base, or moved.
  mutating func settle(_ attempt: GuardedAttempt, _ table: TableDescription, server: JSONObject?)
    async throws(SyncFailure)
  {
    let write = attempt.mutation.write
    guard let server else {
      try await settleGone(attempt, table)
      return
    }
    let isReached = write.isReached(in: server, table)
    let isAtBase = attempt.sends > 0 && table.version(of: server) == attempt.base.version
    // A condition that cannot be judged here reads as missed while the row stands still; a resend lets the server judge.
    if isReached == false || isReached == nil && isAtBase {
      try client.commit { try $0.finishUnreached(attempt.mutation, table, row: server) }
      report.synced += 1
      note(attempt.mutation, .unreached)
      return
    }
    if isAtBase {
      try rejectDenied(attempt.mutation)
      return
    }
    let comparison = ConflictComparison(local: write.values, base: attempt.base.values, server: server)
    if write.operation == .update, comparison.isAlreadyThere {
      if attempt.isResolved { report.conflictsResolved += 1 }
      try finish(attempt.mutation, table, answer: server, .reading(server), isAlreadyThere: true)
    } else if isStaleBase(attempt, table, server, comparison) {
      try await resend(attempt, table, server: server, comparison)
    } else {
      try await settleConflict(attempt, table, server: server, comparison)
    }
  }

  /// Whether nothing that the write is about has changed elsewhere.
  private func isStaleBase(
    _ attempt: GuardedAttempt, _ table: TableDescription, _ server: JSONObject, _ comparison: ConflictComparison
  ) -> Bool {
    switch attempt.mutation.write.operation {
    // Of a row that was made here and came back without its version, what its writer left out began as the server fills
    // it in: only something else can be what somebody typed since.
    case .update:
      comparison.changedOnServer.allSatisfy { name in
        table.isMirrored && attempt.base.version == nil && attempt.base.values[name] == nil
          && server[name]?.isBeginning ?? false
      }
    // A delete whose writer never had a version is judged by the values it saw; with one, any move is a conflict.
    case .delete:
      attempt.base.version == nil && attempt.base.values.members.allSatisfy { server[$0.name] == $0.value }
        && !showsUnseen(server, table, attempt.base.values)
    case .insert, .upsert: false
    }
  }

  /// Whether a row that its writer never had from the server holds something that its writer did not put there.
  ///
  /// Anything but what columns begin with may be what somebody typed since.
  private func showsUnseen(_ server: JSONObject, _ table: TableDescription, _ seen: JSONObject) -> Bool {
    guard table.versionColumn != nil else { return false }
    let besides = table.identityColumns + [table.cursorColumn].compactMap(\.self) + seen.names
    return server.members.contains { name, value in
      !besides.contains(name) && !value.isBeginning
    }
  }

  /// Sends the write again, against the row just read.
  private mutating func resend(
    _ attempt: GuardedAttempt, _ table: TableDescription, server: JSONObject, _ comparison: ConflictComparison
  ) async throws(SyncFailure) {
    let version = table.version(of: server)
    guard table.versionColumn == nil || version != nil else {
      try park(
        attempt, table, server, comparison, "the server's row came back without a version to guard the write with")
      return
    }
    guard attempt.sends < Self.sendCountMax else {
      try park(attempt, table, server, comparison, Self.keptMoving)
      return
    }
    guard try await isLeftOver(attempt, table, .reading(server)) else { return }
    var next = attempt
    next.sends += 1
    let seen = attempt.base.values.names + attempt.mutation.write.values.names
    next.base = WriteBase(values: attempt.base.values.merging(server.picking(seen)), version: version)
    try await settleByReading(next, table)
  }

  /// Asks the resolver about a row that moved, and does what it says.
  mutating func settleConflict(
    _ attempt: GuardedAttempt, _ table: TableDescription, server: JSONObject, _ comparison: ConflictComparison
  ) async throws(SyncFailure) {
    guard attempt.sends < Self.sendCountMax else {
      try park(attempt, table, server, comparison, Self.keptMoving)
      return
    }
    var attempt = attempt
    attempt.isResolved = true
    let resolution = try await client.resolution(of: attempt, server: server, comparison)
    switch resolution {
    case .hold:
      try park(attempt, table, server, comparison, Self.message(attempt, isGone: false))
    case .keepServer:
      let mutation = attempt.mutation
      try client.commit { transaction in
        try transaction.remove(mutation.id)
        try transaction.show(server, of: mutation.write.key, table)
      }
      report.conflictsKeptServer += 1
      note(mutation, .gaveWay)
    case .keepLocal:
      try await resend(attempt, table, server: server, comparison)
    case .apply(let columns):
      guard attempt.mutation.write.operation == .update, !columns.isEmpty else {
        try park(attempt, table, server, comparison, "the columns chosen for it cannot be sent")
        return
      }
      attempt.mutation.write.values = columns
      // A send of them whose answer was lost is not made again: it would pass for another change.
      guard !ConflictComparison(local: columns, base: attempt.base.values, server: server).isAlreadyThere else {
        report.conflictsResolved += 1
        try finish(attempt.mutation, table, answer: server, .reading(server), isAlreadyThere: true)
        return
      }
      try await resend(attempt, table, server: server, comparison)
    }
  }

  /// Settles a write whose row is gone: a delete is done, an update is a conflict.
  mutating func settleGone(_ attempt: GuardedAttempt, _ table: TableDescription) async throws(SyncFailure) {
    let mutation = attempt.mutation
    guard mutation.write.operation == .update else {
      try finish(mutation, table, answer: nil, .row(version: nil), isAlreadyThere: true)
      return
    }
    guard attempt.sends < Self.sendCountMax else {
      try park(attempt, table, nil, nil, Self.message(attempt, isGone: true))
      return
    }
    switch try await client.resolution(of: attempt, server: nil, nil) {
    case .keepServer:
      try client.commit { transaction in
        try transaction.remove(mutation.id)
        try transaction.show(nil, of: mutation.write.key, table)
      }
      report.conflictsKeptServer += 1
      note(mutation, .gaveWay)
    case .hold, .keepLocal, .apply:
      try park(attempt, table, nil, nil, Self.message(attempt, isGone: true))
    }
  }

  private static func message(_ attempt: GuardedAttempt, isGone: Bool) -> String {
    if isGone { return "the row is gone from the server since this change was made" }
    if attempt.isInsert { return "the server has a row with this key and other values" }
    return attempt.mutation.write.operation == .delete
      ? "the row changed on the server since it was deleted here"
      : "the row changed on the server since this change was made"
  }

  private mutating func park(
    _ attempt: GuardedAttempt, _ table: TableDescription, _ server: JSONObject?, _ comparison: ConflictComparison?,
    _ message: String
  ) throws(SyncFailure) {
    let mutation = attempt.mutation
    let moved = mutation.write.operation == .delete ? nil : comparison
    let entry = try client.commit { transaction -> ConflictedMutation? in
      try transaction.park(
        mutation, server: server, serverVersion: server.flatMap(table.version), moved, message: message,
        client.configuration.listBounds)
      // A row that is gone and one that a policy hides look the same: a developer's list keeps it until it is settled.
      if server != nil || table.isMirrored { try transaction.show(server, of: mutation.write.key, table) }
      return try transaction.conflictedMutation(mutation.id)
    }
    if let entry { report.conflicted.append(entry) }
    note(mutation, .conflicted)
  }
}
