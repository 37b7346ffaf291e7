import LosslessJSON
import OfflineEngine

extension WorkspaceTarget {
  /// Whether an entry of this number, at one of these paths, is meant.
  public func means(_ id: Int64, _ paths: [String?]) -> Bool {
    switch self {
    case .entry(let number): number == id
    case .path(let path): paths.contains { $0.map { PathKey($0) == PathKey(path) } ?? false }
    case .key: false
    }
  }
}

extension Workspace {
  // MARK: Queued writes

  /// Drops queued writes unsent; their rows and files show again what the server has.
  ///
  /// The file of a new row goes to the trash with it.
  public func discard(_ target: WorkspaceTarget) throws -> WorkspaceChange {
    let all = try client.read { try PendingEntry.all($0, settings) }
    var chosen = all.filter { target.means($0.mutation.id, [$0.path]) }
    guard let first = chosen.first, let collection = collection(table: first.mutation.write.table) else {
      throw WorkspaceRequestError.noSuchEntry(
        target.text, list: "waiting to be sent", hint: "'tidemark pending' lists what waits")
    }
    let (key, isInsert) = (first.mutation.write.key, chosen.contains { $0.mutation.write.operation == .insert })
    if isInsert {  // Writes behind a new row's insert are nothing without it.
      chosen = all.filter { $0.mutation.write.table == collection.table && $0.mutation.write.key == key }
    }
    let path = first.path ?? ""
    var change = WorkspaceChange(
      path: path, entries: chosen.map(\.mutation.id), message: "discarded \(Self.sentence(chosen.map(\.mutation.id)))")
    if chosen.contains(where: { $0.mutation.sendCount > 0 }) {
      change.message += "; it had been sent without an answer, so the server may have it"
    }
    let text = path.isEmpty ? nil : try content(path)
    if let text, !isInsert {
      try keep([TrashItem(origin: path, bytes: text.bytes, reason: "its queued change was discarded")])
    }
    try client.transaction { transaction in
      for entry in chosen { try transaction.discardPendingMutation(entry.mutation.id) }
      try transaction.touchRow(collection.table, key)
    }
    if isInsert, text != nil {
      try removeFile(path, of: key, collection, reason: "its queued insert was discarded")
      change.report.filesRemoved += 1
      change.message += "; '\(path)' is in the trash"
    }
    // That the file shows the server's row again is what was asked for, and no sync's doing.
    change.report.add(try currentSync.suspended(writeRows))
    return change
  }

  // MARK: Refused writes

  /// Tries a refused write again, with what the side file or, for a new row, the file says now.
  public func retry(_ target: WorkspaceTarget) throws -> WorkspaceChange {
    let entry = try refused(target).last
    guard let entry, let collection = collection(table: entry.mutation.write.table) else { throw noRefused(target) }
    let (write, id) = (entry.mutation.write, entry.mutation.id)
    var change = WorkspaceChange(path: entry.path ?? "", entries: [id], message: "trying \(Self.sentence([id])) again")
    // A fixed file may be the retry already; and the side file must stand before it can be laid over the row's.
    if let path = entry.path { change.report.add(try look(at: [path])) }
    change.report.add(try writeRows())
    guard try client.read({ try $0.rejectedMutations().contains { $0.id == id } }) else { return change }
    let side = try client.read { try SideFiles($0).of(collection.folder, write.key).first { $0.kind == .refused } }
    switch write.operation {
    case .update:
      if let side, side.isDurable, let path = entry.path {
        change.entries = side.entries
        try layOver(side, path, collection, &change.report)
      } else {
        try client.transaction { try $0.retryRejectedUpdate(entry.mutation) }
      }
    case .insert, .upsert: try client.transaction { _ = try $0.retryRejectedMutation(id) }
    case .delete:
      if let path = entry.path { try removeFile(path, of: write.key, collection, reason: "its delete is tried again") }
      try client.transaction { _ = try $0.retryRejectedMutation(id) }
    }
    change.report.queued += 1
    change.report.add(try writeRows())
    return change
  }

