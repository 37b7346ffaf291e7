/// The inodes and names of an in-memory file system, with what of them would survive a loss of power.
struct InMemoryDisk {
  struct Node {
    var kind: FileKind
    var bytes: [UInt8] = []
    var mode: UInt32
    var owner: UInt32 = 1000
    var attributes: [String: [UInt8]] = [:]
    var modified: FileTime
    var changed: FileTime
    var born: FileTime
    var openWriters = 0
    /// How many names lead here.
    var links = 0
    /// What the disk surely holds; nil before the first flush.
    var durable: Durable?
    /// True when `bytes` may not be on the disk.
    var isDirty: Bool
    var entries: [PathKey: UInt64] = [:]
  }

  struct Durable {
    var bytes: [UInt8]
    var modified: FileTime
    var changed: FileTime
  }

  /// One step in the history of names; all of its parts happen at once.
  struct NameStep {
    var edits: [(folder: UInt64, name: PathKey, inode: UInt64?)]
  }

  static let root: UInt64 = 2
  var nodes: [UInt64: Node] = [:]
  private let now: (@Sendable () -> Int64)?
  private var lastInode = root
  private var lastTime: Int64 = 1_700_000_000_000_000_000
  private var temporaryNumber = 0
  private var durableNames: [UInt64: [PathKey: UInt64]] = [:]
  private var pendingNames: [NameStep] = []
  /// Inodes that lost a name, to be forgotten once no history can bring it back.
  private var nameless: Set<UInt64> = []
  /// What a watcher would be told, since it was last asked; collected only where somebody asks.
  private var news: [(folder: UInt64, name: PathKey, hint: WatchHint)] = []
  var isWatched = false

  init(now: (@Sendable () -> Int64)?) {
    self.now = now
    let time = tick()
    nodes[Self.root] = Node(kind: .folder, mode: 0o755, modified: time, changed: time, born: time, isDirty: false)
  }

  mutating func tick() -> FileTime {
    // Never the same twice: change times must tell changes apart.
    lastTime = max(lastTime + 1, now?() ?? 0)
    return FileTime(nanoseconds: lastTime)
  }

  // MARK: Walking

  struct Place {
    var folder: UInt64
    var name: PathKey
    var inode: UInt64?
  }

  private func folder(_ parts: [String], _ path: String) throws(FileSystemError) -> UInt64 {
    var inode = Self.root
    for (index, part) in parts.enumerated() {
      guard let next = nodes[inode]?.entries[PathKey(part)], let node = nodes[next] else { throw .absent(path) }
      guard node.kind == .folder else {
        throw .wrongKind(parts[...index].joined(separator: "/"), found: node.kind, expected: .folder)
      }
      inode = next
    }
    return inode
  }

  func place(_ path: String) throws(FileSystemError) -> Place {
    var parts = try WorkspacePath.components(of: path)
    guard let name = parts.popLast() else { return Place(folder: Self.root, name: PathKey(""), inode: Self.root) }
    let folder = try folder(parts, path)
    return Place(folder: folder, name: PathKey(name), inode: nodes[folder]?.entries[PathKey(name)])
  }

  func inode(_ path: String, _ kind: FileKind? = nil) throws(FileSystemError) -> UInt64 {
    guard let inode = try place(path).inode, let node = nodes[inode] else { throw .absent(path) }
    if let kind, node.kind != kind { throw .wrongKind(path, found: node.kind, expected: kind) }
    return inode
  }

  // MARK: Looking

  func status(inode: UInt64) -> FileStatus? {
    guard let node = nodes[inode] else { return nil }
    return FileStatus(
      kind: node.kind, size: Int64(node.bytes.count), modified: node.modified, changed: node.changed, born: node.born,
      inode: inode, device: 1, mount: 1, mode: node.mode, owner: node.owner, group: node.owner,
      links: UInt32(max(node.links, 1)))
  }

  func status(_ path: String) throws(FileSystemError) -> FileStatus? {
    do {
      return try place(path).inode.flatMap { status(inode: $0) }
    } catch {
      if case .absent = error { return nil }
      throw error
    }
  }

  func list(_ path: String) throws(FileSystemError) -> FolderListing {
    let folder = try inode(path, .folder)
    guard let node = nodes[folder], let status = status(inode: folder) else { throw .absent(path) }
    // A listing comes in no useful order; by inode, it is at least the same one each time.
    let entries = node.entries.sorted { $0.value < $1.value || ($0.value == $1.value && $0.key < $1.key) }
    return FolderListing(
      folder: status,
      entries: entries.compactMap { entry in
        self.status(inode: entry.value).map { FolderEntry(name: entry.key.text, status: $0) }
      })
  }

