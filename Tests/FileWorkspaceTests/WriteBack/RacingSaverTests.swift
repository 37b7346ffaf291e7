import Foundation
import Synchronization
import Testing

@testable import FileWorkspace

/// A real folder without the flushes: a race needs speed, not a disk.
private struct RushedFileSystem: FileSystem {
  let live: LiveFileSystem
  var user: UInt32 { live.user }

  func list(_ folder: String) throws(FileSystemError) -> FolderListing { try live.list(folder) }
  func status(_ path: String) throws(FileSystemError) -> FileStatus? { try live.status(path) }
  func read(_ path: String, bytesMax: Int) throws(FileSystemError) -> FileContent {
    try live.read(path, bytesMax: bytesMax)
  }
  func createFolder(_ path: String, isPrivate: Bool) throws(FileSystemError) -> Bool {
    try live.createFolder(path, isPrivate: isPrivate)
  }
  func removeFolder(_ path: String) throws(FileSystemError) { try live.removeFolder(path) }
  func makeTemporary(
    _ bytes: [UInt8], in folder: String, prefix: String, like model: String?
  ) throws(FileSystemError) -> TemporaryFile {
    try live.makeTemporary(bytes, in: folder, prefix: prefix, like: model)
  }
  func makeDurable(_ files: [String]) throws(FileSystemError) {}
  func makeNamesDurable(_ folders: [String]) throws(FileSystemError) {}
  func exchange(_ one: String, _ other: String) throws(FileSystemError) { try live.exchange(one, other) }
  func renameNoReplace(_ from: String, _ to: String) throws(FileSystemError) { try live.renameNoReplace(from, to) }
  func rename(_ from: String, _ to: String) throws(FileSystemError) { try live.rename(from, to) }
  func link(_ from: String, _ to: String) throws(FileSystemError) { try live.link(from, to) }
  func unlink(_ path: String) throws(FileSystemError) { try live.unlink(path) }
  func isOpenElsewhere(_ path: String) throws(FileSystemError) -> OpenElsewhere { try live.isOpenElsewhere(path) }
}

/// One save after another, each waiting until somebody has seen the one before; so each is raced on its own.
private final class Saver: Sendable {
  struct State {
    var seen: Set<String> = []
    /// The last save that was finished.
    var saved = 0
    var lost: String?
    var isDone = false
  }

  let state = Mutex(State())
  private let turn = DispatchSemaphore(value: 0)
  private let folder: TemporaryFolder
  private let count: Int

  init(_ folder: TemporaryFolder, count: Int) {
    self.folder = folder
    self.count = count
  }

  static func text(_ number: Int) -> String { "{\"title\": \"save \(number)\"}" }

  func run() {
    for number in 1...count {
      save(Self.text(number), way: number % 4)
      state.withLock { $0.saved = number }
      while !state.withLock({ $0.seen.contains(Self.text(number)) || $0.lost != nil }) {
        // Handed over by the other thread after each of its rounds.
        turn.wait()
      }
      if state.withLock({ $0.lost != nil }) { break }
    }
    state.withLock { $0.isDone = true }
  }

  func giveTurn() { turn.signal() }

  private func save(_ text: String, way: Int) {
    let path = folder.full("tasks/a.json")
    switch way {
    case 0:
      rename(path, path + "~")
      write(text, O_WRONLY | O_CLOEXEC | O_CREAT)
      unlink(path + "~")
    case 1:
      write(text, O_WRONLY | O_CLOEXEC | O_CREAT | O_TRUNC)
    case 2:
      let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_CREAT, 0o644)
      ftruncate(descriptor, 0)
      Glibc.write(descriptor, text, text.utf8.count)
      close(descriptor)
    default:
      let descriptor = open(path + ".tmp", O_WRONLY | O_CLOEXEC | O_CREAT | O_TRUNC, 0o644)
      Glibc.write(descriptor, text, text.utf8.count)
      close(descriptor)
      rename(path + ".tmp", path)
    }
  }

  private func write(_ text: String, _ flags: Int32) {
    let descriptor = open(folder.full("tasks/a.json"), flags, 0o644)
    let half = text.utf8.count / 2
    let bytes = Array(text.utf8)
    Glibc.write(descriptor, bytes, half)
    Glibc.write(descriptor, Array(bytes[half...]), bytes.count - half)
    close(descriptor)
  }
}

@Suite("Write-back against a saver in a real folder")
struct RacingSaverTests {
  static let abilities = ["by exchange", "aside"]

