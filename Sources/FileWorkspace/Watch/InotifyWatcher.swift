import CInotifyTools
import Glibc
import Synchronization

/// Watches a real workspace with the kernel's inotify, through libinotifytools.
///
/// The library keeps its state in globals, so one watcher lives in a process at a time. A thread of its own waits in the
/// library and feeds the sequence; a file written into a folder of ours wakes it, and proves at the start that the file
/// system reports changes at all.
public final class InotifyWatcher: Watcher {
  private static let isTaken = Mutex(false)

  private let files: LiveFileSystem
  private let beforeReading: (@Sendable () -> Void)?
  private let running = Mutex<Running?>(nil)

  private struct Running: Sendable {
    var loop: InotifyLoop
    var thread: pthread_t
  }

  /// Makes a watcher of a workspace.
  public convenience init(files: LiveFileSystem) { self.init(files: files, beforeReading: nil) }

  /// - Parameter beforeReading: Called on the watcher's thread before each wait; lets a test hold the reader up.
  init(files: LiveFileSystem, beforeReading: (@Sendable () -> Void)?) {
    self.files = files
    self.beforeReading = beforeReading
  }

  deinit { stop() }

  /// Starts watching; to be called once.
  ///
  /// - Throws: `alreadyWatching` while another watcher of this process has not stopped.
  public func start(_ folders: [WatchedFolder]) throws(WatchError) -> AsyncStream<WatchEvent> {
    let wasFree = Self.isTaken.withLock { isTaken in
      defer { isTaken = true }
      return !isTaken
    }
    guard wasFree else { throw .alreadyWatching }
    let (stream, continuation) = AsyncStream.makeStream(
      of: WatchEvent.self, bufferingPolicy: .bufferingOldest(65_536))
    let loop = InotifyLoop(files: files, continuation: continuation, beforeReading: beforeReading) {
      Self.isTaken.withLock { $0 = false }
    }
    try loop.begin(folders)
    continuation.onTermination = { reason in
      if case .cancelled = reason { loop.askToEnd() }
    }
    var thread = pthread_t()
    let argument = Unmanaged.passRetained(loop).toOpaque()
    let code = pthread_create(&thread, nil, runInotifyLoop, argument)
    guard code == 0 else {
      Unmanaged<InotifyLoop>.fromOpaque(argument).release()
      loop.end()
      throw .cannotWatch("", errno: code)
    }
    running.withLock { $0 = Running(loop: loop, thread: thread) }
    return stream
  }

  /// Stops watching and waits until its thread has ended: at once, or after 5 s where the wake-up cannot be written.
  public func stop() {
    let last = running.withLock { running in
      defer { running = nil }
      return running
    }
    guard let last else { return }
    last.loop.askToEnd()
    pthread_join(last.thread, nil)
  }
}

private func runInotifyLoop(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let argument else { return nil }
  // Signals are for the threads that expect them.
  var all = sigset_t()
  sigfillset(&all)
  pthread_sigmask(SIG_BLOCK, &all, nil)
  Unmanaged<InotifyLoop>.fromOpaque(argument).takeRetainedValue().run()
  return nil
}

/// The watcher's thread and all that it knows.
///
/// Unchecked, proof: everything but `isEnding` is touched by `begin`, before the thread exists, and by the thread alone.
private final class InotifyLoop: @unchecked Sendable {
  private struct Watched {
    var path: String
    /// The folder's files are told.
    var isTold = false
    /// Its folders are watched too.
    var isRecursive = false
    /// It is watched for the coming and going of the folders in it.
    var isGuard = false
  }

  private let files: LiveFileSystem
  private let continuation: AsyncStream<WatchEvent>.Continuation
  private let beforeReading: (@Sendable () -> Void)?
  private let afterEnd: @Sendable () -> Void
  private let isEnding = Atomic(false)

  /// What is to be watched, whether it is there or not.
  private var wanted: [PathKey: Watched] = [:]
  /// What is watched, by the kernel's number.
  private var watched: [Int32: Watched] = [:]
  private var numbers: [PathKey: Int32] = [:]
  private var lastAlias = 0
  /// Folders that were moved from a path, until the next event says where to.
  private var moving: [UInt32: String] = [:]
  private var isReady = false
  private var hasDropped = false

