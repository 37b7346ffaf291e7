import OfflineEngine

/// What is known of a listing that shows some files no more.
struct PhotoAbsence: Sendable {
  /// When the listing began.
  var startedAt: WallTime
  /// How long a file must have been gone.
  var after: Duration
  /// Whether a person has said that what is missing in large numbers is really gone.
  var isConfirmed: Bool
  /// Whether git has just changed files.
  var hasGitWorked: Bool
}

extension PhotoFiling {
  /// Notes since when files are missing that were looked for in some folders alone: what that means a complete listing
  /// decides.
  mutating func notice(_ absent: [PhotoRecord], at time: WallTime) throws {
    for var record in absent where record.absentSince == nil {
      record.absentSince = time
      try records.save(record)
    }
  }

  /// Decides which of the missing photos a person has removed, by the proof that rows' files need (DESIGN section 8).
  mutating func settle(_ absent: [PhotoRecord], _ absence: PhotoAbsence) throws {
    guard !absent.isEmpty else { return }
    let all = try records.all(table.collection.folder).filter { $0.seen != nil }
    // One that was not read yet may be any of those that are missing.
    let isBlocked = all.contains { one in one.state == .unread && !absent.contains { $0.id == one.id } }
    let waiting = absent.filter { !$0.isHeld }
    let together = absent.filter {
      !$0.isHeld || absence.startedAt - ($0.absentSince ?? absence.startedAt) < AbsenceDecision.accidentSpan
    }
    let isAccident =
      !absence.isConfirmed
      && (VanishingBrake.holds(together.count, of: all.count) || (absence.hasGitWorked && !waiting.isEmpty))
    if isAccident, !waiting.isEmpty {
      report.note(
        .held, table.settings.folder,
        "\(waiting.count) of \(all.count) photos are missing; nothing is deleted until 'tidemark confirm', or they come back"
      )
    }
    for known in absent {
      var record = known
      let since = record.absentSince ?? absence.startedAt
      record.absentSince = since
      if isAccident { record.isHeld = true }
      let isProven = !record.isHeld && !isBlocked && absence.startedAt - since >= absence.after
      if absence.isConfirmed || isProven { try remove(record) } else if record != known { try records.save(record) }
    }
  }

  /// A person has removed a photo's file, or moved it by a copy.
  private mutating func remove(_ known: PhotoRecord) throws {
    var record = known
    let reading = PhotoReading(table: table, transaction: transaction)
    if try reading.takeHeldFile(for: record, &report) { return }
    let state = try PhotoRowState(table, record.id, transaction)
    guard record.wasSeen || record.object == nil else {
      // Nobody has seen the file since it was written: it is fetched again rather than its row deleted.
      try fetchAgain(&record)
      report.note(.note, record.lastPath, "went before anybody could have seen it; it comes back")
      return
    }
    if let row = state.row, let base = state.base {
      if !state.isPending, row.object != record.object?.key, row.object != record.sent?.key {
        try fetchAgain(&record)
        report.note(.note, record.lastPath, "was replaced elsewhere since it was removed here; it comes back")
        return
      }
      try transaction.enqueue(.delete(from: table.name, key: RowKey(record.id), base: base, coalesces: true))
      report.queued += 1
    }
    try leave(record, waitingForOwner: false)
    report.photosToDo += 1
    try records.remove(id: record.id)
    report.note(.deleted, record.lastPath, "photo")
  }

  /// Has a photo's bytes come down again.
  mutating func fetchAgain(_ record: inout PhotoRecord) throws {
    report.photosToDo += 1
    (record.seen, record.content, record.absentSince, record.isHeld) = (nil, nil, nil, false)
    (record.state, record.reason, record.attempts, record.retryAt) = (.remote, nil, 0, nil)
    record.path = record.path ?? record.lastPath
    try records.save(record)
    try transaction.touchRow(table.name, RowKey(record.id))
  }

  /// Has a photo's objects removed once nothing names them.
  ///
  /// - Parameter waitingForOwner: Whether the photo goes with the row that it belongs to; else a person has removed its
  ///   file.
  func leave(_ record: PhotoRecord, waitingForOwner: Bool) throws {
    let keys = [record.object?.key, record.sent?.key, record.uploadKey].compactMap(\.self)
    try PhotoLeftovers(transaction).add(keys, of: record, owner: waitingForOwner ? record.owner : nil)
  }
}
