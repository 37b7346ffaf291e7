import Glibc

/// An open file or folder, closed when its owner lets go.
struct Descriptor: ~Copyable {
  let number: Int32
  /// Who closes it, where somebody else does; held so that it stays open for as long as this is used.
  private let lender: SharedDescriptor?

  init(_ number: Int32) {
    self.number = number
    lender = nil
  }

  fileprivate init(lentBy lender: SharedDescriptor) {
    number = lender.descriptor.number
    self.lender = lender
  }

  /// Stands for a file that is not there.
  static var none: Descriptor { Descriptor(-1) }

  var isNone: Bool { number < 0 }

  deinit { if number >= 0, lender == nil { close(number) } }

  /// Opens one component inside an open folder, never through a symbolic link and never waiting for a pipe's other end.
  static func open(
    in folder: borrowing Descriptor, _ name: String, _ flags: Int32, mode: mode_t = 0
  ) throws(SystemError) -> Descriptor {
    let number = try call { openat(folder.number, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode) }
    return Descriptor(number)
  }
}

/// An open folder that several operations use, closed when the last of them has ended.
final class SharedDescriptor: Sendable {
  let descriptor: Descriptor

  init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// The same open folder, for one operation.
  func lent() -> Descriptor { Descriptor(lentBy: self) }
}

/// An error number from the kernel.
struct SystemError: Error {
  let code: Int32
}

/// Makes a system call again while a signal interrupts it.
@discardableResult
func call<Result: SignedInteger>(_ body: () -> Result) throws(SystemError) -> Result {
  while true {
    let result = body()
    if result >= 0 { return result }
    let code = errno
    if code != EINTR { throw SystemError(code: code) }
  }
}

extension FileSystemError {
  /// Sorts an error number into the case that tells callers what to do.
  static func from(_ code: Int32, _ path: String, _ operation: String) -> FileSystemError {
    switch code {
    case ENOENT, ESTALE: .absent(path)
    case EEXIST: .exists(path)
    case ENOTEMPTY: .notEmpty(path)
    case ENOTDIR: .wrongKind(path, found: .file, expected: .folder)
    case EISDIR: .wrongKind(path, found: .folder, expected: .file)
    case ELOOP: .wrongKind(path, found: .link, expected: .file)
    case EACCES, EPERM, EROFS: .notPermitted(path, operation: operation, errno: code)
    case ENOSPC, EDQUOT: .diskFull(path, operation: operation, errno: code)
    case EXDEV: .otherFileSystem(path)
    case EINVAL, ENOSYS, EOPNOTSUPP: .unsupported(path, operation: operation)
    default: .failed(path, operation: operation, errno: code)
    }
  }
}
