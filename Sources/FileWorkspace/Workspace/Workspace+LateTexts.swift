import LosslessJSON
import OfflineEngine

extension Workspace {
  /// Takes texts that were saved into files after these had left their paths (DESIGN section 7, step 4).
  ///
  /// Each is diffed against the base it was made from, as a save at the path would be; the text goes to the trash too.
  func takeLateTexts(_ report: inout WorkspaceReport) throws {
    for late in try replaced.lateTexts() {
      let origin = late.replaced.origin
      try keep([TrashItem(origin: origin, bytes: late.bytes, reason: "saved into a file that had been replaced")])
      if let collection = collection(of: origin), let file = try? RowFile.read(late.bytes, collection.settings) {
        let columns = try client.transaction { try takeLate(file, origin, collection, $0) }
        if !columns.isEmpty {
          report.queued += 1
          report.note(.edited, origin, columns.joined(separator: ", "))
        }
      }
      try replaced.acknowledge(late)
      report.note(.note, origin, "a save that came late was taken; its text is in the trash")
    }
    try replaced.sweep(now: now.nanoseconds / 1_000_000)
  }

  private func takeLate(
    _ file: RowFile, _ origin: String, _ collection: Collection, _ transaction: EngineTransaction
  ) throws -> [String] {
    let mirror = Mirror(transaction)
    guard let entry = try mirror.entry(path: origin) else { return [] }
    // Whoever writes here had an older text open: unlike a save at the path, one that equals it puts nothing back.
    let bases = [entry.base] + (try mirror.earlierBases(entry, at: now))
    let base = bases.min { edit(file.values, from: $0.values).count < edit(file.values, from: $1.values).count }
    guard let base else { return [] }
    let columns = edit(file.values, from: base.values)
    guard !columns.isEmpty, collection.readOnly(columns).isEmpty else { return [] }
    let seen = JSONObject(base.values.members.filter { columns[$0.name] != nil })
    try transaction.enqueue(
      .update(
        collection.table, key: entry.base.key, values: columns, base: WriteBase(values: seen, version: base.version),
        coalesces: base == entry.base))
    return columns.names
  }
}
