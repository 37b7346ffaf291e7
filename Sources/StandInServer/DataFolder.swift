import Glibc
import Hashing
import LosslessJSON

/// Where a stand-in keeps its rows, users and keys.
///
/// Held by one server at a time.
final class DataFolder: Sendable {
  /// Where it is.
  let path: String
  private let lock: LockFile

  /// Makes the folder if need be and takes its lock.
  init(_ path: String) throws(StandInError) {
    self.path = path
    guard Self.make(path) else { throw .dataFolder(path: path, reason: Self.lastError()) }
    lock = LockFile("\(path)/stand-in.lock")
    guard lock.descriptor >= 0 else { throw .dataFolder(path: path, reason: Self.lastError()) }
    // The kernel lets go of it when the process ends, however it ends.
    guard flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .dataFolderInUse(path: path) }
    // SQLite would make the file with the mode of its own choice: it holds tokens.
    let database = open(databasePath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard database >= 0 else { throw .dataFolder(path: path, reason: Self.lastError()) }
    close(database)
  }

  /// The file whose lock is held, closed once and by its owner alone: a second close would hit whatever file of the
  /// process has the number by then.
  private struct LockFile: ~Copyable {
    let descriptor: Int32

    init(_ path: String) { descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) }

    deinit { if descriptor >= 0 { close(descriptor) } }
  }

  /// Makes a folder with those above it, readable for nobody else.
  private static func make(_ path: String) -> Bool {
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return true }
    guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return false }
    return make(String(path[..<slash])) && mkdir(path, 0o700) == 0
  }

  /// The database's file.
  var databasePath: String { "\(path)/stand-in.sqlite" }

  private var keysPath: String { "\(path)/stand-in.keys.json" }

  /// The keys of an earlier run, or new ones.
  ///
  /// - Parameters:
  ///   - jwtSecret: Replaces the one of the folder, and is not kept.
  ///   - hasTokenKey: Whether there is a pair of keys for access tokens.
  ///   - randomBytes: Makes new keys.
  func keys(
    jwtSecret: [UInt8]?, hasTokenKey: Bool, randomBytes: (Int) -> [UInt8]
  ) throws(StandInError) -> Keys {
    var kept = try keptKeys()
    let isNew = kept == nil
    var keys = kept?.keys ?? Keys(jwtSecret: nil, randomBytes: randomBytes)
    let needsPair = hasTokenKey && kept?.tokenKey == nil
    if needsPair { kept = (keys, TokenKey(id: UUIDText.random(randomBytes), pair: .random())) }
    if isNew || needsPair { try keep(keys, tokenKey: kept?.tokenKey) }
    if let jwtSecret { keys = Keys(jwtSecret: jwtSecret, publishable: keys.publishable, secret: keys.secret) }
    guard hasTokenKey, let tokenKey = kept?.tokenKey else { return keys }
    return keys.signing(with: tokenKey)
  }

  private func keptKeys() throws(StandInError) -> (keys: Keys, tokenKey: TokenKey?)? {
    guard let bytes = try read(keysPath) else { return nil }
    let damaged = StandInError.dataFolder(
      path: path, reason: "stand-in.keys.json is damaged; remove it to make new keys")
    guard let value = try? JSONValue(parsing: bytes), let secret = value["jwtSecret"]?.stringValue,
      let publishable = value["publishableKey"]?.stringValue, let service = value["secretKey"]?.stringValue
    else { throw damaged }
    let keys = Keys(jwtSecret: Array(secret.utf8), publishable: publishable, secret: service)
    guard let tokenKey = value["tokenKey"] else { return (keys, nil) }
    guard let id = tokenKey["id"]?.stringValue, let pem = tokenKey["privateKey"]?.stringValue,
      let pair = SigningKeyPair(pem: pem)
    else { throw damaged }
    return (keys, TokenKey(id: id, pair: pair))
  }

  private func keep(_ keys: Keys, tokenKey: TokenKey?) throws(StandInError) {
    var object: JSONObject = [
      "jwtSecret": .string(String(decoding: keys.jwtSecret, as: UTF8.self)),
      "publishableKey": .string(keys.publishable), "secretKey": .string(keys.secret),
    ]
    if let tokenKey { object["tokenKey"] = ["id": .string(tokenKey.id), "privateKey": .string(tokenKey.pair.pem)] }
    try write(Array((JSONValue.object(object).serialized(.pretty) + "\n").utf8), to: keysPath)
  }

  /// The file's bytes; `nil` when there is no such file.
  private func read(_ path: String) throws(StandInError) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw .dataFolder(path: self.path, reason: Self.lastError())
    }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = Glibc.read(file, &buffer, buffer.count)
      guard count >= 0 else { throw .dataFolder(path: self.path, reason: Self.lastError()) }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
    }
  }

  /// Writes a file that only its owner reads, whole or not at all.
  private func write(_ bytes: [UInt8], to path: String) throws(StandInError) {
    let temporary = path + ".new"
    let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .dataFolder(path: self.path, reason: Self.lastError()) }
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.write(file, $0.baseAddress?.advanced(by: written), bytes.count - written)
      }
      guard count > 0 else { break }
      written += count
    }
    let isDurable = written == bytes.count && fsync(file) == 0
    close(file)
    guard isDurable, rename(temporary, path) == 0 else { throw .dataFolder(path: self.path, reason: Self.lastError()) }
  }

  private static func lastError() -> String { String(cString: strerror(errno)) }
}
