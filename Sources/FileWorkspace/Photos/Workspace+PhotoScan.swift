import OfflineEngine

extension Workspace {
  /// Lists a collection's photos completely, takes in what changed, and decides about what is gone.
  func scanPhotos(
    of collection: Collection, deleteAfter: Duration? = nil, isConfirmed: Bool = false, hasGitWorked: Bool = false,
    _ report: inout WorkspaceReport
  ) throws {
    guard let table = PhotoTable(collection), gitWork == nil else { return }
    photosToScan.remove(collection.folder)
    let startedAt = now
    listedAt[table.settings.folder] = startedAt
    let listing: PhotoListing
    do {
      listing = try PhotoListing(table, in: files)
    } catch let error as ScanError {
      if unscannable.updateValue(error, forKey: table.settings.folder) != error {
        report.note(.held, table.settings.folder, "\(error)")
      }
      return
    }
    unscannable[table.settings.folder] = nil
    let absence = PhotoAbsence(
      startedAt: startedAt,
      after: max(deleteAfter ?? settings.deleteAfter, isConfirmed ? .zero : Self.absenceProof),
      isConfirmed: isConfirmed, hasGitWorked: hasGitWorked)
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

  /// Whether photos are missing whose fate another listing will decide.
  func hasOpenPhotoAbsences(_ collection: Collection) throws -> Bool {
    guard PhotoTable(collection) != nil else { return false }
    return try client.read { try PhotoRecords($0).absent(collection.folder).contains { !$0.isHeld } }
  }
}
