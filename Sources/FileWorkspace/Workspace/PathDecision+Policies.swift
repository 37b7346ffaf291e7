import LosslessJSON
import OfflineEngine

extension PathDecision {
  /// Settles edits of a row that is gone, where the settings say how: the row is made again, or the edit goes to the
  /// trash with the file.
  ///
  /// What stands in a side file already is the person's to settle, whatever the settings say by now.
  ///
  /// - Returns: Whether anything was settled.
  mutating func settleGone(_ reading: PathReading, _ entry: inout MirrorEntry?) throws -> Bool {
    let policy = collection.settings.conflicts
    guard mayHaveSides, policy == .mine || policy == .theirs,
      let key = entry?.base.key ?? workspace.newFileKeys[PathKey(reading.path)]
    else { return false }
    let row = try transaction.row(collection.table, key)
    guard row.values == nil, row.pending.isEmpty else { return false }
    let shown = Set(try sides.of(collection.folder, key).flatMap(\.entries))
    let open = try transaction.conflictedMutations(collection.table, key).filter {
      $0.server == nil && $0.write.operation == .update && !shown.contains($0.id)
    }
    guard let newest = open.last else { return false }
    let before = entry?.base.values ?? newest.write.base?.values ?? [:]
    let mine = open.reduce(before) { $0.overlaid(with: $1.write.values) }
    if policy == .mine {
      // Without its file the row is not wanted any more; the side file asks.
      guard case .row = reading.file, var known = entry else { return false }
      try transaction.enqueue(
        .insert(
          into: collection.table, key: key, values: collection.keyValues(key).overlaid(with: collection.settable(mine)))
      )
      known.base = FileBase(key: key, values: mine, version: nil, writtenKey: known.base.writtenKey)
      try mirror.save(known)
      entry = known
      result.report.queued += 1
      result.report.note(.settled, reading.path, "its row was gone; it is made again, as the settings say")
    } else {
      let text = RowFile.render(collection.keyValues(key).overlaid(with: mine), collection.settings)
      result.trash.append(
        TrashItem(
          origin: reading.path, bytes: text, reason: "a conflict was settled for theirs, as the settings say"))
      result.report.note(
        .settled, reading.path, "its row is gone; your version is in the trash, as the settings say")
    }
    for conflict in open { try transaction.dismissConflictedMutation(conflict.id) }
    return true
  }
}