  static let probeFolder = "\(StateFolder.root)/probe"

  init(
    files: LiveFileSystem, continuation: AsyncStream<WatchEvent>.Continuation, beforeReading: (@Sendable () -> Void)?,
    afterEnd: @escaping @Sendable () -> Void
  ) {
    self.files = files
    self.continuation = continuation
    self.beforeReading = beforeReading
    self.afterEnd = afterEnd
  }

  // MARK: Beginning and ending

  /// Sets all watches; takes everything back when one cannot be set.
  func begin(_ folders: [WatchedFolder]) throws(WatchError) {
    guard inotifytools_initialize() != 0 else {
      let code = Int32(inotifytools_error())
      afterEnd()
      throw code == EMFILE
        ? .outOfInstances(limit: Int(inotifytools_get_max_user_instances())) : .cannotWatch("", errno: code)
    }
    do throws(FileSystemError) {
      try files.createFolder(Self.probeFolder, isPrivate: true)
    } catch {
      end()
      throw .files(error)
    }
    for folder in folders { want(folder.path, isTold: true, isRecursive: folder.isRecursive) }
    want(Self.probeFolder)
    do {
      try watchAll()
    } catch {
      end()
      throw error
    }
    wake()
  }

  private func want(_ path: String, isTold: Bool = false, isRecursive: Bool = false) {
    wanted[PathKey(path), default: Watched(path: path)].isTold = isTold
    wanted[PathKey(path)]?.isRecursive = isRecursive
    var folder = path
    while !folder.isEmpty {
      folder = WorkspacePath.folder(of: folder)
      wanted[PathKey(folder), default: Watched(path: folder)].isGuard = true
    }
  }

  private func watchAll() throws(WatchError) {
    // From the outside in: a folder that appears meanwhile is reported by the one around it.
    for key in wanted.keys.sorted() {
      if let one = wanted[key] { try watch(one) }
    }
  }

  /// Wakes the thread, which waits in the library for events alone.
  private func wake() {
    guard let probe = try? files.makeTemporary([], in: Self.probeFolder, prefix: "probe", like: nil) else { return }
    try? files.unlink(probe.path)
  }

  func askToEnd() {
    isEnding.store(true, ordering: .sequentiallyConsistent)
    wake()
  }

  /// Gives the library back, emptied: what it has buffered would be the first thing that its next user reads.
  func end() {
    for number in watched.keys { inotifytools_remove_watch_by_wd(number) }
    while inotifytools_next_events(0, 1) != nil {}
    inotifytools_cleanup()
    afterEnd()
    continuation.finish()
  }

  // MARK: Reading

  func run() {
    while !isEnding.load(ordering: .sequentiallyConsistent) {
      beforeReading?()
      // Whole seconds are all that the library knows; nothing depends on them but the giving up.
      let seconds = isReady ? (moving.isEmpty && !hasDropped ? 5 : 1) : 3
      guard let event = inotifytools_next_event(seconds) else {
        let code = Int32(inotifytools_error())
        if code == EINTR { continue }
        if code != 0 || !isReady {
          tell(.lostWatch("", code != 0 ? .failed(errno: code) : .noEvents))
          break
        }
        forgetMoved()
        tellDropped()
        continue
      }
      take(event)
    }
    end()
  }

  private func take(_ pointer: UnsafeMutablePointer<inotify_event>) {
    let event = pointer.pointee
    let mask = Int32(bitPattern: event.mask)
    if mask & IN_Q_OVERFLOW != 0 { return takeOverflow() }
    if event.cookie == 0 || mask & IN_MOVED_TO == 0 || moving[event.cookie] == nil { forgetMoved() }
    guard let folder = watched[event.wd] else { return }
    if mask & IN_UNMOUNT != 0 { return takeUnmount(folder) }
    if mask & IN_IGNORED != 0 { return takeEnd(folder, event.wd) }
    if event.len == 0 { return }
    let start = UnsafeRawPointer(pointer).advanced(by: MemoryLayout<inotify_event>.size)
    guard let name = String(validatingCString: start.assumingMemoryBound(to: CChar.self)) else {
      if folder.isTold { tell(.folderChanged(folder.path)) }
      return
    }
    let path = WorkspacePath.joined(folder.path, name)
    if folder.path == Self.probeFolder { return takeProbe() }
    if mask & IN_ISDIR != 0 {
      takeFolder(path, in: folder, mask, cookie: event.cookie)
    } else if folder.isTold || folder.path.isEmpty {
      // A file or link where a folder was: the folder's listing will say so.
      tell(wanted[PathKey(path)] == nil ? .changed(path, Self.hint(mask)) : .folderChanged(path))
    }
  }

