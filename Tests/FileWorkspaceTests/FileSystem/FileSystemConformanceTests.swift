import Foundation
import Testing

@testable import FileWorkspace

/// The two file systems that must behave alike.
enum Kind: String, CaseIterable, CustomTestStringConvertible {
  case live, inMemory
  var testDescription: String { rawValue }
}

/// A workspace with an empty folder `tasks`, and a person who acts in it.
struct World {
  let files: any FileSystem
  let save: (String, String) throws -> Void
  let createLink: (_ path: String, _ target: String) throws -> Void
  let setMode: (String, UInt32) throws -> Void
  let open: (String) throws -> () -> Void
  private let folder: TemporaryFolder?

  init(_ kind: Kind) throws {
    switch kind {
    case .live:
      let folder = try TemporaryFolder()
      self.folder = folder
      try folder.createFolder("tasks")
      files = try LiveFileSystem(root: folder.path)
      save = { try folder.save($0, Array($1.utf8)) }
      createLink = { try FileManager.default.createSymbolicLink(atPath: folder.full($0), withDestinationPath: $1) }
      setMode = { try FileManager.default.setAttributes([.posixPermissions: $1], ofItemAtPath: folder.full($0)) }
      open = { path in
        let handle = FileHandle(forWritingAtPath: folder.full(path))
        return { try? handle?.close() }
      }
    case .inMemory:
      folder = nil
      let memory = InMemoryFileSystem()
      try memory.person.createFolder("tasks")
      files = memory
      save = { try memory.person.save($0, Array($1.utf8)) }
      createLink = { path, _ in try memory.person.createLink(path) }
      setMode = { try memory.person.setMode($0, $1) }
      open = { path in
        let writer = try memory.person.open(path)
        return { writer.close() }
      }
    }
  }

  func text(_ path: String) throws(FileSystemError) -> String {
    String(decoding: try files.read(path, bytesMax: 1_000_000).bytes, as: UTF8.self)
  }

  func temporary(_ text: String, like model: String? = nil) throws(FileSystemError) -> TemporaryFile {
    try files.makeTemporary(Array(text.utf8), in: "", prefix: ".new", like: model)
  }
}

@Suite("A file system, live or in memory")
struct FileSystemConformanceTests {
  @Test("reads what was saved, with its status", arguments: Kind.allCases)
  func reads(kind: Kind) throws {
    let world = try World(kind)
    try world.save("tasks/a.json", "hello")
    let content = try world.files.read("tasks/a.json", bytesMax: 5)
    #expect(content.bytes == Array("hello".utf8))
    #expect(content.status.kind == .file)
    #expect(content.status.size == 5)
    #expect(content.status.links == 1)
    #expect(content.status.owner == world.files.user)
    #expect(try world.files.status("tasks/a.json")?.stamp == content.status.stamp)
    #expect(try world.files.status("tasks/a.json")?.identity == content.status.identity)
  }

  @Test("an empty file has no bytes", arguments: Kind.allCases)
  func readsEmpty(kind: Kind) throws {
    let world = try World(kind)
    try world.save("tasks/a.json", "")
    #expect(try world.files.read("tasks/a.json", bytesMax: 0).bytes.isEmpty)
  }

