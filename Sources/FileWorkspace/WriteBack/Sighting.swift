/// What a look at one path shows.
enum Sighting: Sendable {
  case absent
  case file(FileContent)
  /// A folder or link, or a file that cannot be read or is being written: not what anybody compared.
  case other(FileStatus)

  var mark: FileMark? {
    guard case .file(let content) = self else { return nil }
    return FileMark(identity: content.status.identity, hash: content.hash, modified: content.status.modified)
  }

  var found: FoundFile {
    switch self {
    case .absent: .absent
    case .file(let content): .file(hash: content.hash, status: content.status)
    case .other(let status): .other(status.kind)
    }
  }

  /// The text of a file that could be read.
  var bytes: [UInt8]? { if case .file(let content) = self { content.bytes } else { nil } }

  var isAbsent: Bool { if case .absent = self { true } else { false } }

  func says(_ hash: ContentHash?) -> Bool {
    guard case .file(let content) = self else { return false }
    return content.hash == hash
  }

  /// The same file with the same text.
  func isSame(as other: Sighting) -> Bool {
    switch (self, other) {
    case (.file, .file): mark?.identity == other.mark?.identity && mark?.hash == other.mark?.hash
    case (.other(let mine), .other(let theirs)): mine.kind != .file && mine.identity == theirs.identity
    default: false
    }
  }
}

extension FileSystem {
  /// Looks at a path; throws only when the look itself fails.
  func look(_ path: String, bytesMax: Int) throws(FileSystemError) -> Sighting {
    do {
      return .file(try read(path, bytesMax: bytesMax))
    } catch {
      switch error {
      case .absent: return .absent
      case .wrongKind, .tooLarge, .changedWhileReading, .notPermitted:
        guard let status = try status(path) else { return .absent }
        return .other(status)
      default: throw error
      }
    }
  }
}
