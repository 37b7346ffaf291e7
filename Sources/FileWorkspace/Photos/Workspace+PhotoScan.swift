import OfflineEngine

extension Workspace {
  /// Lists a collection's photos completely, takes in what changed, and decides about what is gone.
  func scanPhotos(
    of collection: Collection, deleteAfter: Duration? = nil, isConfirmed: Bool = false,
    _ report: inout WorkspaceReport
  ) throws {
    guard let table = PhotoTable(collection), gitWork == nil else { return }
    photosToScan.remove(collection.folder)
    photosToLook[collection.folder] = nil
    let startedAt = now
    listedAt[table.settings.folder] = startedAt
    guard let listing = try listing(table, names: nil, &report) else { return }
    let absence = PhotoAbsence(
      startedAt: startedAt,
      after: max(deleteAfter ?? settings.deleteAfter, isConfirmed ? .zero : Self.absenceProof),
      isConfirmed: isConfirmed, hasGitWorked: hasGitWorked(at: startedAt))
    let filed = try client.transaction { transaction in
      var filing = PhotoFiling(table, transaction, makeID: environment.makeID)
      let absent = try filing.take(listing)
      if listing.isSteady { try filing.settle(absent, absence) }
      return filing.report
    }
    report.add(filed)
    // What was left until the file is known to be there, or gone.
    try takePhotoRows(of: collection, &report)
  }

  /// Lists the folders of a collection's photos that something was touched in, and takes in what changed.
  func lookAtPhotos(of collection: Collection, _ report: inout WorkspaceReport) throws {
    guard let table = PhotoTable(collection), gitWork == nil,
      let names = photosToLook.removeValue(forKey: collection.folder)
    else { return }
    let startedAt = now
    guard let listing = try listing(table, names: names, &report) else { return }
    let filed = try client.transaction { [files] transaction in
      var filing = PhotoFiling(table, transaction, makeID: environment.makeID) { try files.status($0)?.identity }
      let absent = try filing.take(listing)
      if listing.isSteady { try filing.notice(absent, at: startedAt) }
      return filing.report
    }
    report.add(filed)
    try takePhotoRows(of: collection, &report)
  }

  /// A listing of all or some of a collection's photos; nil where an absence would mean nothing.
  private func listing(
    _ table: PhotoTable, names: Set<String>?, _ report: inout WorkspaceReport
  ) throws -> PhotoListing? {
    let folder = table.settings.folder
    do {
      let listing =
        try names.map { try PhotoListing(table, in: files, names: $0) } ?? PhotoListing(table, in: files)
      unscannable[folder] = nil
      return listing
    } catch let error as ScanError {
      if unscannable.updateValue(error, forKey: folder) != error { report.note(.held, folder, "\(error)") }
      return nil
    }
  }

  /// Has the folder looked at again in which a photo's file lies.
  func lookAgain(at record: PhotoRecord) {
    guard let table = photoTables.first(where: { $0.collection.folder == record.collection }),
      let name = table.settings.entry(of: record.path ?? record.lastPath)
    else { return }
    photosToLook[record.collection, default: []].insert(name)
  }

  /// Whether photos are missing whose fate another listing will decide.
  func hasOpenPhotoAbsences(_ collection: Collection) throws -> Bool {
    guard PhotoTable(collection) != nil else { return false }
    return try client.read { try PhotoRecords($0).absent(collection.folder).contains { !$0.isHeld } }
  }
}
