import Daemon

/// Git in a workspace's repository: the one place where this program runs it.
struct GitProgram {
  private let workspace: WorkspaceFolder
  private let environment: [String: String]

  init(_ workspace: WorkspaceFolder, environment: [String: String]) {
    self.workspace = workspace
    // Git sets these for its hooks; they would mean another repository than the workspace's.
    var own = environment.filter { !["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"].contains($0.key) }
    // Nobody is there to be asked, and names of files are no patterns.
    own["GIT_TERMINAL_PROMPT"] = "0"
    own["GIT_LITERAL_PATHSPECS"] = "1"
    self.environment = own
  }

  /// Runs git in the workspace's folder and returns what it printed.
  func run(_ words: [String]) throws(CommandFailure) -> ChildProgram.Finished {
    try ChildProgram.run(["git", "-C", workspace.path] + words, environment: environment, capturesOutput: true)
  }
}