  @Test("refuses to read what is too large, absent or no file", arguments: Kind.allCases)
  func refusesToRead(kind: Kind) throws {
    let world = try World(kind)
    try world.save("tasks/a.json", "hello")
    try world.createLink("tasks/link.json", "a.json")
    #expect(throws: FileSystemError.tooLarge("tasks/a.json", bytes: 5, bytesMax: 4)) {
      try world.files.read("tasks/a.json", bytesMax: 4)
    }
    #expect(throws: FileSystemError.absent("tasks/b.json")) { try world.text("tasks/b.json") }
    #expect(throws: FileSystemError.absent("photos/b.json")) { try world.text("photos/b.json") }
    #expect(throws: FileSystemError.wrongKind("tasks", found: .folder, expected: .file)) { try world.text("tasks") }
    #expect(throws: FileSystemError.wrongKind("tasks/link.json", found: .link, expected: .file)) {
      try world.text("tasks/link.json")
    }
    #expect(throws: FileSystemError.wrongKind("tasks/a.json", found: .file, expected: .folder)) {
      try world.text("tasks/a.json/b")
    }
  }

  @Test("has no status for what is not there", arguments: Kind.allCases)
  func absentStatus(kind: Kind) throws {
    let world = try World(kind)
    #expect(try world.files.status("tasks/a.json") == nil)
    #expect(try world.files.status("photos/a.json") == nil)
    #expect(try world.files.status("")?.kind == .folder)
  }

  @Test("lists every entry with its status", arguments: Kind.allCases)
  func lists(kind: Kind) throws {
    let world = try World(kind)
    try world.save("tasks/a.json", "hello")
    try world.createLink("tasks/link.json", "nowhere")
    try world.files.createFolder("tasks/old", isPrivate: false)
    let listing = try world.files.list("tasks")
    let kinds = Dictionary(uniqueKeysWithValues: listing.entries.map { ($0.name, $0.status.kind) })
    #expect(kinds == ["a.json": .file, "link.json": .link, "old": .folder])
    #expect(listing.isSteady)
    #expect(listing.folder.inode == (try world.files.status("tasks"))?.inode)
    #expect(throws: FileSystemError.absent("photos")) { try world.files.list("photos") }
    #expect(throws: FileSystemError.wrongKind("tasks/a.json", found: .file, expected: .folder)) {
      try world.files.list("tasks/a.json")
    }
  }

  @Test("names the entries that begin so, without looking at them", arguments: Kind.allCases)
  func namesByPrefix(kind: Kind) throws {
    let world = try World(kind)
    for name in ["a.json", ".a.json.swp", ".b"] { try world.save("tasks/\(name)", "x") }
    #expect(Set(try world.files.names(in: "tasks", prefix: ".")) == [".a.json.swp", ".b"])
    #expect(Set(try world.files.names(in: "tasks", prefix: "")) == ["a.json", ".a.json.swp", ".b"])
    #expect(throws: FileSystemError.absent("photos")) { try world.files.names(in: "photos", prefix: "") }
  }

  @Test("works as ever while folders stay open, and walks every path anew afterwards", arguments: Kind.allCases)
  func foldersStayOpen(kind: Kind) throws {
    let world = try World(kind)
    try world.files.withFoldersOpen {
      try world.save("tasks/a.json", "one")
      #expect(try world.text("tasks/a.json") == "one")
      #expect(try world.files.status("tasks/b.json") == nil)
      #expect(throws: (any Error).self) { try world.files.status("tasks/..") }
      #expect(throws: (any Error).self) { try world.files.status("tasks/") }
      try world.files.rename("tasks/a.json", "tasks/b.json")
      #expect(try world.text("tasks/b.json") == "one")
      // A folder that is removed and made again under its name is the new one.
      try world.files.createFolder("tasks/old", isPrivate: false)
      #expect(try world.files.status("tasks/old/x") == nil)
      try world.files.removeFolder("tasks/old")
      try world.files.createFolder("tasks/old", isPrivate: false)
      try world.save("tasks/old/x", "two")
      #expect(try world.text("tasks/old/x") == "two")
    }
    try world.files.rename("tasks", "moved")
    #expect(try world.files.status("tasks/b.json") == nil)
    #expect(try world.text("moved/b.json") == "one")
  }

  @Test("never walks through a link", arguments: Kind.allCases)
  func neverThroughLinks(kind: Kind) throws {
    let world = try World(kind)
    try world.save("tasks/a.json", "hello")
    try world.createLink("elsewhere", "tasks")
    let expected = FileSystemError.wrongKind("elsewhere", found: .link, expected: .folder)
    #expect(throws: expected) { try world.files.list("elsewhere") }
    #expect(throws: expected) { try world.files.status("elsewhere/a.json") }
    #expect(throws: expected) { try world.text("elsewhere/a.json") }
    #expect(throws: expected) { try world.files.unlink("elsewhere/a.json") }
    #expect(throws: expected) { try world.files.createFolder("elsewhere/new", isPrivate: true) }
    #expect(throws: expected) { try world.files.createFolder("elsewhere", isPrivate: true) }
    #expect(throws: expected) { try world.files.rename("tasks/a.json", "elsewhere/b.json") }
    #expect(try world.text("tasks/a.json") == "hello")
  }

  @Test(
    "never leaves the workspace",
    arguments: Kind.allCases,
    [
      "/etc/passwd", "../x", "tasks/../../x", "tasks//a", "tasks/", ".", "tasks/./a", "a\0b",
      String(repeating: "x", count: 256),
    ])
  func neverOutside(kind: Kind, path: String) throws {
    let world = try World(kind)
    #expect {
      try world.files.status(path)
    } throws: {
      if case FileSystemError.badPath = $0 { true } else { false }
    }
  }

  @Test("makes a folder once", arguments: Kind.allCases)
  func createsFolders(kind: Kind) throws {
    let world = try World(kind)
    #expect(try world.files.createFolder("photos", isPrivate: true))
    #expect(try !world.files.createFolder("photos", isPrivate: true))
    #expect(try world.files.status("photos")?.mode == 0o700)
    try world.save("photos/a", "")
    #expect(throws: FileSystemError.notEmpty("photos")) { try world.files.removeFolder("photos") }
    try world.files.unlink("photos/a")
    try world.files.removeFolder("photos")
    #expect(try world.files.status("photos") == nil)
  }

  @Test("temporary files get free names and the model's mode", arguments: Kind.allCases)
  func temporaries(kind: Kind) throws {
    let world = try World(kind)
    try world.save("tasks/a.json", "hello")
    try world.setMode("tasks/a.json", 0o640)
    let first = try world.temporary("one", like: "tasks/a.json")
    let second = try world.temporary("two", like: "tasks/absent.json")
    #expect(first.path != second.path)
    #expect(first.status.mode == 0o640)
    #expect(try world.text(first.path) == "one")
    #expect(try world.files.status(second.path)?.identity == second.status.identity)
    #expect(throws: FileSystemError.absent("photos")) {
      try world.files.makeTemporary([], in: "photos", prefix: "x", like: nil)
    }
    try world.files.makeDurable([first.path, second.path])
    try world.files.makeDurable((1...9).map { _ in first.path })
    try world.files.makeNamesDurable(["", "tasks", "tasks"])
    #expect(throws: FileSystemError.absent("tasks/absent.json")) { try world.files.makeDurable(["tasks/absent.json"]) }
  }

  @Test("an exchange swaps content and identity", arguments: Kind.allCases)
  func exchanges(kind: Kind) throws {
    let world = try World(kind)
    try world.save("tasks/a.json", "old")
    let old = try world.files.status("tasks/a.json")
    let new = try world.temporary("new")
    try world.files.exchange(new.path, "tasks/a.json")
    #expect(try world.text("tasks/a.json") == "new")
    #expect(try world.text(new.path) == "old")
    #expect(try world.files.status("tasks/a.json")?.identity == new.status.identity)
    #expect(try world.files.status(new.path)?.identity == old?.identity)
    #expect(throws: FileSystemError.absent("tasks/b.json")) { try world.files.exchange(new.path, "tasks/b.json") }
    #expect(throws: FileSystemError.absent("b.json")) { try world.files.exchange("b.json", "tasks/a.json") }
  }

  @Test("an exchange takes folders and links too", arguments: Kind.allCases)
  func exchangesAnything(kind: Kind) throws {
    let world = try World(kind)
    try world.files.createFolder("tasks/a.json", isPrivate: false)
    let new = try world.temporary("new")
    try world.files.exchange(new.path, "tasks/a.json")
    #expect(try world.files.status(new.path)?.kind == .folder)
    try world.files.exchange(new.path, "tasks/a.json")
    #expect(try world.files.status("tasks/a.json")?.kind == .folder)
  }

  @Test("renames with and without replacing", arguments: Kind.allCases)
  func renames(kind: Kind) throws {
    let world = try World(kind)
    try world.save("tasks/a.json", "a")
    try world.save("tasks/b.json", "b")
    #expect(throws: FileSystemError.exists("tasks/b.json")) {
      try world.files.renameNoReplace("tasks/a.json", "tasks/b.json")
    }
    #expect(throws: FileSystemError.exists("tasks/b.json")) {
      try world.files.moveNoReplace("tasks/a.json", "tasks/b.json")
    }
    #expect(throws: FileSystemError.absent("tasks/x.json")) {
      try world.files.renameNoReplace("tasks/x.json", "tasks/y.json")
    }
    try world.files.renameNoReplace("tasks/a.json", "tasks/c.json")
    try world.files.rename("tasks/c.json", "tasks/b.json")
    #expect(try world.files.list("tasks").entries.map(\.name) == ["b.json"])
    #expect(try world.text("tasks/b.json") == "a")
  }

  @Test("a second name leads to the same file", arguments: Kind.allCases)
  func links(kind: Kind) throws {
    let world = try World(kind)
    try world.save("tasks/a.json", "a")
    try world.files.link("tasks/a.json", "tasks/b.json")
    #expect(try world.files.status("tasks/b.json")?.links == 2)
    #expect(try world.files.status("tasks/b.json")?.inode == (try world.files.status("tasks/a.json"))?.inode)
    #expect(throws: FileSystemError.exists("tasks/b.json")) { try world.files.link("tasks/a.json", "tasks/b.json") }
    #expect(throws: FileSystemError.absent("tasks/x.json")) { try world.files.link("tasks/x.json", "tasks/y.json") }
    try world.files.unlink("tasks/a.json")
    #expect(try world.files.status("tasks/b.json")?.links == 1)
    #expect(throws: FileSystemError.absent("tasks/a.json")) { try world.files.unlink("tasks/a.json") }
  }

  @Test("canonically equal names are two files", arguments: Kind.allCases)
  func bytesOfNames(kind: Kind) throws {
    let world = try World(kind)
    try world.save("tasks/\u{e9}.json", "one")
    try world.save("tasks/e\u{301}.json", "two")
    #expect(try world.files.list("tasks").entries.count == 2)
    #expect(try world.text("tasks/\u{e9}.json") == "one")
    #expect(try world.text("tasks/e\u{301}.json") == "two")
  }

  @Test("tells whether somebody may still write", arguments: Kind.allCases)
  func leases(kind: Kind) throws {
    let world = try World(kind)
    try world.save("tasks/a.json", "a")
    try #require(try world.files.isOpenElsewhere("tasks/a.json") != .unknown, "this file system gives no leases")
    #expect(try world.files.isOpenElsewhere("tasks/a.json") == .no)
    let close = try world.open("tasks/a.json")
    #expect(try world.files.isOpenElsewhere("tasks/a.json") == .yes)
    close()
    #expect(try world.files.isOpenElsewhere("tasks/a.json") == .no)
    #expect(throws: FileSystemError.absent("tasks/x.json")) { try world.files.isOpenElsewhere("tasks/x.json") }
  }

  @Test("a file of the program is replaced whole", arguments: Kind.allCases)
  func replaces(kind: Kind) throws {
    let world = try World(kind)
    try world.files.replace("status.json", with: Array("one".utf8), temporaryFolder: "tasks")
    try world.files.replace("status.json", with: Array("two".utf8), temporaryFolder: "tasks")
    #expect(try world.text("status.json") == "two")
    #expect(try world.files.list("tasks").entries.isEmpty)
  }

  @Test("a save in place keeps the inode and moves the stamp", arguments: Kind.allCases)
  func savesInPlace(kind: Kind) throws {
    let world = try World(kind)
    try world.save("tasks/a.json", "one")
    let before = try #require(try world.files.status("tasks/a.json"))
    try world.save("tasks/a.json", "longer")
    let after = try #require(try world.files.status("tasks/a.json"))
    #expect(before.identity == after.identity)
    #expect(before.stamp != after.stamp)
  }
}