  func read(_ path: String, bytesMax: Int) throws(FileSystemError) -> FileContent {
    let inode = try inode(path, .file)
    guard let node = nodes[inode], let status = status(inode: inode) else { throw .absent(path) }
    if node.mode & 0o400 == 0 { throw .notPermitted(path, operation: "read", errno: 13) }
    if node.bytes.count > bytesMax { throw .tooLarge(path, bytes: Int64(node.bytes.count), bytesMax: bytesMax) }
    return FileContent(bytes: node.bytes, status: status)
  }

  func isOpen(_ path: String) throws(FileSystemError) -> Bool { (nodes[try inode(path)]?.openWriters ?? 0) > 0 }

  // MARK: Names

  /// Does one step and remembers it until a flush.
  private mutating func step(_ edits: [(folder: UInt64, name: PathKey, inode: UInt64?)]) {
    let time = tick()
    for edit in edits {
      if let left = nodes[edit.folder]?.entries[edit.name] {
        nodes[left]?.links -= 1
        nameless.insert(left)
      }
      nodes[edit.folder]?.entries[edit.name] = edit.inode
      if isWatched { news.append((edit.folder, edit.name, edit.inode == nil ? .gone : .finished)) }
      nodes[edit.folder]?.modified = time
      nodes[edit.folder]?.changed = time
      if let inode = edit.inode {
        nodes[inode]?.links += 1
        nodes[inode]?.changed = time
      }
    }
    pendingNames.append(NameStep(edits: edits))
  }

  mutating func makeNode(_ kind: FileKind, _ bytes: [UInt8], mode: UInt32) -> UInt64 {
    lastInode += 1
    let time = tick()
    nodes[lastInode] = Node(
      kind: kind, bytes: bytes, mode: mode, modified: time, changed: time, born: time, isDirty: kind == .file)
    return lastInode
  }

  mutating func createFolder(_ path: String, mode: UInt32) throws(FileSystemError) -> Bool {
    let place = try place(path)
    if place.inode != nil {
      _ = try inode(path, .folder)
      return false
    }
    step([(place.folder, place.name, makeNode(.folder, [], mode: mode))])
    return true
  }

  mutating func removeFolder(_ path: String) throws(FileSystemError) {
    let inode = try inode(path, .folder)
    if nodes[inode]?.entries.isEmpty == false { throw .notEmpty(path) }
    let place = try place(path)
    step([(place.folder, place.name, nil)])
  }

  mutating func createFile(_ path: String, _ bytes: [UInt8], mode: UInt32 = 0o644) throws(FileSystemError) -> UInt64 {
    let place = try place(path)
    if place.inode != nil { throw .exists(path) }
    let inode = makeNode(.file, bytes, mode: mode)
    step([(place.folder, place.name, inode)])
    return inode
  }

  mutating func makeTemporary(
    _ bytes: [UInt8], in folder: String, prefix: String, like model: String?
  ) throws(FileSystemError) -> TemporaryFile {
    _ = try inode(folder, .folder)
    var path: String
    repeat {
      temporaryNumber += 1
      path = WorkspacePath.joined(folder, "\(prefix).\(temporaryNumber)")
    } while try status(path) != nil
    let inode = try createFile(path, bytes)
    if let model, let modelInode = try? self.inode(model, .file), let look = nodes[modelInode] {
      nodes[inode]?.mode = look.mode
      nodes[inode]?.attributes = look.attributes
    }
    guard let status = status(inode: inode) else { throw .absent(path) }
    return TemporaryFile(path: path, status: status)
  }

  mutating func exchange(_ one: String, _ other: String) throws(FileSystemError) {
    let (first, second) = (try place(one), try place(other))
    guard first.inode != nil else { throw .absent(one) }
    guard second.inode != nil else { throw .absent(other) }
    step([(first.folder, first.name, second.inode), (second.folder, second.name, first.inode)])
  }

  mutating func rename(_ from: String, _ to: String, mayReplace: Bool) throws(FileSystemError) {
    let (source, target) = (try place(from), try place(to))
    guard let inode = source.inode else { throw .absent(from) }
    if let found = target.inode {
      if !mayReplace { throw .exists(to) }
      if found == inode { return }  // Two names of one file: the kernel does nothing.
      if let kind = nodes[found]?.kind, (kind == .folder) != (nodes[inode]?.kind == .folder) {
        throw .wrongKind(to, found: kind, expected: kind == .folder ? .file : .folder)
      }
    }
    step([(target.folder, target.name, inode), (source.folder, source.name, nil)])
  }

  mutating func link(_ from: String, _ to: String) throws(FileSystemError) {
    let inode = try inode(from, .file)
    let target = try place(to)
    if target.inode != nil { throw .exists(to) }
    step([(target.folder, target.name, inode)])
  }

