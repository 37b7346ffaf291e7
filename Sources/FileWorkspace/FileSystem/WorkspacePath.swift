import Glibc

/// A path or name compared by its bytes.
///
/// Swift's `String` counts canonically equal texts as one, a Linux file system does not: `é` in one and in two scalars
/// are two files. So every table by path uses this key.
public struct PathKey: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The path as text.
  public let text: String

  /// Makes a key from a path or name.
  public init(_ text: String) { self.text = text }

  /// The path as text.
  public var description: String { text }

  /// Compares the bytes.
  public static func == (left: PathKey, right: PathKey) -> Bool {
    left.text.utf8.count == right.text.utf8.count && left.order(to: right) == 0
  }

  /// Orders by bytes.
  public static func < (left: PathKey, right: PathKey) -> Bool {
    let order = left.order(to: right)
    return order < 0 || (order == 0 && left.text.utf8.count < right.text.utf8.count)
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(0xff as UInt8)
  }

  /// Which comes first in the bytes that both have.
  private func order(to other: PathKey) -> Int32 {
    withBytes { mine in
      other.withBytes { theirs in
        guard let one = mine.baseAddress, let other = theirs.baseAddress else { return 0 }
        return memcmp(one, other, min(mine.count, theirs.count))
      }
    }
  }

  private func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    if let result = text.utf8.withContiguousStorageIfAvailable(body) { return result }
    var copy = text
    return copy.withUTF8(body)
  }
}

/// Rules for paths inside a workspace: relative, components separated by one `/`, never `.` or `..`; empty is the root.
public enum WorkspacePath {
  /// Splits a path into its components after checking it.
  ///
  /// - Throws: `FileSystemError.badPath` for an absolute path, an empty, `.` or `..` component, a NUL, or a component
  ///   over 255 bytes.
  public static func components(of path: String) throws(FileSystemError) -> [String] {
    if path.isEmpty { return [] }
    var text = path
    let (result, reason): ([String], String?) = text.withUTF8 { bytes in
      var result: [String] = []
      var start = 0
      for end in 0...bytes.count where end == bytes.count || bytes[end] == UInt8(ascii: "/") {
        let part = UnsafeBufferPointer(rebasing: bytes[start..<end])
        if let reason = flaw(of: part) { return ([], reason) }
        result.append(String(decoding: part, as: UTF8.self))
        start = end + 1
      }
      return (result, nil)
    }
    if let reason { throw .badPath(path, reason: reason) }
    return result
  }

  /// Checks one component by the same rules.
  static func check(component: String, of path: String) throws(FileSystemError) {
    var text = component
    if let reason = text.withUTF8({ flaw(of: $0) }) { throw .badPath(path, reason: reason) }
  }

  private static func flaw(of part: UnsafeBufferPointer<UInt8>) -> String? {
    let dot = UInt8(ascii: ".")
    switch part.count {
    case 0: return "it starts or ends with '/', or has two in a row"
    case 1 where part[0] == dot, 2 where part[0] == dot && part[1] == dot:
      return "it contains a '.' or '..' component"
    case 256...: return "a component has \(part.count) bytes, more than 255"
    default:
      guard let start = part.baseAddress, memchr(start, 0, part.count) != nil else { return nil }
      return "it contains a NUL character"
    }
  }

  /// The folder that holds the path; empty for an entry of the root and for the root.
  public static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    return String(path[..<slash])
  }

  /// The last component.
  public static func name(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
    return String(path[path.utf8.index(after: slash)...])
  }

  /// The path of an entry in a folder; the folder may be the root.
  public static func joined(_ folder: String, _ name: String) -> String {
    folder.isEmpty ? name : "\(folder)/\(name)"
  }

  /// A name cut to at most `bytesMax` bytes at a character's border.
  public static func cut(_ name: String, bytesMax: Int) -> String {
    guard name.utf8.count > bytesMax else { return name }
    var result = ""
    for character in name {
      guard result.utf8.count + character.utf8.count <= bytesMax else { break }
      result.append(character)
    }
    return result
  }

  /// The indices of names in the order of their bytes; for many names several times as fast as sorting keys.
  static func order(of names: [String]) -> [Int] {
    // All bytes in one place: comparing two then counts no references.
    var bytes: [UInt8] = []
    var starts: [Int] = [0]
    starts.reserveCapacity(names.count + 1)
    for name in names {
      bytes.append(contentsOf: name.utf8)
      starts.append(bytes.count)
    }
    return bytes.withUnsafeBufferPointer { bytes in
      starts.withUnsafeBufferPointer { starts in
        names.indices.sorted { one, other in
          let (mine, theirs) = (starts[one + 1] - starts[one], starts[other + 1] - starts[other])
          guard let base = bytes.baseAddress else { return false }
          let order = memcmp(base + starts[one], base + starts[other], min(mine, theirs))
          return order < 0 || (order == 0 && mine < theirs)
        }
      }
    }
  }
}
