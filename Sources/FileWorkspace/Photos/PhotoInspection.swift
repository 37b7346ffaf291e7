import Images
import OfflineEngine

/// What the bytes of a file say of it as a photo.
public struct PhotoFacts: Sendable, Hashable {
  /// The media type, by the content and not by the name.
  public var contentType: String
  /// In pixels, as it is meant to be looked at.
  public var width: Int?
  /// In pixels, as it is meant to be looked at.
  public var height: Int?
  /// When it was taken, RFC 3339.
  public var takenAt: String?

  /// What a file says.
  public init(contentType: String, width: Int? = nil, height: Int? = nil, takenAt: String? = nil) {
    self.contentType = contentType
    self.width = width
    self.height = height
    self.takenAt = takenAt
  }
}

/// Why a file is no photo, or not yet one; for a person.
public struct PhotoFault: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, and what to do.
  public var description: String

  /// A fault.
  public init(_ description: String) { self.description = description }
}

/// Looks at an open file: whether it is a whole photo, and what it says of itself.
public typealias PhotoInspector = @Sendable (any ReadableFile) throws(PhotoFault) -> PhotoFacts

extension PhotoFacts {
  /// Looks at a file of this machine.
  public static let inspect: PhotoInspector = { file throws(PhotoFault) in
    guard let path = file.systemPath else { throw PhotoFault("it cannot be looked at here") }
    do throws(PhotoProblem) {
      let info = try ImageInfo(photo: path)
      return PhotoFacts(
        contentType: info.format.mimeType, width: info.width, height: info.height,
        // A camera that does not say where it was had its clock where nobody can tell; everywhere it is taken alike.
        takenAt: info.taken.map { WallTime.text(secondsSince1970: Int64($0.secondsSince1970(otherwiseOffset: 0))) })
    } catch {
      throw PhotoFault(error.description)
    }
  }
}
