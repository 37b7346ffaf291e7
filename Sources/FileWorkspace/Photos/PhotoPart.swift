import Hashing
import SupabaseAPI

/// The first bytes of an object, left by a fetch that was broken off.
///
/// Its name alone says of which object and of which content it is, so nothing else has to be kept in step with it.
struct PhotoPart: Sendable, Hashable {
  /// What every such file's name begins with.
  static let prefix = "part-"

  /// Where it lies.
  var path: String
  /// Which content of the object it is of; empty where the server does not tell in a way to go on by.
  var etag: String
  /// How many bytes are there.
  var size: Int64

  /// What the names of an object's parts begin with.
  static func prefix(of object: ObjectPath) -> String {
    let digest = Digest(.sha256)
    Array("\(object.bucket)/\(object.key)".utf8).withUnsafeBytes { digest.update($0) }
    return "\(prefix)\(digest.finish().prefix(32))-"
  }

  /// The name of a part.
  static func name(_ object: ObjectPath, etag: String) -> String {
    prefix(of: object) + DownloadRest.nameText(of: etag)
  }

  /// A part by its name.
  init(name: String, path: String, size: Int64) {
    self.path = path
    self.size = size
    etag = DownloadRest.etag(nameText: name.utf8.reversed().prefix { $0 != UInt8(ascii: "-") }.reversed())
  }
}
