import LosslessJSON
import OfflineEngine

extension Workspace {
  /// Whether a text is what this program writes of the server's row: nothing that anybody has typed is in it alone.
  func standsInRow(_ text: [UInt8]) throws -> Bool {
    try client.read { transaction in
      try collections.contains { collection in
        guard let key = try? RowFile.read(text, collection.settings).key.map(RowKey.init),
          let row = try transaction.cachedRow(collection.table, key)?.values
        else { return false }
        let values = collection.keyValues(key).overlaid(with: collection.fileValues(row))
        return RowFile.render(values, collection.settings) == text
      }
    }
  }

  /// Takes texts that were saved into files after these had left their paths (DESIGN section 7, step 4).
  ///
  /// Each is diffed against the base it was made from, as a save at the path would be; the text goes to the trash too.
  ///
  /// - Parameter paths: Where to look among the files that have left their paths; `nil` for all.
  func takeLateTexts(at paths: [String]? = nil, _ report: inout WorkspaceReport) throws {
    for late in try replaced.lateTexts(at: paths) {
      let origin = late.replaced.origin
      try keep([TrashItem(origin: origin, bytes: late.bytes, reason: "saved into a file that had been replaced")])
      // Another row's file may lie at the path by now: the text is of the row that the file was.
      if case .row(let folder, let base) = WriteContext(text: late.replaced.context),
        let collection = collections.first(where: { $0.folder == folder }),
        let file = try? RowFile.read(late.bytes, collection.settings)
      {
        if let (columns, path) = try client.transaction({ try takeLate(file, of: base, collection, $0) }) {
          changeBacks.note(own: columns, of: PathKey(path), at: now)
          report.queued += 1
          report.note(.edited, origin, columns.names.joined(separator: ", "))
        }
      }
      try replaced.acknowledge(late)
      report.note(.note, origin, "was saved into after it had been replaced; that text is in the trash")
    }
  }

  /// - Returns: What was queued, and where the row's file lies; `nil` for nothing.
  private func takeLate(
    _ file: RowFile, of written: FileBase, _ collection: Collection, _ transaction: EngineTransaction
  ) throws -> (columns: JSONObject, path: String)? {
    let mirror = Mirror(transaction)
    guard let entry = try mirror.entry(collection.folder, key: written.key) else { return nil }
    // Whoever writes here had an older text open: unlike a save at the path, one that equals it puts nothing back.
    // What lies there now counts last, and what was written there not at all: that was not before the writer's eyes.
    let bases = try mirror.earlierBases(entry, at: now) + [entry.base]
    let base = bases.min { edit(file.values, from: $0.values).count < edit(file.values, from: $1.values).count }
    guard let base else { return nil }
    // A column that moved on at the path since keeps what it has there, sent or not: the late text did not see that.
    let columns = JSONObject(
      edit(file.values, from: base.values).members.filter { name, _ in
        entry.base.values[name] == written.values[name]
      })
    guard !columns.isEmpty, collection.readOnly(columns).isEmpty else { return nil }
    let seen = JSONObject(base.values.members.filter { columns[$0.name] != nil })
    try transaction.enqueue(
      .update(
        collection.table, key: entry.base.key, values: columns, base: WriteBase(values: seen, version: base.version),
        coalesces: base == entry.base))
    return (columns, entry.lastPath)
  }
}
