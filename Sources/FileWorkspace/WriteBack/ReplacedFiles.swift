/// A text that somebody wrote into a file after it had left its path.
public struct LateText: Sendable {
  /// The file, with the path it left and the intent's words, by which the base that it replaced is found.
  public var replaced: ReplacedFile
  /// What it says now.
  public var bytes: [UInt8]
  /// Its status when it was read.
  public var status: FileStatus

  /// The hash of what it says now.
  public var hash: ContentHash { ContentHash(of: bytes) }
}

/// What a sweep did.
public struct SweepReport: Sendable, Hashable {
  /// Files that are gone now.
  public var removed = 0
  /// Files that stay because somebody may still write to them.
  public var kept = 0
  /// Files that stay because they hold a text nobody has looked at.
  public var late = 0
}

/// The files that left their paths, kept until no program can write to them any more.
///
/// An editor that opened a file before it was swapped out writes into the old one, and no event for the path follows.
public struct ReplacedFiles: Sendable {
  /// How long every file stays, in milliseconds.
  public static let staysFor: Int64 = 600_000
  /// How long a file stays where it cannot be told whether somebody has it open, in milliseconds.
  public static let staysUnknownFor: Int64 = 86_400_000

  private let files: any FileSystem
  private let journal: any WriteBackJournal
  private let trash: Trash
  private let now: @Sendable () -> Int64
  private let bytesMax: Int

  /// Makes the keeper of a workspace's replaced files.
  public init(
    files: any FileSystem, journal: any WriteBackJournal, now: @escaping @Sendable () -> Int64,
    bytesMax: Int = 64 << 20
  ) {
    self.files = files
    self.journal = journal
    self.now = now
    self.bytesMax = bytesMax
    trash = Trash(files: files, now: now)
  }

  /// Finds texts that were saved into files after they had left their paths.
  ///
  /// A file that is being written, or is empty since an editor has just cut it, is reported by a later call.
  ///
  /// - Parameter paths: Where to look; `nil` for all of them, of which there may be many thousands.
  public func lateTexts(at paths: [String]? = nil) throws -> [LateText] {
    let entries = try paths?.compactMap { try journal.replacedFile($0) } ?? journal.replacedFiles()
    return try entries.compactMap(lateText)
  }

  private func lateText(_ entry: ReplacedFile) throws -> LateText? {
    guard let status = try files.status(entry.path) else { return nil }
    if let stamp = entry.stamp, stamp == status.stamp { return nil }
    guard case .file(let content) = try files.look(entry.path, bytesMax: bytesMax) else { return nil }
    if content.hash == entry.hash {
      var read = entry
      read.stamp = content.status.stamp
      try journal.updateReplaced([read])
      return nil
    }
    // An editor that has cut the file is about to fill it.
    if content.bytes.isEmpty { return nil }
    return LateText(replaced: entry, bytes: content.bytes, status: content.status)
  }

  /// Notes that a late text is accounted for: queued as an edit, or kept in the trash.
  public func acknowledge(_ late: LateText) throws {
    var entry = late.replaced
    entry.hash = late.hash
    entry.stamp = late.status.stamp
    try journal.updateReplaced([entry])
  }

  /// Removes files that are old enough, closed, and say what is accounted for.
  ///
  /// - Parameter now: Milliseconds since 1970.
  @discardableResult
  public func sweep(now: Int64) throws -> SweepReport {
    var report = SweepReport()
    var gone: [String] = []
    for entry in try journal.replacedFiles() where now - entry.since >= Self.staysFor {
      guard try files.status(entry.path) != nil else {
        gone.append(entry.path)
        continue
      }
      // First the question, then the look: whoever had the file open may have written until the moment of closing it,
      // and nobody new can open it, since no program but this one knows the name.
      let isClosed = try isClosed(entry, now: now)
      if !isClosed {
        report.kept += 1
      } else if try files.look(entry.path, bytesMax: bytesMax).says(entry.hash) {
        try files.unlink(entry.path)
        gone.append(entry.path)
        report.removed += 1
      } else {
        report.late += 1
      }
    }
    if !gone.isEmpty { try journal.forgetReplaced(gone) }
    return report
  }

  private func isClosed(_ entry: ReplacedFile, now: Int64) throws(FileSystemError) -> Bool {
    switch try files.isOpenElsewhere(entry.path) {
    case .no: true
    case .yes: false
    case .unknown: now - entry.since >= Self.staysUnknownFor
    }
  }

  /// Copies files that nothing knows of, such as those of a crash before anything was recorded, to the trash.
  ///
  /// From then on they are swept like any other: whoever has one open can still write to it.
  ///
  /// To be called after `settle`, and with no write-back under way.
  ///
  /// - Parameters:
  ///   - folders: The collections' folders.
  ///   - isKnown: Whether a text stands elsewhere word for word, so that it needs no copy: of a first sync that was killed
  ///     there may be thousands that never lay at a path.
  /// - Returns: The trash entries made.
  @discardableResult
  public func rescueStrays(
    folders: [String], isKnown: ([UInt8]) throws -> Bool = { _ in false }
  ) throws -> [TrashEntry] {
    let pending = try journal.pendingIntents().flatMap { [$0.temporary, $0.replaced] }
    let known = Set((pending + (try journal.replacedFiles().map(\.path))).map(PathKey.init))
    let inside = folders.map { WorkspacePath.joined($0, StateFolder.insideCollection) }
    let all = [StateFolder.temporary, StateFolder.replaced] + inside.flatMap { ["\($0)/tmp", "\($0)/replaced"] }
    var strays: [(path: String, name: String)] = []
    for folder in all {
      for entry in try list(folder) where entry.status.kind == .file {
        let path = WorkspacePath.joined(folder, entry.name)
        if !known.contains(PathKey(path)) { strays.append((path, entry.name)) }
      }
    }
    var rescued: [TrashEntry] = []
    for start in stride(from: 0, to: strays.count, by: Self.rescuedAtOnce) {
      let piece = strays[start..<min(start + Self.rescuedAtOnce, strays.count)]
      rescued += try files.withFoldersOpen { try rescue(piece, isKnown) }
    }
    return rescued
  }

  /// How many strays share the flushes, and are in memory together.
  private static let rescuedAtOnce = 256

  private func list(_ folder: String) throws(FileSystemError) -> [FolderEntry] {
    do {
      return try files.list(folder).entries
    } catch .absent {
      return []
    }
  }

  private func rescue(
    _ strays: ArraySlice<(path: String, name: String)>, _ isKnown: ([UInt8]) throws -> Bool
  ) throws -> [TrashEntry] {
    var texts: [TrashItem] = []
    var replaced: [ReplacedFile] = []
    for (path, name) in strays {
      guard case .file(let content) = try files.look(path, bytesMax: bytesMax) else { continue }
      if !content.bytes.allSatisfy({ $0 == 0 }), try !isKnown(content.bytes) {
        texts.append(
          TrashItem(origin: name, bytes: content.bytes, reason: "found among the program's own files after a crash"))
      }
      replaced.append(
        ReplacedFile(
          path: path, origin: name, hash: content.hash, stamp: content.status.stamp, since: now(), context: ""))
    }
    let rescued = try trash.keep(texts)
    if !replaced.isEmpty { try journal.updateReplaced(replaced) }
    return rescued
  }
}
