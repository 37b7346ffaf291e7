import OfflineEngine
import SupabaseAPI
import Synchronization

/// One piece of work on a photo that takes time; done beside the workspace, which decides about its outcome.
enum PhotoJob: Sendable {
  /// Read a file: whether it is a photo, and which.
  case read(PhotoRecord)
  /// Send a file.
  case upload(PhotoUpload)
  /// Remove an object that no row names.
  case remove(PhotoLeftover, bucket: String)
  /// Fetch an object.
  case download(PhotoDownload)
}

/// A file that is to be sent.
struct PhotoUpload: Sendable {
  var record: PhotoRecord
  var path: String
  var content: PhotoContent
  var bucket: String
  /// The object's key, on record before the first byte leaves.
  var key: String
  /// Whether an earlier process or try may have sent it.
  var mayHaveArrived: Bool
  /// What is done to a copy before it is sent.
  var prepare = PhotosSettings.Preparation()
  /// The hashes of photos that are on the server only: a copy with one of them is of such a photo.
  var known: Set<String> = []
}

/// An object that is to be fetched.
struct PhotoDownload: Sendable {
  var record: PhotoRecord
  var row: PhotoRow
  var bucket: String
}

/// What became of a job.
enum PhotoOutcome: Sendable {
  /// The file was read.
  case read(PhotoContent)
  /// The file is no photo.
  case noPhoto(PhotoFault)
  /// The file moved while it was read or sent, or somebody has it open: it is read again.
  case unsteady
  /// The object is in the bucket, with so many bytes; what was sent is the file, or a copy that was prepared.
  case uploaded(size: Int64, sent: PhotoContent)
  /// What would be sent is a photo that the server has.
  case known(sha256: String)
  /// The server took the upload, and then showed no object.
  case unconfirmed
  /// Another object has the key.
  case keyTaken
  /// The object is gone, or was not there.
  case removed
  /// The server left the object where it is, although it refused nothing.
  case notRemoved
  /// The object's bytes are in a file, whole and as the row says.
  case downloaded(TemporaryFile, PhotoContent)
  /// The object's bytes are not those that the row tells of.
  case otherBytes(String)
  /// The server's last word.
  case refused(ServerError)
  /// A file of this device could not be read or written.
  case failed(FileSystemError)
}

/// How far the transfer at hand has come.
final class PhotoProgress: Sendable {
  private let state = Mutex<(id: String, percent: Int)?>(nil)

  /// The photo and the share that has passed, from 0 to 100.
  var current: (id: String, percent: Int)? { state.withLock(\.self) }

  func begin(_ id: String) { state.withLock { $0 = (id, 0) } }

  func note(_ id: String, _ done: Int64, of total: Int64) {
    state.withLock { $0 = (id, total > 0 ? Int(min(100, done * 100 / total)) : 100) }
  }

  func end() { state.withLock { $0 = nil } }
}
