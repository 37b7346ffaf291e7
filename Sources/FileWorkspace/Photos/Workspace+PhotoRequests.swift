import OfflineEngine

extension Workspace {
  /// Has photos come down that are on the server only.
  ///
  /// - Parameter paths: Where they would lie; a folder means all photos in it.
  /// - Returns: How many are to come that were not yet.
  /// - Throws: `WorkspaceRequestError.noSuchEntry` for a path that means no photo; then nothing was changed.
  public func wantPhotos(_ paths: [String]) throws -> Int {
    try change(paths) { record in
      guard record.state == .remote || record.state == .failed && record.seen == nil else { return false }
      let before = record
      (record.state, record.isWanted) = (.remote, true)
      Self.startAnew(&record)
      return record != before
    }
  }

  /// Tries photos again that have failed.
  ///
  /// One that is named itself, and not by its folder, is sent anew even where all is in step: its object may be gone.
  ///
  /// - Parameter paths: Where they lie; a folder means all photos in it, and no path at all every photo.
  /// - Returns: How many are tried again.
  /// - Throws: As ``wantPhotos(_:)``.
  public func retryPhotos(_ paths: [String]) throws -> Int {
    try change(paths) { record in
      let isNamed = record.path.map { path in paths.contains { PathKey($0) == PathKey(path) } } ?? false
      if isNamed, record.state == .stored, record.seen != nil {
        // Whatever the object holds, it is none of this file any more.
        record.object?.sha256 = nil
        (record.state, record.content) = (.unread, nil)
        Self.startAnew(&record)
        return true
      }
      guard record.state == .failed || record.attempts > 0 else { return false }
      if record.state == .failed {
        // The file is read anew: it may have been mended in a way that its numbers do not show.
        record.state = record.seen == nil ? .remote : .unread
        if record.seen != nil { record.content = nil }
      }
      Self.startAnew(&record)
      return true
    }
  }

  private static func startAnew(_ record: inout PhotoRecord) {
    (record.reason, record.attempts, record.retryAt) = (nil, 0, nil)
  }

  private func change(_ paths: [String], _ body: (inout PhotoRecord) -> Bool) throws -> Int {
    try client.transaction { transaction in
      let records = PhotoRecords(transaction)
      let all = try collections.flatMap { try records.all($0.folder) }
      var chosen = paths.isEmpty ? all : []
      for path in paths {
        let found = all.filter { record in
          let place = record.path ?? record.lastPath
          return PathKey(place) == PathKey(path) || PathKey(WorkspacePath.folder(of: place)) == PathKey(path)
        }
        guard !found.isEmpty else {
          throw WorkspaceRequestError.noSuchEntry(
            path, list: "among the photos", hint: "'tidemark photos list' shows them")
        }
        chosen += found
      }
      var count = 0
      for var record in chosen where body(&record) {
        try records.save(record)
        count += 1
      }
      return count
    }
  }
}
