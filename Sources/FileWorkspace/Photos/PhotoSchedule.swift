import LosslessJSON
import OfflineEngine

/// Finds the next piece of work on a collection's photos, within one transaction.
struct PhotoSchedule {
  let table: PhotoTable
  let transaction: EngineTransaction
  let makeID: @Sendable () -> String
  private let records: PhotoRecords
  private let now: WallTime

  init(_ table: PhotoTable, _ transaction: EngineTransaction, makeID: @escaping @Sendable () -> String) {
    self.table = table
    self.transaction = transaction
    self.makeID = makeID
    records = PhotoRecords(transaction)
    now = transaction.now
  }

  /// The next file to be read.
  func nextRead() throws -> PhotoJob? {
    try first(.unread) { $0.path != nil && $0.absentSince == nil }.map(PhotoJob.read)
  }

  /// The next thing to be sent, removed or fetched.
  func nextTransfer() throws -> PhotoJob? { try nextUpload() ?? nextRemoval() ?? nextDownload() }

  /// The first that is due and fits, in the order in which photos came.
  private func first(
    _ state: PhotoRecord.State, where fits: (PhotoRecord) throws -> Bool
  ) throws -> PhotoRecord? {
    var last: Int64 = 0
    while let record = try records.next(state, after: last, at: now) {
      if record.collection == table.collection.folder, try fits(record) { return record }
      last = record.number
    }
    return nil
  }

  private func nextUpload() throws -> PhotoJob? {
    let recognition = PhotoRecognition(table: table, transaction: transaction)
    var owners: [String: Bool] = [:]
    let isSwept = try transaction.hasBeenSwept(table.name)
    let found = try first(.waiting) { record in
      // A new file may be a photo whose row has not come yet.
      guard record.path != nil, record.absentSince == nil, let content = record.content, let owner = record.owner,
        isSwept || !record.isNew
      else { return false }
      let isThere = try owners[owner] ?? isOnServer(owner)
      owners[owner] = isThere
      guard isThere else { return false }
      return try !mayBeKnown(record) || recognition.photo(for: record, content, sent: content.sha256) == nil
    }
    guard var record = found, let path = record.path, let content = record.content, let owner = record.owner else {
      return nil
    }
    // What a copy of the file for sending looks like is known once it was made.
    let isPrepared = !table.settings.prepare.isNothing
    let known = try isPrepared && mayBeKnown(record) ? recognition.hashes(of: owner) : []
    let mayHaveArrived = record.uploadKey != nil
    let key = try record.uploadKey ?? newKey(for: record)
    record.uploadKey = key
    record = try records.save(record)
    return .upload(
      PhotoUpload(
        record: record, path: path, content: content, bucket: table.settings.bucket, key: key,
        mayHaveArrived: mayHaveArrived, prepare: table.settings.prepare, known: known))
  }

  /// Whether a file may be a photo that is on the server already: nothing of it has been sent.
  private func mayBeKnown(_ record: PhotoRecord) -> Bool { record.isNew && record.uploadKey == nil }

  /// The key of a new object: the user's and the photo's id, and for each later picture of the photo a mark behind them.
  ///
  /// A key never gets other bytes: whoever reads it has what the row tells of, whatever lies in caches on the way.
  private func newKey(for record: PhotoRecord) throws -> String {
    let first = "\(transaction.user)/\(record.id)"
    let isFirst = record.object == nil && record.sent == nil && record.row == nil
    if isFirst, try !PhotoLeftovers(transaction).all().contains(where: { $0.object == first }) { return first }
    return "\(first).\(makeID().prefix(8))"
  }

  private func isOnServer(_ owner: String) throws -> Bool {
    guard let key = table.collection.key(text: owner) else { return false }
    return try transaction.cachedRow(table.collection.table, key)?.values != nil
  }

  private func nextRemoval() throws -> PhotoJob? {
    let leftovers = PhotoLeftovers(transaction)
    for leftover in try leftovers.all(table.collection.folder) where leftover.retryAt.map({ $0 <= now }) ?? true {
      switch try leftover.verdict(table, transaction) {
      case .remove: return .remove(leftover, bucket: table.settings.bucket)
      case .keep:
        try takeRowAlong(leftover)
      case .wait: continue
      }
    }
    return nil
  }

  /// The row that was to go with a leftover is there: either it stays, or it goes after the row that it belonged to.
  private func takeRowAlong(_ leftover: PhotoLeftover) throws {
    let photo = try PhotoRowState(table, leftover.photo, transaction)
    // Moved to another row meanwhile, by another device, it is that one's.
    if let owner = leftover.owner, photo.row?.place.owner == owner, let key = table.collection.key(text: owner),
      let state = try transaction.cachedRow(table.collection.table, key), state.values == nil, let base = photo.base
    {
      try transaction.enqueue(.delete(from: table.name, key: RowKey(leftover.photo), base: base, coalesces: true))
    } else {
      try PhotoLeftovers(transaction).remove(leftover.object)
    }
  }

  private func nextDownload() throws -> PhotoJob? {
    let found = try first(.remote) { record in
      guard let path = record.path, record.isWanted else { return false }
      // One that is still to be read may be the photo.
      if record.seen == nil, try records.hasUnreadFile(in: WorkspacePath.folder(of: path)) { return false }
      let state = try PhotoRowState(table, record.id, transaction)
      return state.row != nil && !state.isPending
    }
    guard let found, let row = try PhotoRowState(table, found.id, transaction).row else { return nil }
    return .download(PhotoDownload(record: found, row: row, bucket: table.settings.bucket))
  }
}
