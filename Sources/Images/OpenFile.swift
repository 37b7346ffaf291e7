import Glibc

/// A file that is read in pieces at any place; what of it is in memory does not grow with it.
final class OpenFile {
  let descriptor: Int32
  /// In bytes, when it was opened.
  let size: Int
  /// Another name of the very same file, while it is open; libvips would take brackets at the end of a path for options.
  var systemPath: String { "/proc/self/fd/\(descriptor)" }
  private var window: [UInt8] = []
  private var windowStart = 0

  /// Opens a regular file for reading.
  init(_ path: String) throws(PhotoProblem) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .unreadable(reason: String(cString: strerror(errno))) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw .unreadable(reason: "it is no regular file")
    }
    size = Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// The bytes of a range, or fewer where the file ends.
  func bytes(at place: Int, count: Int) throws(PhotoProblem) -> [UInt8] {
    guard place >= 0, place < size, count > 0 else { return [] }
    let wanted = min(count, size - place)
    var failure: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, filled in
      while filled < wanted, let start = buffer.baseAddress {
        let got = pread(descriptor, start + filled, wanted - filled, off_t(place + filled))
        if got < 0, errno == EINTR { continue }
        if got < 0 { failure = errno }
        guard got > 0 else { return }
        filled += got
      }
    }
    guard failure == 0 else { throw .unreadable(reason: String(cString: strerror(failure))) }
    return bytes
  }

  /// The byte at a place, or `nil` behind the end.
  func byte(at place: Int) throws(PhotoProblem) -> UInt8? {
    if place < windowStart || place >= windowStart + window.count {
      window = try bytes(at: place, count: Self.windowSize)
      windowStart = place
    }
    return place - windowStart < window.count ? window[place - windowStart] : nil
  }

  /// A number of up to eight bytes, the greatest first; `nil` where the file ends before.
  func number(at place: Int, bytes count: Int) throws(PhotoProblem) -> Int? {
    var value = 0
    for offset in 0..<count {
      guard let byte = try byte(at: place + offset), value < 1 << 55 else { return nil }
      value = value << 8 | Int(byte)
    }
    return value
  }

  /// Where a byte comes next, from a place on.
  func next(_ byte: UInt8, from place: Int) throws(PhotoProblem) -> Int? {
    var place = place
    while try self.byte(at: place) != nil {
      let found = window.withUnsafeBytes { window -> Int? in
        guard let start = window.baseAddress else { return nil }
        let skipped = place - windowStart
        return memchr(start + skipped, Int32(byte), window.count - skipped).map { start.distance(to: $0) }
      }
      if let found { return windowStart + found }
      place = windowStart + window.count
    }
    return nil
  }

  private static let windowSize = 64 << 10
}
