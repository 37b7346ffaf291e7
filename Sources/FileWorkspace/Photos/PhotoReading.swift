import LosslessJSON
import OfflineEngine

/// Decides what a file means that was read, or sent, within one transaction.
struct PhotoReading {
  let table: PhotoTable
  let transaction: EngineTransaction
  private var records: PhotoRecords { PhotoRecords(transaction) }

  /// A file's content is known now.
  func settle(_ record: inout PhotoRecord, _ report: inout WorkspaceReport) throws {
    guard let content = record.content else { return }
    if record.isNew, try takeForKnown(&record, content, &report) { return }
    if let sent = record.sent {
      record.state = sent.sha256 == content.sha256 ? .sent : .waiting
    } else if let object = record.object, object.sha256 == content.sha256 {
      record.state = record.row == nil ? .waiting : .stored
    } else {
      record.state = .waiting
      if record.object != nil { report.note(.edited, record.lastPath, "the picture") }
    }
    if record.state == .waiting, record.owner == nil { table.hold(&record, &report) }
    // What the row said meanwhile was left until now.
    try transaction.touchRow(table.name, RowKey(record.id))
  }

  /// A new file that is a known photo: moved in a way that gave it another number, or fetched for a row before its
  /// record was lost.
  private func takeForKnown(
    _ record: inout PhotoRecord, _ content: PhotoContent, _ report: inout WorkspaceReport
  ) throws -> Bool {
    if let moved = try records.absent(record.collection).first(where: {
      $0.id != record.id && $0.seen != nil && $0.knownSHA256 == content.sha256
    }) {
      record = try move(moved, to: record, content, &report)
      return true
    }
    let recognition = PhotoRecognition(table: table, transaction: transaction)
    guard let photo = try recognition.photo(for: record, content, sent: content.sha256) else { return false }
    record = photo
    return true
  }

  /// Takes a held file for a photo whose own file was removed, where it has the photo's bytes: it was copied there to be
  /// moved.
  ///
  /// - Returns: Whether there is such a file; then nothing of the photo goes.
  func takeHeldFile(for removed: PhotoRecord, _ report: inout WorkspaceReport) throws -> Bool {
    guard removed.row != nil, let sha256 = removed.knownSHA256 else { return false }
    let alike = try records.held(removed.collection, saying: sha256).first { $0.isNew && $0.seen != nil }
    guard let held = alike, let content = held.content else { return false }
    _ = try move(removed, to: held, content, &report)
    return true
  }

  /// A photo's file lies where another record's does, which was none of a photo's.
  private func move(
    _ known: PhotoRecord, to place: PhotoRecord, _ content: PhotoContent, _ report: inout WorkspaceReport
  ) throws -> PhotoRecord {
    var moved = known
    try table.replace(place, transaction)
    let from = moved.lastPath
    (moved.path, moved.lastPath, moved.seen, moved.content) = (place.path, place.lastPath, place.seen, content)
    (moved.absentSince, moved.isHeld, moved.wasSeen) = (nil, false, true)
    if moved.state == .unread || moved.state == .failed {
      moved.state = moved.row == nil ? .waiting : moved.sent == nil ? .stored : .sent
    }
    if let owner = place.owner {
      moved.owner = owner
      var filing = PhotoFiling(table, transaction, makeID: { "" })
      let name =
        WorkspacePath.name(of: from) == WorkspacePath.name(of: moved.lastPath)
        ? moved.row?.name : FileNames.composed(WorkspacePath.name(of: moved.lastPath))
      try filing.setPlace(PhotoPlace(owner: owner, name: name ?? WorkspacePath.name(of: moved.lastPath)), of: &moved)
      report.add(filing.report)
    }
    report.note(.moved, moved.lastPath, "from \(from)")
    return try records.save(moved)
  }

  /// A file's bytes are in the bucket: its row is to say so.
  ///
  /// - Parameter content: What was sent: the file, or a copy of it that was prepared. The row tells of that.
  func sent(
    _ record: inout PhotoRecord, _ upload: PhotoUpload, _ content: PhotoContent, size: Int64,
    _ report: inout WorkspaceReport
  ) throws {
    // A server that re-encodes what it is given has other bytes, of which nothing more is known.
    let isSame = size == content.size
    if !isSame {
      report.note(
        .note, record.lastPath,
        "the server keeps other bytes than were sent (\(size) instead of \(content.size)); the file here stays as it is"
      )
    }
    let object = PhotoObject(key: upload.key, sha256: upload.content.sha256, size: size)
    record.uploadKey = nil
    (record.state, record.reason, record.attempts, record.retryAt) = (.sent, nil, 0, nil)
    if let former = record.sent, former.key != object.key {
      try PhotoLeftovers(transaction).add(former.key, of: record)
    }
    record.sent = object
    var told = object
    told.sha256 = isSame ? content.sha256 : nil
    let values = table.values(of: told, content)
    let key = RowKey(record.id)
    if record.row == nil, let owner = record.owner {
      let place = PhotoPlace(owner: owner, name: FileNames.composed(WorkspacePath.name(of: record.lastPath)))
      record.row = place
      try transaction.enqueue(
        .insert(
          into: table.name, key: key,
          values: JSONObject([(name: "id", value: .string(record.id))]).overlaid(with: table.values(of: place))
            .overlaid(with: values)))
      report.queued += 1
    } else if let base = try PhotoRowState(table, record.id, transaction).base {
      let changed = JSONObject(values.members.filter { base.values[$0.name] != $0.value })
      // It says so already.
      if changed.isEmpty { return try transaction.touchRow(table.name, key) }
      try transaction.enqueue(
        .update(
          table.name, key: key, values: changed,
          base: WriteBase(values: base.values, version: base.version), coalesces: true))
      report.queued += 1
    } else {
      try transaction.touchRow(table.name, key)
    }
    report.note(.note, record.lastPath, "sent")
  }
}
