import OfflineEngine

/// Tells which photo of the server a file is that this device has no record of: its state was lost, or the files were
/// copied from another device.
struct PhotoRecognition {
  let table: PhotoTable
  let transaction: EngineTransaction
  private var records: PhotoRecords { PhotoRecords(transaction) }

  /// The photos of an owner that are on the server only.
  private func remotes(of owner: String) throws -> [(record: PhotoRecord, row: PhotoRow)] {
    try records.remotes(table.collection.folder, owner: owner)
      .compactMap { record in try PhotoRowState(table, record.id, transaction).row.map { (record, $0) } }
  }

  /// The hashes that the rows of such photos tell of.
  func hashes(of owner: String) throws -> Set<String> { Set(try remotes(of: owner).compactMap(\.row.sha256)) }

  /// Makes a file the file of a photo that is on the server only, if one has its bytes.
  ///
  /// - Parameter sha256: Of what would be sent of the file: its own bytes, or those of a copy.
  /// - Returns: The photo's record, in the place of the file's own.
  func photo(
    for record: PhotoRecord, _ content: PhotoContent, sent sha256: String
  ) throws -> PhotoRecord? {
    guard let owner = record.owner else { return nil }
    let alike = try remotes(of: owner).filter { $0.row.sha256 == sha256 && $0.record.id != record.id }
    let name = WorkspacePath.name(of: record.lastPath)
    guard let remote = alike.first(where: { $0.row.place.name == name }) ?? alike.first else { return nil }
    return try join(record, content, remote.record, remote.row)
  }

  /// Makes a file that waits to be sent the file of a photo whose row has just come.
  ///
  /// - Returns: The photo's record, where there is such a file.
  func takeFile(for row: PhotoRow, _ id: String) throws -> PhotoRecord? {
    let mirror = Mirror(transaction)
    guard let sha256 = row.sha256, let entry = try mirror.entry(table.collection.folder, keyText: row.place.owner)
    else { return nil }
    let folder = table.settings.path(forFileNamed: WorkspacePath.name(of: entry.path ?? entry.lastPath))
    let alike = try records.records(
      table.collection.folder, below: table.settings.folder, names: [WorkspacePath.name(of: folder)]
    ).filter { file in
      file.isNew && file.absentSince == nil && [.waiting, .held].contains(file.state)
        && file.content?.sha256 == sha256 && file.path != nil
    }
    let path = WorkspacePath.joined(folder, row.place.name)
    guard let file = alike.first(where: { $0.path == path }) ?? alike.first, let content = file.content else {
      return nil
    }
    let photo = PhotoRecord(
      id: id, collection: table.collection.folder, owner: row.place.owner, path: file.lastPath, state: .remote)
    return try join(file, content, photo, row)
  }

  private func join(
    _ file: PhotoRecord, _ content: PhotoContent, _ remote: PhotoRecord, _ row: PhotoRow
  ) throws -> PhotoRecord {
    try table.replace(file, transaction)
    var photo = remote
    (photo.path, photo.lastPath, photo.seen, photo.content) = (file.path, file.lastPath, file.seen, content)
    photo.object = PhotoObject(key: row.object, sha256: content.sha256, size: row.size)
    // It may be called otherwise: then it gets the name that it has everywhere.
    photo.row = PhotoPlace(owner: row.place.owner, name: FileNames.composed(WorkspacePath.name(of: file.lastPath)))
    if photo.row != row.place { try transaction.touchRow(table.name, RowKey(photo.id)) }
    photo.wasSeen = true
    (photo.state, photo.reason, photo.attempts, photo.retryAt) = (.stored, nil, 0, nil)
    return try records.save(photo)
  }
}

extension PhotoRecord {
  /// The hash of its file, as far as it is known.
  var knownSHA256: String? { content?.sha256 ?? object?.sha256 }

  /// Whether nothing of it has been on the server, as far as this device knows.
  var isNew: Bool { object == nil && sent == nil && row == nil }
}