  private static func hint(_ mask: Int32) -> WatchHint {
    if mask & (IN_CLOSE_WRITE | IN_MOVED_TO) != 0 { return .finished }
    if mask & (IN_DELETE | IN_MOVED_FROM) != 0 { return .gone }
    return mask & IN_CREATE != 0 ? .made : .touched
  }

  private func takeProbe() {
    if isReady { return }
    isReady = true
    tell(.ready)
  }

  private func takeOverflow() {
    forgetMoved()
    // Folders may have come unseen. The watches first, then the word that makes the reader scan.
    for key in wanted.keys.sorted() {
      if let one = wanted[key] { watchOrTell(one) }
    }
    tell(.overflow)
  }

  private func takeUnmount(_ folder: Watched) { tell(.lostWatch(folder.path, .unmounted)) }

  /// The kernel has ended a watch, since the folder is gone.
  private func takeEnd(_ folder: Watched, _ number: Int32) {
    watched[number] = nil
    guard numbers[PathKey(folder.path)] == number else { return }
    numbers[PathKey(folder.path)] = nil
    if folder.path.isEmpty { tell(.lostWatch("", .removed)) }
  }

  // MARK: Folders that come and go

  private func takeFolder(_ path: String, in folder: Watched, _ mask: Int32, cookie: UInt32) {
    let hasCome = mask & (IN_CREATE | IN_MOVED_TO) != 0
    let hasGone = mask & (IN_DELETE | IN_MOVED_FROM) != 0
    if folder.isGuard, wanted.keys.contains(where: { Self.lies($0.text, at: path) }) {
      if hasGone { takeGone(path, isMoved: mask & IN_MOVED_FROM != 0) }
      if hasCome { takeBack(path) }
      return
    }
    if !folder.isTold { return }
    if !folder.isRecursive { return tell(.changed(path, Self.hint(mask))) }
    if mask & IN_MOVED_FROM != 0 {
      moving[cookie] = path
      tell(.changed(path, .gone))
    } else if hasGone {
      tell(.changed(path, .gone))
    } else if hasCome {
      if let old = moving.removeValue(forKey: cookie) { rename(old, to: path) }
      takeNew(path)
    }
  }

  /// Ends the watches of a wanted folder that went.
  private func takeGone(_ path: String, isMoved: Bool) {
    unwatch(below: path)
    for one in wanted.values.filter({ $0.isTold && Self.lies($0.path, at: path) }).sorted(by: { $0.path < $1.path }) {
      tell(.lostWatch(one.path, isMoved ? .movedAway : .removed))
    }
  }

  /// Watches a wanted folder again that came back, and what is wanted in it.
  private func takeBack(_ path: String) {
    for key in wanted.keys.sorted() where Self.lies(key.text, at: path) {
      guard let one = wanted[key] else { continue }
      watchOrTell(one)
      if one.isTold { tell(.folderChanged(one.path)) }
    }
  }

  /// Watches a folder that is new in a recursive one: first the watch, then the look, so that nothing falls between.
  private func takeNew(_ path: String) {
    guard WatchRules.watches(path, in: files) else { return unwatch(below: path) }
    watchOrTell(Watched(path: path, isTold: true, isRecursive: true))
    tellTree(path)
  }

  private func tellTree(_ path: String) {
    tell(.folderChanged(path))
    for key in numbers.keys.sorted() where key.text != path && Self.lies(key.text, at: path) {
      tell(.folderChanged(key.text))
    }
  }

