import Foundation
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("The session file")
struct SessionFileTests {
  private let folder: TemporaryFolder
  private let file: SessionFile

  init() throws {
    folder = try TemporaryFolder()
    file = SessionFile(path: folder.file("session"))
  }

  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
  }

  private func mode() throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
  }

  @Test("gives back what was kept, and nothing beside it lies about")
  func keeps() throws {
    #expect(try file.load() == nil)
    let first = session(of: "u", mark: "first")
    try file.save(first)
    #expect(try file.load() == first)
    let second = session(of: "u", mark: String(repeating: "long", count: 20_000))
    try file.save(second)
    #expect(try file.load() == second)
    #expect(try names == ["session"])
  }

  @Test("is its owner's only, whatever a process that died left behind")
  func ownersOnly() throws {
    try file.save(session(of: "u"))
    #expect(try mode() == 0o600)
    let left = folder.file("session.new")
    try Data("{".utf8).write(to: URL(fileURLWithPath: left))
    try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: left)
    try file.save(session(of: "u", mark: "new"))
    #expect(try mode() == 0o600)
    #expect(try names == ["session"])
  }

  @Test("forgets the session, and half of one too")
  func forgets() throws {
    try file.save(session(of: "u"))
    try Data("{".utf8).write(to: URL(fileURLWithPath: folder.file("session.new")))
    try file.clear()
    #expect(try file.load() == nil)
    #expect(try names == [])
    try file.clear()
  }

  @Test("a save that fails leaves the session before it in place")
  func failed() throws {
    try file.save(session(of: "u", mark: "before"))
    try FileManager.default.createDirectory(atPath: folder.file("session.new"), withIntermediateDirectories: false)
    #expect(throws: SessionFileError.self) { try file.save(session(of: "u", mark: "after")) }
    #expect(try file.load() == session(of: "u", mark: "before"))
  }

  @Test("says that a file is no session, without showing what it holds", arguments: ["", "{", "{}", "[1]", "secret"])
  func damaged(_ text: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: file.path))
    #expect(throws: SessionFileError.notASession(path: file.path)) { try file.load() }
    #expect(!"\(SessionFileError.notASession(path: file.path))".contains("secret"))
  }

  @Test("follows no symbolic link")
  func link() throws {
    try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "/etc/hostname")
    #expect(throws: SessionFileError.self) { try file.load() }
  }

  static let calls: [(String, [Int], Bool)] = [
    ("all at once", [5], true),
    ("in short pieces", [2, 1, 2], true),
    ("after a signal", [-Int(EINTR), 3, -Int(EINTR), -Int(EINTR), 2], true),
    ("no room after some", [4, -Int(ENOSPC)], false),
    ("nothing written without a reason", [4, 0], false),
  ]

  @Test("every byte is written, or the save fails", arguments: calls.map(\.0))
  func shortWrites(_ name: String) throws {
    let (_, results, isWhole) = try #require(Self.calls.first { $0.0 == name })
    var left = results[...]
    var written: [UInt8] = []
    let done = SessionFile.writeAll(Array("abcde".utf8)) { bytes in
      guard let next = left.popFirst() else { return 0 }
      if next < 0 {
        errno = Int32(-next)
        return -1
      }
      written += bytes.prefix(next)
      return next
    }
    #expect(done == isWhole)
    #expect(left.isEmpty)
    #expect(written == Array("abcde".utf8.prefix(isWhole ? 5 : 4)))
  }
}