  mutating func unlink(_ path: String) throws(FileSystemError) {
    let place = try place(path)
    guard let inode = place.inode else { throw .absent(path) }
    if nodes[inode]?.kind == .folder { throw .wrongKind(path, found: .folder, expected: .file) }
    step([(place.folder, place.name, nil)])
  }

  // MARK: Content

  mutating func setBytes(_ inode: UInt64, _ bytes: [UInt8]) {
    let time = tick()
    nodes[inode]?.bytes = bytes
    nodes[inode]?.modified = time
    nodes[inode]?.changed = time
    nodes[inode]?.isDirty = true
  }

  mutating func closeAll() {
    for inode in nodes.keys { nodes[inode]?.openWriters = 0 }
  }

  // MARK: Watching

  /// Says that a file was closed by somebody who wrote to it.
  mutating func noteClosed(_ inode: UInt64) {
    guard isWatched else { return }
    for folder in nodes.keys.sorted() {
      guard let node = nodes[folder], node.kind == .folder else { continue }
      for name in node.entries.filter({ $0.value == inode }).keys.sorted() { news.append((folder, name, .finished)) }
    }
  }

  /// What happened since the last call, as a kernel tells it: the paths in order.
  mutating func takeNews() -> [(path: String, hint: WatchHint)] {
    if news.isEmpty { return [] }
    var paths: [UInt64: String] = [Self.root: ""]
    var open: [UInt64] = [Self.root]
    while let folder = open.popLast() {
      guard let path = paths[folder] else { continue }
      for (name, inode) in nodes[folder]?.entries ?? [:] where nodes[inode]?.kind == .folder {
        paths[inode] = WorkspacePath.joined(path, name.text)
        open.append(inode)
      }
    }
    let told = news.compactMap { one in
      paths[one.folder].map { (path: WorkspacePath.joined($0, one.name.text), hint: one.hint) }
    }
    news = []
    return told
  }

  // MARK: Durability

  mutating func makeDurable(_ files: [String]) throws(FileSystemError) {
    for path in files { flush(try inode(path)) }
    if files.count > 8 { sync() }
    for path in files { try makeNamesDurable(WorkspacePath.folder(of: path)) }
  }

  mutating func sync() {
    for inode in nodes.keys { flush(inode) }
    makeNamesDurable(upTo: pendingNames.count)
  }

  /// Keeps the names of a folder, and with them, as journals do, all that was done before the last of its steps.
  mutating func makeNamesDurable(_ path: String) throws(FileSystemError) {
    let folder = try inode(path, .folder)
    guard let last = pendingNames.lastIndex(where: { $0.edits.contains { $0.folder == folder } }) else { return }
    makeNamesDurable(upTo: last + 1)
  }

  private mutating func makeNamesDurable(upTo count: Int) {
    for step in pendingNames.prefix(count) { apply(step) }
    pendingNames.removeFirst(count)
    guard pendingNames.isEmpty else { return }
    for inode in nameless where nodes[inode]?.links == 0 && nodes[inode]?.openWriters == 0 {
      nodes[inode] = nil
      durableNames[inode] = nil
    }
    nameless = []
  }

  private mutating func apply(_ step: NameStep) {
    for edit in step.edits { durableNames[edit.folder, default: [:]][edit.name] = edit.inode }
  }

  private mutating func flush(_ inode: UInt64) {
    guard let node = nodes[inode], node.kind == .file else { return }
    nodes[inode]?.durable = Durable(bytes: node.bytes, modified: node.modified, changed: node.changed)
    nodes[inode]?.isDirty = false
  }

  mutating func crash(_ choose: (Int) -> Int) {
    makeNamesDurable(upTo: choose(pendingNames.count + 1))
    pendingNames = []
    for inode in nodes.keys.sorted() {
      guard let node = nodes[inode] else { continue }
      nodes[inode]?.openWriters = 0
      if node.kind == .folder {
        nodes[inode]?.entries = durableNames[inode] ?? [:]
      } else if node.isDirty {
        switch choose(3) {
        case 0:
          nodes[inode]?.bytes = node.durable?.bytes ?? []
          nodes[inode]?.modified = node.durable?.modified ?? node.born
        case 1: break
        default: nodes[inode]?.bytes = []
        }
        flush(inode)
      }
    }
    countLinks()
  }

  private mutating func countLinks() {
    for inode in nodes.keys { nodes[inode]?.links = 0 }
    for node in Array(nodes.values) {
      for inode in node.entries.values { nodes[inode]?.links += 1 }
    }
    for (inode, node) in nodes where node.links == 0 && inode != Self.root { nodes[inode] = nil }
  }
}
