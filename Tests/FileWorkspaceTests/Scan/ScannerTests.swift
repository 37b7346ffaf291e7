import Testing

@testable import FileWorkspace

@Suite("Scanning a collection's folder")
struct ScannerTests {
  let files: InMemoryFileSystem
  let scanner: Scanner

  init() throws {
    files = InMemoryFileSystem()
    try files.person.createFolder(".tidemark")
    try files.person.createFolder("tasks")
    scanner = Scanner(files: files, isRow: { $0.hasSuffix(".json") && !$0.hasPrefix(".") })
  }

  func known(_ paths: [String], readAfter seconds: Int64 = 10) throws -> [PathKey: KnownFile] {
    var known: [PathKey: KnownFile] = [:]
    for path in paths {
      let status = try #require(try files.status(path))
      let readAt = FileTime(nanoseconds: status.changed.nanoseconds + seconds * 1_000_000_000)
      known[PathKey(path)] = KnownFile(stamp: status.stamp, readAt: readAt)
    }
    return known
  }

  @Test("tells new, changed, unchanged and absent files apart")
  func changes() throws {
    for name in ["same", "edited", "rewritten", "gone"] { try files.person.save("tasks/\(name).json", [1]) }
    let known = try known(["same", "edited", "rewritten", "gone"].map { "tasks/\($0).json" })
    try files.person.save("tasks/edited.json", [2])
    try files.person.saveByRename("tasks/rewritten.json", [1])
    try files.person.remove("tasks/gone.json")
    try files.person.save("tasks/new.json", [1])
    let scan = try scanner.scan("tasks", known: known)
    #expect(
      scan.files.map { "\($0.path) \($0.change)" } == [
        "tasks/edited.json changed", "tasks/new.json new", "tasks/rewritten.json changed", "tasks/same.json unchanged",
      ])
    #expect(scan.absent == ["tasks/gone.json"])
    #expect(scan.isSteady)
  }

  @Test("a file read within a tick of its change is read again")
  func tooFresh() throws {
    try files.person.save("tasks/a.json", [1])
    let fresh = try scanner.scan("tasks", known: try known(["tasks/a.json"], readAfter: 1))
    #expect(fresh.files.map(\.change) == [.changed])
    let later = try scanner.scan("tasks", known: try known(["tasks/a.json"], readAfter: 3))
    #expect(later.files.map(\.change) == [.unchanged])
  }

  @Test("only rows count, but every name is told; what is no file is told apart")
  func kinds() throws {
    try files.person.save("tasks/a.json", [])
    try files.person.save("tasks/.a.json.swp", [])
    try files.person.save("tasks/a.json~", [])
    try files.person.createLink("tasks/link.json")
    try files.person.createFolder("tasks/folder.json")
    let scan = try scanner.scan("tasks", known: [:])
    #expect(scan.files.map(\.path) == ["tasks/a.json"])
    #expect(scan.notFiles.map(\.path) == ["tasks/folder.json", "tasks/link.json"])
    #expect(Set(scan.names) == ["a.json", ".a.json.swp", "a.json~", "link.json", "folder.json"])
  }

  @Test("a known file whose place a folder took is absent")
  func becameFolder() throws {
    try files.person.save("tasks/a.json", [])
    let known = try known(["tasks/a.json"])
    try files.person.remove("tasks/a.json")
    try files.person.createFolder("tasks/a.json")
    #expect(try scanner.scan("tasks", known: known).absent == ["tasks/a.json"])
  }

  @Test("without marker or folder nothing counts as absent")
  func missing() throws {
    try files.person.save("tasks/a.json", [])
    let known = try known(["tasks/a.json"])
    #expect(throws: ScanError.folderMissing(folder: "photos")) { try scanner.scan("photos", known: known) }
    try files.person.rename("tasks", "elsewhere")
    #expect(throws: ScanError.folderMissing(folder: "tasks")) { try scanner.scan("tasks", known: known) }
    try files.person.rename("elsewhere", "tasks")
    try files.person.removeFolder(".tidemark")
    #expect(throws: ScanError.markerMissing) { try scanner.scan("tasks", known: known) }
    try files.person.save(".tidemark", [])
    #expect(throws: ScanError.markerMissing) { try scanner.scan("tasks", known: known) }
  }

  @Test("a folder made anew is told, another mount is refused")
  func folderIdentity() throws {
    let first = try scanner.scan("tasks", known: [:])
    #expect(first.isSameFolder)
    #expect(try scanner.scan("tasks", known: [:], identity: first.identity).isSameFolder)
    try files.person.removeFolder("tasks")
    try files.person.createFolder("tasks")
    #expect(try !scanner.scan("tasks", known: [:], identity: first.identity).isSameFolder)
    var elsewhere = first.identity
    elsewhere.mount += 1
    #expect(throws: ScanError.otherMount(folder: "tasks")) {
      try scanner.scan("tasks", known: [:], identity: elsewhere)
    }
  }
}
