import Daemon
import Testing

@Suite("What a person means by a path") struct WorkspaceFolderTests {
  private let folder = WorkspaceFolder(path: "/home/me/work")

  @Test(
    "a path counts from where it is typed, from the workspace, or from the root",
    arguments: [
      ("tasks/a.json", "/home/me/work", "tasks/a.json"), ("a.json", "/home/me/work/tasks", "tasks/a.json"),
      ("./a.json", "/home/me/work/tasks", "tasks/a.json"), ("../tasks/a.json", "/home/me/work/tasks", "tasks/a.json"),
      ("tasks/a.json", "/home/me/work/tasks", "tasks/a.json"), ("work/tasks/a.json", "/home/me", "tasks/a.json"),
      ("/home/me/work/tasks/a.json", "/", "tasks/a.json"), ("a.json", "/home/me/work", nil),
      ("../other/a.json", "/home/me/work", nil), ("/home/me/workshop/a.json", "/", nil), ("..", "/home/me/work", nil),
    ] as [(String, String, String?)])
  func paths(word: String, start: String, expected: String?) {
    #expect(folder.inside(word, from: start) { $0 == "tasks/a.json" } == expected)
    #expect(folder.inside(word, from: start) { _ in false } == expected)
  }
}
