import OfflineEngine

extension Workspace {
  /// Has the newest photos of each row come down, where the settings say how many.
  ///
  /// Which those are is known only when all rows are there. What is here already stays, however old it becomes.
  func chooseNewestPhotos(of table: PhotoTable) throws {
    guard case .newest(let count) = table.settings.download else { return }
    try client.transaction { transaction in
      let records = PhotoRecords(transaction)
      let byOwner = Dictionary(grouping: try records.all(table.collection.folder)) { $0.owner }
      for (owner, photos) in byOwner where owner != nil {
        guard photos.contains(where: { $0.state == .remote && !$0.isWanted }) else { continue }
        let dated = try photos.map { ($0, try takenAt($0, table, transaction)) }
        // Of those that do not say when they were taken it is not known that they are new.
        let newest = dated.sorted { ($0.1, $0.0.id) > ($1.1, $1.0.id) }.prefix(count)
        for (var record, _) in newest where record.state == .remote && !record.isWanted {
          record.isWanted = true
          try records.save(record)
        }
      }
    }
  }

  private func takenAt(
    _ record: PhotoRecord, _ table: PhotoTable, _ transaction: EngineTransaction
  ) throws -> Int64 {
    let text = try record.content?.takenAt ?? PhotoRowState(table, record.id, transaction).row?.takenAt
    return text.flatMap(PhotoTime.init)?.secondsSince1970 ?? .min
  }

  /// Notes the photos that lie in their folders as they were written: only from here on may their absence be a delete.
  func seeWrittenPhotos() throws {
    for table in photoTables {
      let folder = table.collection.folder
      let unseen = try client.read { try PhotoRecords($0).all(folder).filter { $0.seen != nil && !$0.wasSeen } }
      guard !unseen.isEmpty, let listing = try? PhotoListing(table, in: files) else { continue }
      let stamps = Dictionary(listing.files.map { (PathKey($0.path), $0.status.stamp) }) { first, _ in first }
      try client.transaction { transaction in
        let records = PhotoRecords(transaction)
        for known in unseen {
          guard var record = try records.record(id: known.id), let path = record.path,
            let stamp = record.seen?.stamp, stamps[PathKey(path)] == stamp
          else { continue }
          record.wasSeen = true
          try records.save(record)
        }
      }
    }
  }
}
