import Testing

@testable import FileWorkspace

@Suite("The lines of .gitattributes")
struct GitAttributesTests {
  @Test("every folder gets its line once, behind what is there")
  func adding() throws {
    let made = try #require(GitAttributes.adding(["tasks", "people"], to: nil))
    #expect(made.hasSuffix("/tasks/*.json merge=tidemark\n/people/*.json merge=tidemark\n"))
    #expect(GitAttributes.adding(["people", "tasks"], to: made) == nil)
    let behind = try #require(GitAttributes.adding(["tasks"], to: "*.json -text diff"))
    #expect(behind.hasPrefix("*.json -text diff\n\n# "))
    let windows = try #require(GitAttributes.adding(["tasks"], to: "*.json -text\r\n"))
    #expect(windows.hasSuffix("/tasks/*.json merge=tidemark\r\n") && windows.split(separator: "\r\n").count == 3)
    #expect(GitAttributes.adding(["tasks"], to: windows) == nil)
    #expect(GitAttributes.adding([], to: "") == nil)
  }

  @Test("a person's own choice for a folder stays", arguments: ["merge=union", "-merge", "text merge=ours", "binary"])
  func ownChoice(words: String) {
    #expect(GitAttributes.adding(["tasks"], to: "/tasks/*.json \(words)\n") == nil)
    #expect(GitAttributes.adding(["tasks"], to: "/tasks/*.jsonl \(words)\n") != nil)
    #expect(GitAttributes.adding(["tasks"], to: "/tasks/*.json -text\n") != nil)
  }

  @Test(
    "names that mean something to git are escaped",
    arguments: [
      ("to do", #""/to do/*.json" merge=tidemark"#), ("a*b?[c]", #"/a\*b\?\[c]/*.json merge=tidemark"#),
      ("Aufgäben", "/Aufgäben/*.json merge=tidemark"), ("a* b", #""/a\\* b/*.json" merge=tidemark"#),
    ])
  func names(folder: String, line: String) { #expect(GitAttributes.line(for: folder) == line) }
}
