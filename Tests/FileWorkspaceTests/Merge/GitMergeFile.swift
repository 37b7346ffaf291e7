import FileWorkspace
import Foundation
import Testing

/// What `git merge-file` makes of three texts: a peer that knows nothing of this program.
struct GitMergeFile {
  /// The result, with the markers of each overlap and the text before both changes.
  var marked: String
  /// How many overlaps there are, as far as an exit code can count.
  var overlapCount: Int

  init(base: String, mine: String, theirs: String, in folder: TemporaryFolder, isMarkingBase: Bool = true) throws {
    for (name, text) in [("base", base), ("mine", mine), ("theirs", theirs)] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder.path)/\(name)"))
    }
    let git = Process()
    git.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    git.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    // Nothing that somebody has set for their own work with git may have a say.
    git.environment = [
      "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1",
      "HOME": folder.path, "GIT_CEILING_DIRECTORIES": "/",
    ]
    let labels = ["-L", "mine", "-L", "base", "-L", "theirs"]
    git.arguments =
      ["git", "merge-file", "-p", "-q"] + (isMarkingBase ? ["--diff3"] : []) + labels + ["mine", "base", "theirs"]
    let output = Pipe()
    git.standardOutput = output
    try git.run()
    let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
    git.waitUntilExit()
    // 127 is the count of overlaps at its most; above it stand git's errors, and the shell's that there is no git.
    try #require(git.terminationReason == .exit && git.terminationStatus < 127, "git merge-file could not be run")
    marked = String(decoding: bytes, as: UTF8.self)
    overlapCount = Int(git.terminationStatus)
  }
}
