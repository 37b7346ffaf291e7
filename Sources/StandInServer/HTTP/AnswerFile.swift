import Glibc

/// A part of an open file as the body of an answer.
///
/// The bytes stay readable when the file loses its name meanwhile.
public final class AnswerFile: Sendable {
  private let descriptor: Int32
  /// Where the body begins in the file.
  let offset: Int64
  /// The size of the body.
  public let count: Int

  /// Takes over a descriptor, which it closes.
  init(descriptor: Int32, offset: Int64 = 0, count: Int) {
    self.descriptor = descriptor
    self.offset = offset
    self.count = count
  }

  deinit { close(descriptor) }

  /// The same file under a descriptor of its own, which the caller closes; negative when none is left.
  func duplicate() -> Int32 { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }

  /// Reads from a place of the body; gives the number of bytes, 0 at its end and a negative number on failure.
  public func read(at place: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let room = min(buffer.count, count - place)
    guard room > 0 else { return 0 }
    return pread(descriptor, buffer.baseAddress, room, off_t(offset) + off_t(place))
  }
}
