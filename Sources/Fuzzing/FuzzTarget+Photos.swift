import Glibc
import Images

extension FuzzTarget {
  /// Whatever a file holds, it is a whole photo or not one, with words; a copy without its place is as long as it was.
  static func photos(_ bytes: [UInt8]) -> String? {
    guard let photo = NamelessFile(bytes), let copy = NamelessFile([]) else {
      return "no temporary file could be written: \(String(cString: strerror(errno)))"
    }
    do throws(PhotoProblem) {
      let info = try ImageInfo(photo: photo.path)
      _ = info.taken?.secondsSince1970(otherwiseOffset: 0)
      let made = try UploadCopy(stripsLocation: true, longestEdge: 64, convertsHEIC: true)
        .make(from: photo.path, info: info, to: copy.path)
      let isBitByBit = made == info.format && info.format != ImageFormat.png && max(info.width, info.height) <= 64
      if isBitByBit, copy.size != bytes.count { return "a copy that is not as long as the photo" }
    } catch {
      if error.description.isEmpty { return "a problem without words" }
    }
    return nil
  }
}

/// A file without a name, which goes with this.
private final class NamelessFile {
  private let stream: UnsafeMutablePointer<FILE>

  /// Makes one; `nil` when that fails, with the reason in `errno`.
  init?(_ bytes: [UInt8]) {
    guard let stream = tmpfile() else { return nil }
    self.stream = stream
    guard fwrite(bytes, 1, bytes.count, stream) == bytes.count, fflush(stream) == 0 else { return nil }
  }

  deinit { fclose(stream) }

  /// What opens it by a path.
  var path: String { "/proc/self/fd/\(fileno(stream))" }

  var size: Int { lseek(fileno(stream), 0, SEEK_END) }
}
