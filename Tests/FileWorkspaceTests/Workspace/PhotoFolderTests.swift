import OfflineEngine
import Testing

@testable import FileWorkspace

@Suite("A folder of photos")
struct PhotoFolderTests {
  private func replica() async throws -> Replica {
    let world = try await TaskWorld.make([task(1, "a"), task(2, "b")])
    let one = try world.replica()
    try await one.sync()
    try one.files.person.createFolder("photos")
    try one.files.person.createFolder("photos/a")
    try one.files.person.save("photos/a/front.jpg", [0xFF, 0xD8])
    return one
  }

  private func names(_ replica: Replica, _ folder: String) -> [String] {
    ((try? replica.files.list(folder).entries.map(\.name)) ?? []).sorted()
  }

  @Test("goes with its task's file to another name", arguments: ["z.json", "A.json", "Ä ö.json"])
  func follows(_ name: String) async throws {
    let one = try await replica()
    try one.move("a.json", name)
    let result = try await one.sync()
    let folder = "photos/" + name.dropLast(5)
    #expect(names(one, "photos") == [String(name.dropLast(5))])
    #expect(names(one, folder) == ["front.jpg"])
    #expect(result.files.events.contains(WorkspaceEvent(.moved, folder, "from photos/a")))
    #expect(try one.isClear)
    #expect(try await one.sync().isQuiet)
  }

  @Test("that the person renamed with the file stays as it is")
  func both() async throws {
    let one = try await replica()
    try one.move("a.json", "z.json")
    try one.files.person.rename("photos/a", "photos/z")
    try await one.sync()
    #expect(names(one, "photos") == ["z"])
    #expect(try one.isClear)
  }

  @Test("is never put over another one")
  func inTheWay() async throws {
    let one = try await replica()
    try one.files.person.createFolder("photos/z")
    try one.files.person.save("photos/z/other.jpg", [1])
    try one.move("a.json", "z.json")
    let result = try await one.sync()
    #expect(names(one, "photos/a") == ["front.jpg"])
    #expect(names(one, "photos/z") == ["other.jpg"])
    #expect(result.files.events.contains { $0.kind == .note && $0.path == "photos/a" })
    #expect(try one.isClear)
  }

  @Test("follows once, also where the process dies before the file's new name is on record")
  func killed() async throws {
    for commit in 0..<12 {
      let one = try await replica()
      try one.move("a.json", "z.json")
      one.commits.plan(last: commit)
      _ = try? await one.sync()
      try one.restart()
      try await one.sync()
      #expect(names(one, "photos") == ["z"], "\(commit)")
      #expect(names(one, "photos/z") == ["front.jpg"], "\(commit)")
      #expect(try one.isClear)
    }
  }

  @Test("changes names with another one when the files do")
  func swapped() async throws {
    let one = try await replica()
    try one.files.person.createFolder("photos/b")
    try one.move("a.json", "c.json")
    try await one.sync()
    try one.move("b.json", "a.json")
    try await one.sync()
    try one.move("c.json", "b.json")
    try await one.sync()
    #expect(names(one, "photos/a").isEmpty)
    #expect(names(one, "photos/b") == ["front.jpg"])
    #expect(names(one, "photos") == ["a", "b"])
  }
}