  /// Accepts refusals: the server's rows stand.
  public func dismiss(_ target: WorkspaceTarget) throws -> WorkspaceChange {
    let entries = try refused(target)
    guard let first = entries.first else { throw noRefused(target) }
    let ids = entries.map(\.mutation.id)
    var change = WorkspaceChange(
      path: first.path ?? "", entries: ids, message: "dismissed \(Self.sentence(ids)); the server's row stands")
    try keepUnwritten(of: entries.map { ($0.mutation.write, .refused) })
    try client.transaction { transaction in for id in ids { try transaction.dismissRejectedMutation(id) } }
    change.report.add(try writeRows())
    return change
  }

  private func refused(_ target: WorkspaceTarget) throws -> [RejectedEntry] {
    try client.read { try RejectedEntry.all($0, settings) }.filter { target.means($0.mutation.id, [$0.path, $0.side]) }
  }

  private func noRefused(_ target: WorkspaceTarget) -> WorkspaceRequestError {
    .noSuchEntry(
      target.text, list: "refused",
      hint: "'tidemark rejected' lists refusals; conflicts are settled with 'tidemark resolve PATH'")
  }

  // MARK: Parts

  func collection(table: String) -> Collection? { collections.first { $0.table == table } }

  /// Puts the texts of side files that never came to lie on the disk into the trash, before their entries go.
  func keepUnwritten(of writes: [(write: Write, kind: SideFileKind)]) throws {
    let sides = try client.read { transaction in
      try writes.flatMap { write, kind -> [SideFile] in
        guard let collection = collection(table: write.table) else { return [] }
        return try SideFiles(transaction).of(collection.folder, write.key).filter { $0.kind == kind }
      }
    }
    for side in Set(sides) where try files.status(side.path) == nil {
      try keep([TrashItem(origin: side.path, bytes: side.text, reason: "settled: the server's is kept")])
    }
  }

  /// Lays a side file over its row's file, as a person does who keeps theirs: the ordinary reconcile settles it.
  func layOver(_ side: SideFile, _ path: String, _ collection: Collection, _ report: inout WorkspaceReport) throws {
    var side = side
    if let onDisk = try content(side.path) { side.text = onDisk.bytes }
    let row = try rowFile(side.text, at: side.path, collection)
    if let reason = PathDecision.keyProblem(row.key.map(RowKey.init), of: side) {
      throw WorkspaceRequestError.unreadable(path: side.path, reason: reason)
    }
    // The text as it is laid over is the one by which the settling knows it again, also after it was edited.
    try client.transaction { [side] in try SideFiles($0).save(side) }
    var expected = ExpectedFile.absent
    if let current = try content(path) {
      try keep([TrashItem(origin: path, bytes: current.bytes, reason: "replaced: yours is kept")])
      expected = .content(current.hash)
    }
    try put(side.text, at: path, over: expected)
    try take(path, &report)
    let isOpen = try client.read { transaction in
      let open = try transaction.conflictedMutations().map(\.id) + transaction.rejectedMutations().map(\.id)
      return !Set(open).isDisjoint(with: side.entries)
    }
    if isOpen { throw WorkspaceRequestError.notSettled(path: path) }
  }

  static func sentence(_ ids: [Int64]) -> String {
    (ids.count == 1 ? "entry " : "entries ") + ids.map(String.init).joined(separator: ", ")
  }
}

extension EngineTransaction {
  /// Queues a refused update again against the row as it is known now.
  func retryRejectedUpdate(_ refused: RejectedMutation) throws {
    let write = refused.write
    let row = try row(write.table, write.key)
    let seen = (row.values ?? [:]).members.filter { write.values[$0.name] != nil }
    try dismissRejectedMutation(refused.id)
    try enqueue(
      .update(
        write.table, key: write.key, values: write.values,
        base: WriteBase(values: JSONObject(seen), version: row.server?.version), coalesces: true))
  }
}
