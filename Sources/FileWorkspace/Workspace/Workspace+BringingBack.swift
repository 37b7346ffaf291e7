import OfflineEngine

extension Workspace {
  /// Writes files anew that are missing while their rows are there, or has missing photos come down again: the other
  /// answer to what is held, beside `confirm`.
  ///
  /// - Parameter path: A collection's or photos' folder for all that is missing in it, or the path of one missing file.
  /// - Returns: `nil` where the path is none of those, so that its text may be in the trash.
  func bringBackMissing(_ path: String?) throws -> WorkspaceChange? {
    guard let path else { return nil }
    if let whole = collections.first(where: { PathKey($0.folder) == PathKey(path) }) {
      return try bringBackFiles(of: whole)
    }
    if let table = photoTables.first(where: { PathKey($0.settings.folder) == PathKey(path) || $0.settings.holds(path) })
    {
      return try bringBackPhotos(path, table)
    }
    guard let collection = collection(of: path),
      let entry = try client.read({ try Mirror($0).entry(path: path) }), try files.status(path) == nil
    else { return nil }
    try checkGit()
    var change = WorkspaceChange(path: path, message: "\(path) is back, as its row says")
    guard let count = try bringBack([entry], collection, &change.report) else { return nil }
    guard count == 1 else { throw WorkspaceRequestError.notYetBack(path) }
    return change
  }

  private func bringBackFiles(of collection: Collection) throws -> WorkspaceChange {
    try checkGit()
    var change = WorkspaceChange(path: collection.folder, message: "")
    do throws(FileSystemError) { _ = try files.createFolder(collection.folder, isPrivate: false) } catch {
      throw WorkspaceRequestError.notWritten(path: collection.folder, reason: "\(error)")
    }
    try scan(collection, deleteAfter: nil, &change.report)
    let absent = try client.read { try Mirror($0).absentEntries(collection.folder) }
    guard let count = try bringBack(absent, collection, &change.report) else {
      throw WorkspaceRequestError.noSuchEntry(
        collection.folder, list: "missing", hint: "'tidemark trash' lists the texts that lost their place")
    }
    guard count > 0 else { throw WorkspaceRequestError.notYetBack(collection.folder) }
    let noun = count == 1 ? "file" : "files"
    change.message = "\(count) missing \(noun) of \(collection.folder) written, as the rows say"
    return change
  }

  /// - Returns: How many files are there now; `nil` where none of the rows is.
  private func bringBack(
    _ entries: [MirrorEntry], _ collection: Collection, _ report: inout WorkspaceReport
  ) throws -> Int? {
    let missing = try client.transaction { transaction in
      let missing = try entries.filter { try transaction.row(collection.table, $0.base.key).values != nil }
      for entry in missing {
        try Mirror(transaction).remove(entry)
        try transaction.touchRow(collection.table, entry.base.key)
      }
      return missing
    }
    for entry in missing { takenNames[collection.folder]?.remove(WorkspacePath.name(of: entry.lastPath)) }
    report.add(try writeRows())
    guard !missing.isEmpty else { return nil }
    return try client.read { transaction in
      try missing.count { try Mirror(transaction).entry(collection.folder, key: $0.base.key) != nil }
    }
  }

  private func bringBackPhotos(_ path: String, _ table: PhotoTable) throws -> WorkspaceChange? {
    try checkGit()
    var change = WorkspaceChange(path: path, message: "")
    try scanPhotos(of: table.collection, &change.report)
    let count = try client.transaction { transaction in
      var filing = PhotoFiling(table, transaction, makeID: environment.makeID)
      let count = try filing.bringBackMissing(at: path)
      change.report.add(filing.report)
      return count
    }
    guard count > 0 else { return nil }
    change.message = count == 1 ? "1 missing photo comes down again" : "\(count) missing photos come down again"
    return change
  }

  /// Throws while git is at work, when nothing is written.
  func checkGit() throws {
    try watchGit()
    guard let gitWork else { return }
    throw WorkspaceRequestError.badInput(
      "git is at work (\(gitWork.text)); try again when it has finished, nothing was changed")
  }
}

extension WorkspaceRequestError {
  /// A missing file could not be written, as on a full disk; it is tried again.
  fileprivate static func notYetBack(_ path: String) -> WorkspaceRequestError {
    .notWritten(path: path, reason: "'tidemark status' says what is in the way; it is written as soon as nothing is")
  }
}

extension PhotoFiling {
  /// Has the photos that are missing at a path, or below it, come down again.
  ///
  /// - Returns: How many they are; one that was never sent is nowhere else.
  fileprivate mutating func bringBackMissing(at path: String) throws -> Int {
    var count = 0
    for record in try records.all(table.collection.folder) where record.absentSince != nil && record.object != nil {
      let place = record.path ?? record.lastPath
      guard PathKey(place) == PathKey(path) || place.hasPrefix(path + "/") else { continue }
      var record = record
      try fetchAgain(&record)
      count += 1
    }
    return count
  }
}
