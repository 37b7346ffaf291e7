import Glibc
import Hashing
import Synchronization

/// The files with the bytes of objects: each under an id that the server made, so that no key can name a place.
///
/// A file in `objects` is never changed: a new content is a new file. `incoming` holds what is being uploaded, and
/// `resumable` uploads that may go on later.
final class ObjectFiles: Sendable {
  /// What the disk refused, in the system's words.
  struct Failure: Error { let reason: String }

  /// In a data folder, where files must outlive a power cut.
  private let lasting: String?
  /// A folder of this process, made at the first use.
  private let passing = Mutex<TemporaryFolder?>(nil)

  /// Keeps them in a folder, or in a temporary one that goes with the process.
  init(folder: String?) { lasting = folder }

  /// Whether they must outlive a power cut.
  var isLasting: Bool { lasting != nil }

  private func folder() throws(Failure) -> String {
    if let lasting { return lasting }
    return try passing.withLock { (folder) throws(Failure) in
      if let folder { return folder.path }
      guard let made = TemporaryFolder(named: "tidemark-stand-in") else { throw Self.failure() }
      for name in Self.folders { mkdir("\(made.path)/\(name)", 0o700) }
      folder = made
      return made.path
    }
  }

  private static let folders = ["objects", "incoming", "resumable"]

  /// Makes the folders of a data folder and removes what an earlier process left behind there.
  ///
  /// - Parameters:
  ///   - versions: The objects that there are.
  ///   - uploads: The resumable uploads that there are.
  func prepare(versions: Set<String>, uploads: Set<String>) throws(Failure) {
    guard let path = lasting else { return }
    for name in [""] + Self.folders.map({ "/" + $0 }) {
      guard mkdir(path + name, 0o700) == 0 || errno == EEXIST else { throw Self.failure() }
    }
    for (name, kept) in [("objects", versions), ("incoming", []), ("resumable", uploads)] {
      for file in Self.names(in: "\(path)/\(name)") where !kept.contains(file) { unlink("\(path)/\(name)/\(file)") }
    }
  }

  /// The names in a folder; none when it cannot be read.
  static func names(in folder: String) -> [String] {
    guard let listing = opendir(folder) else { return [] }
    defer { closedir(listing) }
    var found: [String] = []
    while let entry = readdir(listing) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { found.append(name) }
    }
    return found
  }

  // MARK: Objects

  /// Opens an object's file; `nil` when it is gone.
  func open(_ version: String) throws(Failure) -> Int32? {
    let path = "\(try folder())/objects/\(version)"
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0, errno != ENOENT { throw Self.failure() }
    return descriptor < 0 ? nil : descriptor
  }

  /// Whether an object's file is there.
  func has(_ version: String) throws(Failure) -> Bool { access(try path(version), F_OK) == 0 }

  /// The path of an object's file, for a library that opens files by itself.
  func path(_ version: String) throws(Failure) -> String { "\(try folder())/objects/\(version)" }

  /// Gives an object's bytes to another one as well; both files stay as they are, so they may be one.
  func link(_ version: String, as other: String) throws(Failure) {
    let folder = "\(try folder())/objects"
    guard Glibc.link("\(folder)/\(version)", "\(folder)/\(other)") == 0 else { throw Self.failure() }
    try sync(folder)
  }

  /// Removes the file of an object that has no row any more.
  func remove(_ version: String) {
    guard let folder = try? folder() else { return }
    unlink("\(folder)/objects/\(version)")
  }

  // MARK: Uploads

  /// A file for an upload that comes in one piece, and whose name is nobody else's.
  func makeIncoming(_ id: String) throws(Failure) -> UploadFile {
    try UploadFile("\(try folder())/incoming/\(id)", isNew: true, offset: 0)
  }

  /// The file of a resumable upload, cut to what is known to be in it.
  func openResumable(_ id: String, isNew: Bool, offset: Int64) throws(Failure) -> UploadFile {
    try UploadFile("\(try folder())/resumable/\(id)", isNew: isNew, offset: offset)
  }

  func removeResumable(_ id: String) {
    guard let folder = try? folder() else { return }
    unlink("\(folder)/resumable/\(id)")
  }

  /// Makes an upload's file the file of an object, durably: its row may be written afterwards.
  func adopt(_ file: UploadFile, as version: String) throws(Failure) {
    let folder = try folder()
    try makeDurable(file)
    guard rename(file.path, "\(folder)/objects/\(version)") == 0 else { throw Self.failure() }
    try sync("\(folder)/objects")
  }

  /// Makes what is in an upload's file outlive a power cut.
  func makeDurable(_ file: UploadFile) throws(Failure) {
    if lasting != nil, fdatasync(file.descriptor) != 0 { throw Self.failure() }
  }

  /// Makes the names in a folder outlive a power cut.
  private func sync(_ folder: String) throws(Failure) {
    guard lasting != nil else { return }
    let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.failure() }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw Self.failure() }
  }

  static func failure() -> Failure { Failure(reason: String(cString: strerror(errno))) }
}

/// A file that an upload is written into.
final class UploadFile {
  let path: String
  let descriptor: Int32
  /// How many bytes are in it.
  private(set) var size: Int64

  fileprivate init(_ path: String, isNew: Bool, offset: Int64) throws(ObjectFiles.Failure) {
    self.path = path
    size = offset
    descriptor = open(path, O_RDWR | O_CLOEXEC | (isNew ? O_CREAT | O_EXCL : 0), 0o600)
    guard descriptor >= 0 else { throw ObjectFiles.failure() }
    // What a process wrote without living to say so is written again.
    guard isNew || ftruncate(descriptor, off_t(offset)) == 0 else { throw ObjectFiles.failure() }
  }

  deinit { close(descriptor) }

  /// Writes at the end.
  func append(_ bytes: UnsafeRawBufferPointer) throws(ObjectFiles.Failure) {
    var written = 0
    while written < bytes.count {
      let count = pwrite(
        descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written, off_t(size))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw ObjectFiles.failure() }
      written += count
      size += Int64(count)
    }
  }

  /// The MD5 of what is in it.
  func digest() throws(ObjectFiles.Failure) -> String {
    let digest = Digest(.md5)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { buffer.deallocate() }
    var place: Int64 = 0
    while true {
      let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(place))
      guard count >= 0 else { throw ObjectFiles.failure() }
      if count == 0 { return digest.finish() }
      digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      place += Int64(count)
    }
  }

  /// Removes it, unless it has become an object's.
  func discard() { unlink(path) }
}
