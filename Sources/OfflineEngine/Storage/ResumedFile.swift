import Glibc
import Hashing
import SupabaseAPI

/// A file that is received and goes on where an earlier try was broken off; it has its name only when it is whole and
/// durable.
///
/// Until then its bytes lie beside the place that it will have, under a name that tells of which object and of which
/// content they are, so that a program that dies needs no other record of them.
final class ResumedFile: HTTPBodySink, @unchecked Sendable {  // Proof: the exchange makes one call at a time.
  private let path: String
  /// The folder of `path` with a slash behind it; empty for the working folder.
  private let folder: String
  /// What the names of parts begin with that are of this object and for this place.
  private let prefix: String
  private var part: (name: String, descriptor: Int32)?
  private var trouble: FileTrouble?
  /// What is here already and how the rest is asked for; `nil` where the whole is to come.
  private(set) var rest: DownloadRest?
  /// Whether the answer is the rest of what was here.
  private(set) var isGoingOn = false
  /// Whether an answer has begun whose body goes here.
  private(set) var isReceiving = false

  /// The longest name that file systems take, in bytes.
  private static let nameBytesMax = 255

  /// - Parameter object: Tells the object, in the form that is asked for and as the user who asks, from all others.
  init(_ path: String, of object: String) throws(FileTrouble) {
    self.path = path
    let cut = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    folder = String(path[..<cut])
    let digest = Digest(.sha256)
    Array(object.utf8).withUnsafeBytes { digest.update($0) }
    prefix = ".\(path[cut...]).\(digest.finish().prefix(12))."
    for name in names() {
      let digits = name.utf8.dropFirst(prefix.utf8.count).dropLast(Self.suffix.utf8.count)
      guard part == nil, let found = try open(name, O_WRONLY | O_APPEND) else { continue }
      var status = stat()
      guard fstat(found, &status) == 0,
        let rest = DownloadRest(etag: DownloadRest.etag(nameText: digits), offset: Int64(status.st_size))
      else {
        close(found)
        continue
      }
      (part, self.rest) = ((name, found), rest)
    }
  }

  deinit { if let part { close(part.descriptor) } }

  private static let suffix = ".part"

  private func names() -> [String] {
    guard let listing = opendir(folder.isEmpty ? "." : folder) else { return [] }
    defer { closedir(listing) }
    var found: [String] = []
    while let entry = readdir(listing) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.utf8.starts(with: prefix.utf8), name.hasSuffix(Self.suffix) { found.append(name) }
    }
    return found
  }

  /// Opens a part and takes it for this transfer alone; `nil` where another one has it, or had it until now.
  private func open(_ name: String, _ flags: Int32) throws(FileTrouble) -> Int32? {
    let descriptor = Glibc.open(folder + name, flags | O_CLOEXEC | O_NOFOLLOW, 0o666)
    guard descriptor >= 0 else {
      // Another transfer has just finished it, or let it go.
      if errno == ENOENT, flags & O_CREAT == 0 { return nil }
      throw FileTrouble()
    }
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
    close(descriptor)
    return nil
  }

  func takes(_ head: HTTPResponse) -> Bool {
    if rest?.isAnswered(by: head) == true {
      (isGoingOn, isReceiving) = (true, true)
      return true
    }
    guard head.status == 200 else { return false }
    isReceiving = true
    do { try beginAnew(head.fields["ETag"] ?? "") } catch { trouble = error }
    return true
  }

  private func beginAnew(_ etag: String) throws(FileTrouble) {
    discard()
    var name = prefix + DownloadRest.nameText(of: etag) + Self.suffix
    if name.utf8.count > Self.nameBytesMax { name = prefix + Self.suffix }
    guard let descriptor = try open(name, O_WRONLY | O_CREAT | O_APPEND) else {
      throw FileTrouble("another download into the same file is on its way")
    }
    part = (name, descriptor)
    guard ftruncate(descriptor, 0) == 0 else { throw FileTrouble() }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    if let trouble { throw trouble }
    guard let part else { return }
    var written = 0
    while written < bytes.count {
      let count = Glibc.write(part.descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw FileTrouble() }
      written += count
    }
  }

  /// Lets go what is here: of no use for the content that is to come.
  func discard() {
    if let part {
      unlink(folder + part.name)
      close(part.descriptor)
    }
    (part, rest, isGoingOn) = (nil, nil, false)
  }

  /// Gives it its name.
  func finish() throws(FileTrouble) {
    if let trouble { throw trouble }
    guard let part, fdatasync(part.descriptor) == 0, rename(folder + part.name, path) == 0 else { throw FileTrouble() }
    let opened = Glibc.open(folder.isEmpty ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard opened >= 0 else { throw FileTrouble() }
    defer { close(opened) }
    guard fsync(opened) == 0 else { throw FileTrouble() }
  }
}
