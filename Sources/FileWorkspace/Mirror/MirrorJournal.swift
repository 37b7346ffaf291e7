import LosslessJSON
import OfflineEngine
import SQLite

/// The durable memory of write-backs, in the same file as bases and queue.
struct MirrorJournal: WriteBackJournal {
  let client: UserEngine
  /// The collections, by folder.
  let collections: [String: Collection]
  /// The sync that what is written belongs to.
  let sync: CurrentSync

  func complete(_ settled: [SettledIntent], recording intents: [WriteBackIntent]) throws {
    try client.transaction { transaction in
      var record = SyncRecord(transaction)
      for one in settled {
        try advance(one, &record, transaction)
        for file in one.replaced { try store(file, transaction) }
      }
      if !settled.isEmpty { try forget(settled.map(\.intent), transaction) }
      for intent in intents {
        try transaction.database.execute(
          "INSERT INTO write_intent VALUES (?, ?, ?)",
          [.text(intent.temporary), .text(intent.replaced), .text(JSONValue.object(intent.json).serialized())])
      }
    }
  }

  /// Forgets intents; where there are no others, all at once, which takes next to nothing.
  private func forget(_ intents: [WriteBackIntent], _ transaction: EngineTransaction) throws {
    let database = transaction.database
    let count = try database.first("SELECT count(*) AS n FROM write_intent")?.integer("n")
    if count == Int64(intents.count) { return try database.execute("DELETE FROM write_intent") }
    for intent in intents {
      try database.execute(
        "DELETE FROM write_intent WHERE temporary = ? AND replaced = ?",
        [.text(intent.temporary), .text(intent.replaced)])
    }
  }

  /// Advances the base by what happened.
  private func advance(
    _ settled: SettledIntent, _ record: inout SyncRecord, _ transaction: EngineTransaction
  ) throws {
    let mirror = Mirror(transaction)
    switch (settled.outcome, WriteContext(text: settled.intent.context)) {
    case (.written(let file), .row(let collection, let base)):
      let path = settled.intent.path
      var entry = MirrorEntry(collection: collection, base: base, path: path, lastPath: path)
      entry.seen = SeenFile(file.status, file.hash, at: client.now)
      // Of a file that comes new mostly nothing is known.
      let isNew = try settled.intent.kind == .create && mirror.saveNew(entry)
      let known = try isNew ? nil : mirror.entry(collection, key: base.key)
      try noteSynced(settled, file.hash, from: known?.base.values, to: base, collection, &record)
      if let known, known.base.values != base.values { try mirror.keepEarlier(known, at: client.now) }
      if !isNew { try mirror.save(entry) }
      // The row may have moved on while its file was written; then the change is still to be looked at.
      if let table = collections[collection]?.table, try isCurrent(base, table, transaction) {
        try transaction.clearChange(table, base.key.text)
      }
    case (.newerSave(let found), .row(let collection, let base)):
      guard var known = try mirror.entry(collection, key: base.key) else { break }
      // What came out between look and swap was made of the text before: its base is needed to tell what was edited.
      if known.base.values != base.values { try mirror.keepEarlier(known, at: client.now) }
      if settled.isFollowed, case .file(_, let status) = found {
        // By its number it is found to have moved.
        known.seen?.identity = status.identity
        try mirror.save(known)
      }
    case (.written(let file), .side(let path)):
      try SideFiles(transaction).setDurable(path, file.status)
    case (.removed, .goneRow(let collection, let key)):
      try noteRemoved(settled, collection, key, &record)
      if let entry = try mirror.entry(collection, key: key) { try mirror.remove(entry) }
      if let table = collections[collection]?.table { try transaction.clearChange(table, key.text) }
    case (.removed, .settledSide(let path)):
      try SideFiles(transaction).remove(path)
    default: break
    }
  }

  /// Keeps what lay at a path before a sync wrote there, if that changed anything that a person could change back.
  private func noteSynced(
    _ settled: SettledIntent, _ written: ContentHash, from before: JSONObject?, to base: FileBase,
    _ folder: String, _ record: inout SyncRecord
  ) throws {
    var file = SyncedFile(
      round: 0, path: settled.intent.path, collection: folder, keyText: base.key.text, former: nil, formerValues: [:],
      written: written)
    if settled.intent.kind == .replace {
      let columns = collections[folder]?.settings.editableColumns ?? []
      for column in columns {
        guard let value = before?[column.name], value != (base.values[column.name] ?? .null) else { continue }
        file.formerValues[column.name] = value
      }
      if file.formerValues.isEmpty {
        if let old = settled.intent.old?.hash {
          try record.follow(settled.intent.path, from: old, to: written)
        }
        return
      }
      guard let former = settled.former else { return }
      file.former = former
    }
    guard let round = try sync.number(record.newNumber) else { return }
    file.round = round
    try record.note(file)
  }

