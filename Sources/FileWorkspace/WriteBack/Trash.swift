import LosslessJSON

/// A text that goes to the trash.
public struct TrashItem: Sendable, Hashable {
  /// The path that it had.
  public var origin: String
  /// The text.
  public var bytes: [UInt8]
  /// Why it is kept, in a few words for a person.
  public var reason: String

  /// Makes an item.
  public init(origin: String, bytes: [UInt8], reason: String) {
    self.origin = origin
    self.bytes = bytes
    self.reason = reason
  }
}

/// A text in the trash.
public struct TrashEntry: Sendable, Hashable {
  /// Where the text lies, in `.tidemark/trash`.
  public var path: String
  /// The path that it had; nil when what was noted of it is lost.
  public var origin: String?
  /// Why it is kept.
  public var reason: String
  /// When it came, in milliseconds since 1970.
  public var at: Int64
  /// How many bytes the text has.
  public var bytes: Int64

  /// Makes an entry.
  public init(path: String, origin: String?, reason: String, at: Int64, bytes: Int64) {
    self.path = path
    self.origin = origin
    self.reason = reason
    self.at = at
    self.bytes = bytes
  }
}

/// The folder where every text goes that would otherwise be gone.
///
/// A text is `<time>-<name>`; what is known of it lies beside it as `<time>-<name>.meta`. A text without its notes is
/// still a text: it is shown with the name that it has.
public struct Trash: Sendable {
  let files: any FileSystem
  let now: @Sendable () -> Int64

  /// Makes the trash of a workspace.
  ///
  /// - Parameters:
  ///   - files: The workspace's files.
  ///   - now: Milliseconds since 1970.
  public init(files: any FileSystem, now: @escaping @Sendable () -> Int64) {
    self.files = files
    self.now = now
  }

  /// Keeps texts; they are durable when this returns.
  ///
  /// - Returns: The entries, in the order of the items.
  /// - Throws: When one could not be kept; others may have been.
  @discardableResult
  public func keep(_ items: [TrashItem]) throws(FileSystemError) -> [TrashEntry] {
    if items.isEmpty { return [] }
    try StateFolder.create(in: files)
    let at = now()
    var temporaries: [(text: String, notes: String)] = []
    do {
      for item in items {
        let text = try files.makeTemporary(item.bytes, in: StateFolder.temporary, prefix: "trash", like: nil).path
        temporaries.append((text, ""))
        temporaries[temporaries.count - 1].notes =
          try files.makeTemporary(Self.notes(item, at), in: StateFolder.temporary, prefix: "trash", like: nil).path
      }
      try files.makeDurable(temporaries.flatMap { [$0.text, $0.notes] })
      var entries: [TrashEntry] = []
      for (item, temporary) in zip(items, temporaries) {
        let path = try place(temporary.text, named: item.origin, at: at)
        try files.rename(temporary.notes, path + Self.notesSuffix)
        let bytes = Int64(item.bytes.count)
        entries.append(TrashEntry(path: path, origin: item.origin, reason: item.reason, at: at, bytes: bytes))
      }
      try files.makeNamesDurable([StateFolder.trash])
      return entries
    } catch {
      for temporary in temporaries {
        try? files.unlink(temporary.text)
        if !temporary.notes.isEmpty { try? files.unlink(temporary.notes) }
      }
      throw error
    }
  }

  /// All texts in the trash, the oldest first.
  public func entries() throws(FileSystemError) -> [TrashEntry] {
    let listing: FolderListing
    do {
      listing = try files.list(StateFolder.trash)
    } catch {
      if case .absent = error { return [] }
      throw error
    }
    let notes = Set(listing.entries.map { PathKey($0.name + Self.notesSuffix) })
    let texts = listing.entries.filter { $0.status.kind == .file && !notes.contains(PathKey($0.name)) }
    return texts.sorted { PathKey($0.name) < PathKey($1.name) }.map(entry)
  }

  // MARK: Names and notes

  static let notesSuffix = ".meta"

  /// Gives a text its final name, never over another.
  func place(_ temporary: String, named origin: String, at time: Int64) throws(FileSystemError) -> String {
    let name = WorkspacePath.cut(WorkspacePath.name(of: origin), bytesMax: 200)
    var number = 1
    while true {
      let stamp = TimeText.stamp(time) + (number == 1 ? "" : ".\(number)")
      let path = "\(StateFolder.trash)/\(stamp)-\(name)"
      do {
        try files.moveNoReplace(temporary, path)
        return path
      } catch .exists {
        number += 1
      }
    }
  }

  static func notes(_ item: TrashItem, _ at: Int64) -> [UInt8] {
    let object = JSONObject([
      ("origin", .string(item.origin)), ("reason", .string(item.reason)), ("at", .number(JSONNumber(at))),
    ])
    return Array((JSONValue.object(object).serialized(.pretty) + "\n").utf8)
  }

  private func entry(_ found: FolderEntry) -> TrashEntry {
    let path = "\(StateFolder.trash)/\(found.name)"
    let bytes = (try? files.read(path + Self.notesSuffix, bytesMax: 65_536))?.bytes ?? []
    let notes = (try? JSONValue(parsing: bytes))?.objectValue
    return TrashEntry(
      path: path, origin: notes?["origin"]?.stringValue, reason: notes?["reason"]?.stringValue ?? "",
      at: notes?["at"]?.numberValue?.int64 ?? found.status.modified.nanoseconds / 1_000_000,
      bytes: found.status.size)
  }
}