  @Test("none of the saves is lost", arguments: abilities)
  func race(way: String) throws {
    let folder = try TemporaryFolder()
    try folder.createFolder(".tidemark")
    try folder.createFolder("tasks")
    try folder.save("tasks/a.json", Array("start".utf8))
    let rushed = RushedFileSystem(live: try LiveFileSystem(root: folder.path))
    let files: any FileSystem = way == "aside" ? WithoutExchange(files: rushed) : rushed
    let journal = MemoryJournal()
    let writeBack = WriteBack(files: files, journal: journal, now: { 0 })
    let replaced = ReplacedFiles(files: files, journal: journal, now: { 0 })
    let saver = Saver(folder, count: 200)
    let thread = Thread { saver.run() }
    thread.start()

    var round = 0
    var roundsMissing = 0
    var written = 0
    while !saver.state.withLock({ $0.isDone }) {
      round += 1
      let savedBefore = saver.state.withLock { $0.saved }
      var seen: Set<String> = []
      if let content = try? files.read("tasks/a.json", bytesMax: 1000) {
        seen.insert(String(decoding: content.bytes, as: UTF8.self))
        let item = WriteBackItem(
          path: "tasks/a.json", expected: .content(content.hash), change: .write(Array("server \(round)".utf8)))
        for outcome in writeBack.apply([item]) {
          if case .written = outcome { written += 1 }
        }
      }
      for late in try replaced.lateTexts() {
        seen.insert(String(decoding: late.bytes, as: UTF8.self))
        try replaced.acknowledge(late)
      }
      if round % 50 == 0 { try replaced.sweep(now: ReplacedFiles.staysFor) }
      for entry in try Trash(files: files, now: { 0 }).entries() {
        seen.insert(String(decoding: folder.bytes(entry.path) ?? [], as: UTF8.self))
      }
      let isMissing = saver.state.withLock { state in
        // Seen in this round or before; a save that ended during the round has until the next one.
        let isMissing = state.saved == savedBefore && savedBefore > 0 && !state.seen.contains(Saver.text(savedBefore))
        state.seen.formUnion(seen)
        return isMissing && !seen.contains(Saver.text(savedBefore))
      }
      roundsMissing = isMissing ? roundsMissing + 1 : 0
      // A save that was finished before a round began shows in it, or in the next ones as a late text.
      if roundsMissing > 20 { saver.state.withLock { $0.lost = "save \(savedBefore)" } }
      saver.giveTurn()
    }
    #expect(saver.state.withLock { $0.lost } == nil)
    #expect(try journal.pendingIntents().isEmpty)
    #expect(written > 0)
  }
}

/// A file system that cannot swap.
private struct WithoutExchange: FileSystem {
  let files: any FileSystem
  var user: UInt32 { files.user }

  func list(_ folder: String) throws(FileSystemError) -> FolderListing { try files.list(folder) }
  func status(_ path: String) throws(FileSystemError) -> FileStatus? { try files.status(path) }
  func read(_ path: String, bytesMax: Int) throws(FileSystemError) -> FileContent {
    try files.read(path, bytesMax: bytesMax)
  }
  func createFolder(_ path: String, isPrivate: Bool) throws(FileSystemError) -> Bool {
    try files.createFolder(path, isPrivate: isPrivate)
  }
  func removeFolder(_ path: String) throws(FileSystemError) { try files.removeFolder(path) }
  func makeTemporary(
    _ bytes: [UInt8], in folder: String, prefix: String, like model: String?
  ) throws(FileSystemError) -> TemporaryFile {
    try files.makeTemporary(bytes, in: folder, prefix: prefix, like: model)
  }
  func makeDurable(_ paths: [String]) throws(FileSystemError) { try files.makeDurable(paths) }
  func makeNamesDurable(_ folders: [String]) throws(FileSystemError) { try files.makeNamesDurable(folders) }
  func exchange(_ one: String, _ other: String) throws(FileSystemError) {
    throw .unsupported(other, operation: "swap")
  }
  func renameNoReplace(_ from: String, _ to: String) throws(FileSystemError) { try files.renameNoReplace(from, to) }
  func rename(_ from: String, _ to: String) throws(FileSystemError) { try files.rename(from, to) }
  func link(_ from: String, _ to: String) throws(FileSystemError) { try files.link(from, to) }
  func unlink(_ path: String) throws(FileSystemError) { try files.unlink(path) }
  func isOpenElsewhere(_ path: String) throws(FileSystemError) -> OpenElsewhere { try files.isOpenElsewhere(path) }
}