  /// Takes over the new names of a watched folder and of those in it.
  private func rename(_ old: String, to new: String) {
    for (number, one) in watched where Self.lies(one.path, at: old) {
      let path = new + String(decoding: one.path.utf8.dropFirst(old.utf8.count), as: UTF8.self)
      watched[number]?.path = path
      if numbers[PathKey(one.path)] == number { numbers[PathKey(one.path)] = nil }
      numbers[PathKey(path)] = number
    }
  }

  /// Lets go of folders that were moved to where nobody watches.
  private func forgetMoved() {
    if moving.isEmpty { return }
    for path in moving.values { unwatch(below: path) }
    moving = [:]
  }

  private static func lies(_ path: String, at folder: String) -> Bool {
    path.utf8.starts(with: folder.utf8)
      && (path.utf8.count == folder.utf8.count || path.utf8.dropFirst(folder.utf8.count).first == UInt8(ascii: "/"))
  }

  // MARK: Watches

  private func watchOrTell(_ one: Watched) {
    do {
      try watch(one)
    } catch {
      switch error {
      case .outOfWatches(let limit): tell(.lostWatch(one.path, .outOfWatches(limit: limit)))
      case .cannotWatch(_, let code): tell(.lostWatch(one.path, .failed(errno: code)))
      default: break
      }
    }
  }

  /// Watches a folder, and those in it where that is wanted; one that is not there is not an error.
  private func watch(_ one: Watched) throws(WatchError) {
    guard (try? files.status(one.path))?.kind == .folder else { return }
    var events = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE
    if one.isTold || one.path.isEmpty || one.path == Self.probeFolder { events |= IN_CLOSE_WRITE }
    if one.isTold { events |= IN_ATTRIB }
    let alias = alias(of: one.path)
    guard inotifytools_watch_file(alias, events | Int32(IN_ONLYDIR)) != 0 else {
      let code = Int32(inotifytools_error())
      if code == ENOENT || code == ENOTDIR { return }
      if code == ENOSPC { throw .outOfWatches(limit: Int(inotifytools_get_max_user_watches())) }
      throw .cannotWatch(one.path, errno: code)
    }
    let number = inotifytools_wd_from_filename(alias)
    if let old = numbers[PathKey(one.path)], old != number, watched.removeValue(forKey: old) != nil {
      // Another folder had this path, and its end was among the events that were lost.
      inotifytools_remove_watch_by_wd(old)
    }
    watched[number] = one
    numbers[PathKey(one.path)] = number
    guard one.isRecursive, let listing = try? files.list(one.path) else { return }
    for entry in listing.entries where entry.status.kind == .folder {
      let path = WorkspacePath.joined(one.path, entry.name)
      if !WatchRules.watches(path, in: files) { continue }
      try watch(Watched(path: path, isTold: true, isRecursive: true))
    }
  }

  private func unwatch(below path: String) {
    for (key, number) in numbers where Self.lies(key.text, at: path) {
      numbers[key] = nil
      watched[number] = nil
      inotifytools_remove_watch_by_wd(number)
    }
  }

  /// A spelling of a folder's path that the library has never seen.
  ///
  /// The library finds a watch by the name it was given, keeps names of folders that are gone, and would answer with the
  /// number of the old one. So each watch has a name of its own: `/.` with one to ten slashes leads nowhere else. It
  /// starts at the workspace's open descriptor, which stays right when the workspace itself is moved.
  private func alias(of path: String) -> String {
    lastAlias += 1
    var alias = "/proc/self/fd/\(files.rootFolder.number)/\(path)/"
    for digit in String(lastAlias).utf8 {
      alias += "." + String(repeating: "/", count: Int(digit) - 47)
    }
    return alias
  }

  // MARK: Telling

  private func tell(_ event: WatchEvent) {
    tellDropped()
    if case .dropped = continuation.yield(event) { hasDropped = true }
  }

  /// Tells a reader that fell behind, as soon as there is room for a word, that it missed something.
  private func tellDropped() {
    guard hasDropped else { return }
    if case .enqueued = continuation.yield(.overflow) { hasDropped = false }
  }
}
