/// Why a file is not, or not yet, a photo that can be kept.
public enum PhotoProblem: Error, Sendable, Hashable, CustomStringConvertible {
  /// It has no bytes.
  case empty
  /// It begins as a photo and ends before its end: mostly a copy that is under way or was broken off.
  case truncated(ImageFormat)
  /// It is something else; what, in a few words, where that is known.
  case otherKind(String?)
  /// It has a photo's beginning and end, but cannot be read as one.
  case damaged(ImageFormat, reason: String)
  /// The file itself cannot be read.
  case unreadable(reason: String)
  /// Photos cannot be looked into on this machine.
  case noLibrary(reason: String)
  /// No copy without the place could be made of it, so that it must not be sent.
  case keepsLocation(ImageFormat)
  /// No copy could be made for sending.
  case notPrepared(reason: String)

  /// What is wrong with the file, and what to do, as the rest of a sentence about it.
  public var description: String {
    switch self {
    case .empty: "the file is empty"
    case .truncated(let format):
      "incomplete picture: the \(format.name) ends too early; copy it again, or wait until the copy is finished"
    case .otherKind(let kind):
      "not a photo" + (kind.map { " but \($0)" } ?? "") + "; photos are JPEG, PNG, WebP, GIF, HEIC and AVIF"
    case .damaged(let format, let reason): "damaged \(format.name): \(reason)"
    case .unreadable(let reason): "cannot be read: \(reason)"
    case .noLibrary(let reason): "photos need libvips: \(reason); install the package libvips42"
    case .keepsLocation(let format): "the place cannot be taken out of this \(format.name), so it is not sent"
    case .notPrepared(let reason): "no copy could be made for sending: \(reason)"
    }
  }
}

extension ImageFormat {
  /// What people call it.
  public var name: String {
    switch self {
    case .webp: "WebP"
    default: rawValue.uppercased()
    }
  }

  /// How names of such files mostly end, without the dot.
  public var fileExtension: String {
    switch self {
    case .jpeg: "jpg"
    case .tiff: "tif"
    default: rawValue
    }
  }
}
