import Testing

@testable import FileWorkspace

@Suite("Files over which a dry run lies") struct ScratchFileSystemTests {
  private static func real() throws -> InMemoryFileSystem {
    let real = InMemoryFileSystem()
    try real.createFolder("tasks", isPrivate: false)
    for name in ["a", "b"] {
      let made = try real.makeTemporary(Array(name.utf8), in: "tasks", prefix: "t", like: nil)
      try real.rename(made.path, "tasks/\(name).json")
    }
    return real
  }

  private func text(_ files: some FileSystem, _ path: String) throws -> String? {
    guard try files.status(path) != nil else { return nil }
    return String(decoding: try files.read(path, bytesMax: 100).bytes, as: UTF8.self)
  }

  private func names(_ files: some FileSystem, _ folder: String) throws -> [String] {
    try files.list(folder).entries.map(\.name).sorted()
  }

  @Test("shows its own changes over the real files, which stay as they are")
  func changes() throws {
    let real = try Self.real()
    let operations = real.operationCount
    let scratch = ScratchFileSystem(over: real)
    let made = try scratch.makeTemporary(Array("new".utf8), in: "tasks", prefix: "n", like: nil)
    try scratch.exchange(made.path, "tasks/a.json")
    #expect(try text(scratch, "tasks/a.json") == "new")
    #expect(try text(scratch, made.path) == "a")
    try scratch.rename("tasks/b.json", "tasks/c.json")
    try scratch.unlink(made.path)
    #expect(try names(scratch, "tasks") == ["a.json", "c.json"])
    #expect(try scratch.createFolder("notes", isPrivate: true))
    #expect(try !scratch.createFolder("notes", isPrivate: true))
    #expect(try names(scratch, "notes").isEmpty)
    try scratch.removeFolder("notes")
    #expect(try scratch.status("notes") == nil)

    #expect(operations < real.operationCount, "it was read")
    #expect(try names(real, "tasks") == ["a.json", "b.json"])
    #expect(try text(real, "tasks/a.json") == "a")
    #expect(try real.status("notes") == nil)
  }

  @Test("refuses what the real file system would refuse")
  func refusals() throws {
    let scratch = ScratchFileSystem(over: try Self.real())
    #expect(throws: FileSystemError.self) { try scratch.renameNoReplace("tasks/a.json", "tasks/b.json") }
    #expect(throws: FileSystemError.self) { try scratch.link("tasks/a.json", "tasks/b.json") }
    #expect(throws: FileSystemError.self) { try scratch.exchange("tasks/a.json", "tasks/none.json") }
    #expect(throws: FileSystemError.self) { try scratch.unlink("tasks/none.json") }
    #expect(throws: FileSystemError.self) { try scratch.removeFolder("tasks") }
    try scratch.unlink("tasks/a.json")
    #expect(throws: FileSystemError.self) { try scratch.read("tasks/a.json", bytesMax: 10) }
    #expect(try names(scratch, "tasks") == ["b.json"])
  }
}
