import Testing

@testable import FileWorkspace

@Suite("Paths")
struct WorkspacePathTests {
  @Test("keys compare bytes")
  func keys() {
    let texts = ["", "a", "a/b", "ab", "b", "e\u{301}", "\u{e9}"]
    for (index, text) in texts.enumerated() {
      for (other, second) in texts.enumerated() {
        #expect((PathKey(text) < PathKey(second)) == (index < other), "\(text) \(second)")
        #expect((PathKey(text) == PathKey(second)) == (index == other), "\(text) \(second)")
      }
    }
    #expect(Set(texts.map(PathKey.init)).count == texts.count)
    let mixed = [4, 0, 6, 2, 5, 1, 3].map { texts[$0] }
    #expect(WorkspacePath.order(of: mixed).map { PathKey(mixed[$0]) } == texts.map(PathKey.init))
    #expect(WorkspacePath.order(of: []) == [])
  }

  @Test("split into folder and name, and join again", arguments: ["a", "tasks/a.json", "a/b/c", "\u{e9}/e\u{301}"])
  func parts(path: String) throws {
    let joined = WorkspacePath.joined(WorkspacePath.folder(of: path), WorkspacePath.name(of: path))
    #expect(PathKey(joined) == PathKey(path))
    #expect(try WorkspacePath.components(of: path).joined(separator: "/") == path)
  }

  @Test("are cut at a character's border")
  func cut() {
    #expect(WorkspacePath.cut("abc", bytesMax: 3) == "abc")
    #expect(WorkspacePath.cut("abc", bytesMax: 2) == "ab")
    #expect(WorkspacePath.cut("a\u{e9}", bytesMax: 2) == "a")
    #expect(WorkspacePath.cut("\u{1F600}", bytesMax: 3) == "")
  }
}
