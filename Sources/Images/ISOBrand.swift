import Glibc

extension ImageLibrary {
  /// Whether a file of the HEIF family is AVIF, by the brands of its first box (ISO/IEC 14496-12, section 4.3).
  static func isAVIF(_ path: String) throws(ImageError) -> Bool {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw .damaged(path: path, reason: String(cString: strerror(errno))) }
    defer { close(file) }
    var head = [UInt8](repeating: 0, count: 64)
    let count = read(file, &head, head.count)
    guard count >= 16 else { return false }
    let size = min(count, head[..<4].reduce(0) { $0 << 8 | Int($1) })
    // The major brand, and behind the version those that the file is compatible with.
    return ([8] + Array(stride(from: 16, to: size - 3, by: 4))).contains { place in
      head[place..<place + 4].elementsEqual("avif".utf8) || head[place..<place + 4].elementsEqual("avis".utf8)
    }
  }
}
