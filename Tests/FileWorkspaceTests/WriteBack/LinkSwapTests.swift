import Foundation
import Synchronization
import Testing

@testable import FileWorkspace

@Suite("Write-back while somebody swaps folders and files for links")
struct LinkSwapTests {
  @Test("no byte is written outside the workspace")
  func swapsLinks() throws {
    let folder = try TemporaryFolder()
    let outside = try TemporaryFolder()
    for name in [".tidemark", "tasks"] { try folder.createFolder(name) }
    for number in 0..<4 {
      try folder.save("tasks/\(number).json", Array("start".utf8))
      try outside.save("\(number).json", Array("outside".utf8))
    }
    try FileManager.default.createSymbolicLink(atPath: folder.full("link"), withDestinationPath: outside.path)
    try FileManager.default.createSymbolicLink(
      atPath: folder.full("file-link"), withDestinationPath: outside.full("1.json"))
    let files = try LiveFileSystem(root: folder.path)
    let swapper = Swapper(try LiveFileSystem(root: folder.path))
    let thread = Thread { swapper.run() }
    thread.start()

    let journal = MemoryJournal()
    let writeBack = WriteBack(files: files, journal: journal, now: { 0 })
    var written = 0
    for round in 1...80 {
      let items = (0..<4).map { number in
        let path = "tasks/\(number).json"
        let hash = (try? files.read(path, bytesMax: 100))?.hash
        return WriteBackItem(
          path: path, expected: hash.map { .content($0) } ?? .absent, change: .write(Array("server \(round)".utf8)))
      }
      for outcome in writeBack.apply(items) { if case .written = outcome { written += 1 } }
      _ = writeBack.settle(try journal.pendingIntents())
    }
    swapper.stop()
    for settled in writeBack.settle(try journal.pendingIntents()) {
      if case .unsettled(let error) = settled.outcome { Issue.record("not settled in the end: \(error)") }
    }
    for number in 0..<4 { #expect(outside.bytes("\(number).json") == Array("outside".utf8)) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).count == 4)
    #expect(swapper.failures.load(ordering: .sequentiallyConsistent) == 0)
    #expect(written > 0)
  }
}

/// Exchanges a folder and a file with links that lead out, again and again; ends with everything at its place.
private final class Swapper: Sendable {
  private let isEnding = Atomic(false)
  private let hasEnded = DispatchSemaphore(value: 0)
  let failures = Atomic(0)
  private let files: LiveFileSystem

  init(_ files: LiveFileSystem) { self.files = files }

  func run() {
    while !isEnding.load(ordering: .sequentiallyConsistent) {
      for _ in 1...2 { swap("link", "tasks") }
      for _ in 1...2 { swap("file-link", "tasks/1.json") }
    }
    hasEnded.signal()
  }

  func stop() {
    isEnding.store(true, ordering: .sequentiallyConsistent)
    hasEnded.wait()
  }

  private func swap(_ one: String, _ other: String) {
    do {
      try files.exchange(one, other)
    } catch {
      failures.add(1, ordering: .sequentiallyConsistent)
    }
  }
}
