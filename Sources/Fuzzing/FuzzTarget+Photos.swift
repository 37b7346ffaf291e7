import Glibc
import Images

extension FuzzTarget {
  /// Whatever a file holds, it is a whole photo or not one, with words; a copy without its place is as long as it was.
  static func photos(_ bytes: [UInt8]) -> String? {
    let (photo, copy) = (namelessFile(), namelessFile())
    defer {
      close(photo)
      close(copy)
    }
    guard photo >= 0, copy >= 0, write(photo, bytes, bytes.count) == bytes.count else { return "no room" }
    do throws(PhotoProblem) {
      let info = try ImageInfo(photo: "/proc/self/fd/\(photo)")
      _ = info.taken?.secondsSince1970(otherwiseOffset: 0)
      let made = try UploadCopy(stripsLocation: true, longestEdge: 64, convertsHEIC: true)
        .make(from: "/proc/self/fd/\(photo)", info: info, to: "/proc/self/fd/\(copy)")
      let isBitByBit = made == info.format && info.format != ImageFormat.png && max(info.width, info.height) <= 64
      if isBitByBit, lseek(copy, 0, SEEK_END) != bytes.count { return "a copy that is not as long as the photo" }
    } catch {
      if error.description.isEmpty { return "a problem without words" }
    }
    return nil
  }

  /// An open file that is gone once it is closed.
  private static func namelessFile() -> Int32 {
    var path = Array("/tmp/tidemark-fuzz-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    unlink(path)
    return file
  }
}