  private func noteRemoved(
    _ settled: SettledIntent, _ folder: String, _ key: RowKey, _ record: inout SyncRecord
  ) throws {
    guard let former = settled.former, let round = try sync.number(record.newNumber) else { return }
    try record.note(
      SyncedFile(
        round: round, path: settled.intent.path, collection: folder, keyText: key.text, former: former,
        formerValues: [:], written: nil))
  }

  private func isCurrent(_ base: FileBase, _ table: String, _ transaction: EngineTransaction) throws -> Bool {
    guard let values = try transaction.row(table, base.key).values else { return false }
    return base.values.members.allSatisfy { values[$0.name] ?? .null == $0.value }
  }

  func pendingIntents() throws -> [WriteBackIntent] {
    try client.read { transaction in
      try transaction.database.rows("SELECT intent FROM write_intent").compactMap { row in
        try WriteBackIntent(json: JSONValue(parsing: row.text("intent") ?? "{}"))
      }
    }
  }

  func replacedFiles() throws -> [ReplacedFile] {
    try client.read { try $0.database.rows("SELECT * FROM replaced_file").compactMap(replacedFile) }
  }

  func replacedFile(_ path: String) throws -> ReplacedFile? {
    try client.read { transaction in
      try transaction.database.first("SELECT * FROM replaced_file WHERE path = ?", [.text(path)]).flatMap(replacedFile)
    }
  }

  /// Whether there is any replaced file.
  func hasReplacedFiles() throws -> Bool {
    try client.read { try $0.database.first("SELECT 1 FROM replaced_file LIMIT 1") != nil }
  }

  private func replacedFile(_ row: SQLiteRow) -> ReplacedFile? {
    guard let path = row.text("path"), let hash = row.text("hash").flatMap({ ContentHash($0) }) else { return nil }
    return ReplacedFile(
      path: path, origin: row.text("origin") ?? "", hash: hash, stamp: SeenFile(row)?.stamp,
      since: row.integer("since") ?? 0, context: row.text("context") ?? "")
  }

  func updateReplaced(_ files: [ReplacedFile]) throws {
    try client.transaction { transaction in
      for file in files { try store(file, transaction) }
    }
  }

  func forgetReplaced(_ paths: [String]) throws {
    try client.transaction { transaction in
      for path in paths { try transaction.database.execute("DELETE FROM replaced_file WHERE path = ?", [.text(path)]) }
    }
  }

  private func store(_ file: ReplacedFile, _ transaction: EngineTransaction) throws {
    try transaction.database.execute(
      """
      INSERT INTO replaced_file (path, origin, hash, size, mtime, ctime, inode, since, context)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
      ON CONFLICT (path) DO UPDATE SET origin = ?2, hash = ?3, size = ?4, mtime = ?5, ctime = ?6, inode = ?7, since = ?8,
        context = ?9
      """,
      [
        .text(file.path), .text(file.origin), .text(file.hash.description), .optional(file.stamp?.size),
        .optional(file.stamp?.modified.nanoseconds), .optional(file.stamp?.changed.nanoseconds),
        .optional(file.stamp.map { Int64(bitPattern: $0.inode) }), .integer(file.since), .text(file.context),
      ])
  }
}

// MARK: Intents as JSON

extension WriteBackIntent {
  fileprivate var json: JSONObject {
    [
      "kind": .string(kind.rawValue), "path": .string(path), "temporary": .string(temporary),
      "replaced": .string(replaced), "old": old?.json ?? .null, "new": new?.json ?? .null, "reason": .string(reason),
      "context": .string(context),
    ]
  }

  fileprivate init?(json: JSONValue) {
    guard let kind = json["kind"]?.stringValue.flatMap(Kind.init), let path = json["path"]?.stringValue else {
      return nil
    }
    self.init(
      kind: kind, path: path, temporary: json["temporary"]?.stringValue ?? "",
      replaced: json["replaced"]?.stringValue ?? "", old: json["old"].flatMap(FileMark.init),
      new: json["new"].flatMap(FileMark.init), reason: json["reason"]?.stringValue ?? "",
      context: json["context"]?.stringValue ?? "")
  }
}

extension FileMark {
  fileprivate var json: JSONValue {
    [
      "inode": .string(String(identity.inode)), "birth": identity.born.map { .integer($0.nanoseconds) } ?? .null,
      "hash": .string(hash.description), "modified": .integer(modified.nanoseconds),
    ]
  }

  fileprivate init?(json: JSONValue) {
    guard let inode = json["inode"]?.stringValue.flatMap(UInt64.init),
      let hash = json["hash"]?.stringValue.flatMap({ ContentHash($0) })
    else { return nil }
    self.init(
      identity: FileIdentity(inode: inode, born: json["birth"]?.int64Value.map { FileTime(nanoseconds: $0) }),
      hash: hash,
      modified: FileTime(nanoseconds: json["modified"]?.int64Value ?? 0))
  }
}
