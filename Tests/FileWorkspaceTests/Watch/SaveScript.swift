import Foundation
import Glibc

/// A sequence of system calls by which a program saves a file, to be played in a real folder.
///
/// Paths are relative to the folder. `t` stands for the target in the tables.
struct SaveScript {
  enum Step {
    /// Opens a name for writing, creating it, and keeps it open under its name.
    case create(String)
    /// Opens an existing file with truncation and keeps it open.
    case truncate(String)
    /// Opens an existing file and keeps it open.
    case open(String)
    /// Writes to an open file.
    case write(String, String)
    case close(String)
    case rename(String, String)
    case exchange(String, String)
    case link(String, String)
    case symlink(String, String)
    case unlink(String)
    case chmod(String, mode_t)
    case touch(String)
    case makeFolder(String)
    case removeFolder(String)
    /// Makes a file without a name, writes, gives it a name.
    case nameless(String, String)
  }

  let name: String
  let steps: [Step]

  init(_ name: String, _ steps: [Step]) {
    self.name = name
    self.steps = steps
  }
}

struct ScriptFailure: Error {
  let step: String
  let code: Int32
}

/// Plays scripts with real system calls.
final class ScriptPlayer {
  private let folder: TemporaryFolder
  private var open: [String: Int32] = [:]

  init(in folder: TemporaryFolder) { self.folder = folder }

  deinit { for descriptor in open.values { Glibc.close(descriptor) } }

  func play(_ script: SaveScript) throws { for step in script.steps { try play(step) } }

  func play(_ step: SaveScript.Step) throws {
    let result: Int32 =
      switch step {
      case .create(let name): keep(name, O_WRONLY | O_CREAT)
      case .truncate(let name): keep(name, O_WRONLY | O_CREAT | O_TRUNC)
      case .open(let name): keep(name, O_WRONLY)
      case .write(let name, let text): write(name, text)
      case .close(let name): open.removeValue(forKey: name).map(Glibc.close) ?? -1
      case .rename(let from, let to): Glibc.rename(folder.full(from), folder.full(to))
      case .exchange(let one, let other): exchange(one, other)
      case .link(let from, let to): Glibc.link(folder.full(from), folder.full(to))
      case .symlink(let target, let name): Glibc.symlink(target, folder.full(name))
      case .unlink(let name): Glibc.unlink(folder.full(name))
      case .chmod(let name, let mode): Glibc.chmod(folder.full(name), mode)
      case .touch(let name): utimes(folder.full(name), nil)
      case .makeFolder(let name): mkdir(folder.full(name), 0o755)
      case .removeFolder(let name): rmdir(folder.full(name))
      case .nameless(let name, let text): nameless(name, text)
      }
    if result < 0 { throw ScriptFailure(step: "\(step)", code: errno) }
  }

  private func keep(_ name: String, _ flags: Int32) -> Int32 {
    // Not handed on: a program that another test starts would keep the file open, and its close untold.
    let descriptor = Glibc.open(folder.full(name), flags | O_CLOEXEC, 0o644)
    if descriptor >= 0 { open[name] = descriptor }
    return descriptor
  }

  private func write(_ name: String, _ text: String) -> Int32 {
    guard let descriptor = open[name] else { return -1 }
    let bytes = Array(text.utf8)
    return Int32(Glibc.write(descriptor, bytes, bytes.count))
  }

  private func nameless(_ name: String, _ text: String) -> Int32 {
    let parent = (folder.full(name) as NSString).deletingLastPathComponent
    // The number is O_TMPFILE, which Glibc does not show.
    let descriptor = Glibc.open(parent, 0o20200000 | O_WRONLY | O_CLOEXEC, 0o644)
    if descriptor < 0 { return -1 }
    defer { Glibc.close(descriptor) }
    let bytes = Array(text.utf8)
    _ = Glibc.write(descriptor, bytes, bytes.count)
    return linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, folder.full(name), AT_SYMLINK_FOLLOW)
  }

  private func exchange(_ one: String, _ other: String) -> Int32 {
    guard let files = try? LiveFileSystemForTests(folder) else { return -1 }
    return files.exchange(one, other)
  }
}

extension SaveScript {
  /// The saves of an existing `tasks/t.json` as they were recorded from real programs; each ends with the text "new".
  static let saves: [SaveScript] = [
    SaveScript("vim, renaming, with the 4913 test", probe4913 + vimRename),
    SaveScript("vim, renaming", vimRename),
    SaveScript(
      "vim, copying",
      [
        .create("tasks/t.json~"), .write("tasks/t.json~", "old"), .close("tasks/t.json~"),
        .truncate("tasks/t.json"), .write("tasks/t.json", "new"), .chmod("tasks/t.json", 0o644),
        .close("tasks/t.json"), .unlink("tasks/t.json~"),
      ]),
    SaveScript("in place", inPlace),
    SaveScript(
      "emacs, first save",
      [
        .symlink("me@host.1:2", "tasks/.#t.json"), .rename("tasks/t.json", "tasks/t.json~"),
      ] + inPlace + [
        .open("tasks/t.json"), .close("tasks/t.json"), .unlink("tasks/.#t.json"), .chmod("tasks/t.json", 0o644),
      ]),
    SaveScript(
      "GIO replace",
      [
        .create("tasks/.goutputstream-X"), .open("tasks/t.json"), .close("tasks/t.json"),
        .write("tasks/.goutputstream-X", "new"), .rename("tasks/.goutputstream-X", "tasks/t.json"),
        .close("tasks/.goutputstream-X"),
      ]),
    SaveScript(
      "sed -i.bak",
      [
        .create("tasks/sedabcdef"), .write("tasks/sedabcdef", "new"), .close("tasks/sedabcdef"),
        .rename("tasks/t.json", "tasks/t.json.bak"), .rename("tasks/sedabcdef", "tasks/t.json"),
      ]),
    SaveScript(
      "JetBrains",
      [
        .create("tasks/t.json___jb_tmp___"), .write("tasks/t.json___jb_tmp___", "new"),
        .close("tasks/t.json___jb_tmp___"), .rename("tasks/t.json", "tasks/t.json___jb_old___"),
        .rename("tasks/t.json___jb_tmp___", "tasks/t.json"), .unlink("tasks/t.json___jb_old___"),
      ]),
    SaveScript(
      "moved in from outside",
      [.create("draft"), .write("draft", "new"), .close("draft"), .rename("draft", "tasks/t.json")]),
    SaveScript("git checkout", [.unlink("tasks/t.json")] + inPlace),
    SaveScript("a second name", [.unlink("tasks/t.json"), .link("other", "tasks/t.json")]),
    SaveScript("a file without a name", [.unlink("tasks/t.json"), .nameless("tasks/t.json", "new")]),
    SaveScript("an exchange with an unwatched folder", [.exchange("other", "tasks/t.json")]),
  ]

  private static let probe4913: [Step] = [
    .create("tasks/4913"), .chmod("tasks/4913", 0o644), .close("tasks/4913"), .unlink("tasks/4913"),
  ]

  private static let inPlace: [Step] = [
    .truncate("tasks/t.json"), .write("tasks/t.json", "new"), .close("tasks/t.json"),
  ]

  private static let vimRename: [Step] =
    [.rename("tasks/t.json", "tasks/t.json~"), .create("tasks/t.json"), .write("tasks/t.json", "new")]
    + [.chmod("tasks/t.json", 0o644), .close("tasks/t.json"), .chmod("tasks/t.json", 0o644)]
    + [.unlink("tasks/t.json~")]
}
