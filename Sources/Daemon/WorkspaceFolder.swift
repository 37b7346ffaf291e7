import FileWorkspace
import FoundationEssentials
import Glibc
import OfflineEngine

/// A workspace's place on the disk.
public struct WorkspaceFolder: Sendable, Hashable {
  /// The folder's absolute path.
  public let path: String

  /// The folder at an absolute path.
  public init(path: String) { self.path = path }

  /// Where the program keeps its own files.
  public var statePath: String { "\(path)/\(StateFolder.root)" }
  var databasePath: String { "\(statePath)/state.sqlite" }
  var lockPath: String { "\(statePath)/lock" }
  /// The stored session.
  public var session: WorkspaceSession { WorkspaceSession(path: "\(statePath)/session") }
  var settingsPath: String { "\(path)/\(WorkspaceSettings.fileName)" }

  /// The workspace at `start`, or in the nearest folder above it.
  public static func find(from start: String) throws(DaemonError) -> WorkspaceFolder {
    let absolute = Self.absolute(start)
    var path = absolute
    while true {
      let folder = WorkspaceFolder(path: path)
      if folder.isWorkspace { return folder }
      guard path != "/", let slash = path.lastIndex(of: "/") else { throw .noWorkspace(folder: absolute) }
      path = slash == path.startIndex ? "/" : String(path[..<slash])
    }
  }

  /// The absolute form of a path, links in it followed where they exist.
  public static func absolute(_ path: String) -> String {
    if let real = realpath(path, nil) {
      defer { free(real) }
      return String(cString: real)
    }
    if path.hasPrefix("/") { return path }
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let current = getcwd(&buffer, buffer.count).map { String(cString: $0) } ?? ""
    return path == "." ? current : "\(current)/\(path)"
  }

  /// Whether the folder has its marker.
  public var isWorkspace: Bool {
    var status = stat()
    return stat(statePath, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The settings of the workspace.
  public func settings() throws(DaemonError) -> WorkspaceSettings {
    guard let bytes = Self.bytes(settingsPath) else {
      throw .settings(
        "'\(settingsPath)' is missing or cannot be read (\(String(cString: strerror(errno)))); put it back, from git for "
          + "instance")
    }
    do {
      return try WorkspaceSettings(parsing: bytes)
    } catch {
      throw .settings("\(error)")
    }
  }

  /// The bytes of a file, or `nil` when it cannot be read; `errno` says why.
  static func bytes(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0 { return nil }
      if count == 0 { return bytes }
      bytes += chunk[..<count]
    }
  }
}

extension WorkspaceFolder {
  /// Whether something lies at a path of the workspace.
  public func has(_ relativePath: String) -> Bool {
    var status = stat()
    return lstat("\(path)/\(relativePath)", &status) == 0
  }
}
