#if canImport(Glibc)
  import Glibc
#endif

/// Why an operation on a file of the workspace did not happen.
public enum FileSystemError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The path is empty where it must not be, leaves the workspace, or holds a character that no name can have.
  case badPath(String, reason: String)
  /// Nothing lies at the path.
  case absent(String)
  /// Something lies at the path already.
  case exists(String)
  /// Something other than what was needed lies at the path; a symbolic link is never followed.
  case wrongKind(String, found: FileKind, expected: FileKind)
  /// The folder still has entries.
  case notEmpty(String)
  /// The user may not do this here, or the file system is mounted read-only.
  case notPermitted(String, operation: String, errno: Int32)
  /// The disk, or the user's share of it, is full.
  case diskFull(String, operation: String, errno: Int32)
  /// The file is larger than the limit.
  case tooLarge(String, bytes: Int64, bytesMax: Int)
  /// Somebody wrote to the file while it was read. Reading again may help.
  case changedWhileReading(String)
  /// The two paths do not lie on one file system, so that neither a rename nor an exchange can work.
  case otherFileSystem(String)
  /// The file system cannot do this at all.
  case unsupported(String, operation: String)
  /// Anything else the kernel said.
  case failed(String, operation: String, errno: Int32)

  /// The path that the operation was about, relative to the workspace.
  public var path: String {
    switch self {
    case .badPath(let path, _), .absent(let path), .exists(let path), .wrongKind(let path, _, _),
      .notEmpty(let path), .notPermitted(let path, _, _), .diskFull(let path, _, _), .tooLarge(let path, _, _),
      .changedWhileReading(let path), .otherFileSystem(let path), .unsupported(let path, _),
      .failed(let path, _, _):
      path
    }
  }

  /// What happened, to which file, and what to do.
  public var description: String {
    switch self {
    case .badPath(let path, let reason):
      "'\(shown(path))' is not a path inside the workspace: \(reason)"
    case .absent(let path):
      "'\(shown(path))' does not exist"
    case .exists(let path):
      "'\(shown(path))' exists already"
    case .wrongKind(let path, let found, let expected):
      "'\(shown(path))' is \(found.phrase), not \(expected.phrase); it was left alone"
    case .notEmpty(let path):
      "the folder '\(shown(path))' is not empty"
    case .notPermitted(let path, let operation, let code):
      "cannot \(operation) '\(shown(path))': \(errorText(code)); check its owner, its mode and how the disk is mounted"
    case .diskFull(let path, let operation, let code):
      "cannot \(operation) '\(shown(path))': \(errorText(code)); free some space, the work goes on by itself"
    case .tooLarge(let path, let bytes, let bytesMax):
      "'\(shown(path))' has \(bytes) bytes, more than the \(bytesMax) that a row's file may have; make it smaller, or move it away"
    case .changedWhileReading(let path):
      "'\(shown(path))' was written to while it was read; it is read again when it is quiet"
    case .otherFileSystem(let path):
      "'\(shown(path))' lies on another file system"
    case .unsupported(let path, let operation):
      "the file system of '\(shown(path))' cannot \(operation)"
    case .failed(let path, let operation, let code):
      "cannot \(operation) '\(shown(path))': \(errorText(code))"
    }
  }
}

/// The path as it may stand in one line of a log: control characters become escapes.
private func shown(_ path: String) -> String {
  guard path.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return path }
  return path.unicodeScalars.map { $0.properties.generalCategory == .control ? $0.escaped(asASCII: true) : String($0) }
    .joined()
}

/// The C library's words for an error number.
func errorText(_ code: Int32) -> String {
  #if canImport(Glibc)
    var buffer = [CChar](repeating: 0, count: 256)
    guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  #else
    return "error \(code)"
  #endif
}