@Suite("A real folder")
struct LiveFileSystemTests {
  @Test("a name that is not UTF-8 is listed apart")
  func unreadableNames() throws {
    let folder = try TemporaryFolder()
    let name: [CChar] = Array(folder.full("a").utf8CString.dropLast()) + [-1, -2, 0]
    let file = try #require(fopen(name, "w"))
    fclose(file)
    let listing = try LiveFileSystem(root: folder.path).list("")
    #expect(listing.entries.isEmpty)
    #expect(listing.unreadableNames == [[UInt8(ascii: "a"), 255, 254]])
  }

  @Test("a pipe is looked at but never waited for")
  func pipes() throws {
    let folder = try TemporaryFolder()
    try #require(mkfifo(folder.full("a.json"), 0o600) == 0)
    let files = try LiveFileSystem(root: folder.path)
    #expect(try files.status("a.json")?.kind == .other)
    #expect(throws: FileSystemError.wrongKind("a.json", found: .other, expected: .file)) {
      try files.read("a.json", bytesMax: 10)
    }
  }

  @Test("extended attributes go with the model")
  func attributes() throws {
    let folder = try TemporaryFolder()
    try folder.save("a.json", Array("a".utf8))
    let files = try LiveFileSystem(root: folder.path)
    let isSupported = shell("setfattr -n user.note -v kept '\(folder.full("a.json"))'")
    guard isSupported else { return }  // No tool or no attributes here: nothing to keep.
    let new = try files.makeTemporary(Array("b".utf8), in: "", prefix: "new", like: "a.json")
    #expect(shell("getfattr -n user.note '\(folder.full(new.path))' 2>/dev/null | grep -q kept"))
  }

  @Test("a workspace that is not there cannot be opened")
  func missingRoot() throws {
    let folder = try TemporaryFolder()
    #expect(throws: FileSystemError.absent(folder.full("none"))) { try LiveFileSystem(root: folder.full("none")) }
  }

  private func shell(_ command: String) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", command]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
