import OfflineEngine

extension PhotoTable {
  /// The file of the row that a photo belongs to by its folder; `nil` for one that lies loose in the folder of photos.
  func rowFile(ofPhotoAt path: String) -> String? {
    let folder = WorkspacePath.folder(of: path)
    guard folder != settings.folder else { return nil }
    return WorkspacePath.joined(collection.folder, WorkspacePath.name(of: folder) + ".json")
  }

  /// What is said of a file that lies loose.
  var looseHint: String {
    "a photo lies in the folder of what it belongs to: move it into '\(settings.folder)/NAME/' for "
      + "'\(collection.folder)/NAME.json'"
  }

  /// Has a photo wait until its folder belongs to a row, and tells so.
  func hold(_ record: inout PhotoRecord, _ report: inout WorkspaceReport) {
    let reason =
      rowFile(ofPhotoAt: record.lastPath).map {
        "no '\($0)' is there for the photos of this folder; make it, or rename the folder"
      } ?? looseHint
    (record.state, record.reason, record.attempts, record.retryAt) = (.held, reason, 0, nil)
    report.note(.held, record.lastPath, reason)
  }

  /// Has what was sent of a photo without a row removed: only that could have named it.
  func dropSent(_ record: inout PhotoRecord, _ transaction: EngineTransaction) throws {
    for key in [record.sent?.key, record.uploadKey].compactMap(\.self) {
      try PhotoLeftovers(transaction).add(key, of: record)
    }
    (record.sent, record.uploadKey) = (nil, nil)
  }

  /// Forgets a record whose file another photo's has: no row will name what may be on its way.
  func replace(_ record: PhotoRecord, _ transaction: EngineTransaction) throws {
    var record = record
    try dropSent(&record, transaction)
    try PhotoRecords(transaction).remove(id: record.id)
  }

  /// Whether there is no such row, and no write whose end could bring it back.
  fileprivate func isGone(_ owner: String, _ transaction: EngineTransaction) throws -> Bool {
    guard let key = collection.key(text: owner) else { return false }
    let row = try transaction.row(collection.table, key)
    return try row.values == nil && row.pending.isEmpty
      && transaction.rejectedMutations(collection.table, key).isEmpty
      && transaction.conflictedMutations(collection.table, key).isEmpty
  }
}

extension Workspace {
  /// Has photos wait for another row where the one that they were to belong to is gone, and they have none of their own.
  func releasePhotos(of table: PhotoTable) throws -> WorkspaceReport {
    guard try !client.read({ try PhotoRecords($0).unsent(table.collection.folder).isEmpty }) else {
      return WorkspaceReport()
    }
    return try client.transaction { transaction in
      var report = WorkspaceReport()
      let records = PhotoRecords(transaction)
      var known: [String: Bool] = [:]
      for var record in try records.unsent(table.collection.folder) {
        guard let owner = record.owner else { continue }
        let isGone = try known[owner] ?? table.isGone(owner, transaction)
        known[owner] = isGone
        guard isGone else { continue }
        try table.dropSent(&record, transaction)
        record.owner = nil
        // What is no photo stays what it is, wherever it lies.
        if record.content != nil { table.hold(&record, &report) }
        report.photosToDo += 1
        try records.save(record)
      }
      return report
    }
  }
}
