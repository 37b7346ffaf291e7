import Glibc
import LosslessJSON
import OfflineEngine
import SupabaseAPI

/// An access token that somebody else makes and keeps ready: for a PostgREST without an Auth service.
///
/// It is asked for anew whenever the one in hand is about to end or was refused.
public enum ReadyToken: Sendable, Hashable {
  /// The first line of the file at an absolute path.
  case file(path: String)
  /// The first line of what a shell command prints.
  case command(String)

  /// The longest time that a command may take, in seconds.
  private static let commandSeconds = 30

  /// What stands in the session file in a session's place.
  init?(json: JSONValue) {
    if let path = json["token_file"]?.stringValue {
      self = .file(path: path)
    } else if let command = json["token_command"]?.stringValue {
      self = .command(command)
    } else {
      return nil
    }
  }

  /// The form in which it is stored, and handed to a running watcher.
  public var json: JSONObject {
    switch self {
    case .file(let path): ["token_file": .string(path)]
    case .command(let text): ["token_command": .string(text)]
    }
  }

  /// The token as a session of the user whom it names.
  ///
  /// Blocks until a command has ended.
  public func session() throws(ReadyTokenError) -> Session {
    let token = Secret(try line())
    guard let claims = AccessTokenClaims(token) else { throw .notAToken(source: source) }
    guard claims.isOfUser, let subject = claims.subject else { throw .nobodys(source: source) }
    return Session(
      accessToken: token, refreshToken: Secret(""), expiresAt: claims.expiresAt ?? .max,
      user: User(id: subject, email: claims.email, isAnonymous: claims.isAnonymous))
  }

  private var source: String {
    switch self {
    case .file(let path): "'\(path)'"
    case .command: "the token command"
    }
  }

  private func line() throws(ReadyTokenError) -> String {
    let bytes: [UInt8]
    switch self {
    case .file(let path):
      guard let read = WorkspaceFolder.bytes(path) else {
        throw .unreadable(source: source, reason: String(cString: strerror(errno)))
      }
      bytes = read
    case .command(let text): bytes = try Self.output(of: text)
    }
    let line = bytes.prefix { $0 != 10 && $0 != 13 }
    guard !line.isEmpty, line.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .notAToken(source: source) }
    return String(decoding: line, as: UTF8.self)
  }

  private static func output(of text: String) throws(ReadyTokenError) -> [UInt8] {
    let source = "the token command"
    let quoted = "'" + text.replacing("'", with: "'\\''") + "'"
    guard let pipe = popen("exec timeout \(commandSeconds) /bin/sh -c \(quoted) </dev/null", "re") else {
      throw .unreadable(source: source, reason: String(cString: strerror(errno)))
    }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4_096)
    while bytes.count < 1 << 16 {
      let count = fread(&chunk, 1, chunk.count, pipe)
      if count == 0 { break }
      bytes += chunk[..<count]
    }
    let status = pclose(pipe)
    guard status == 0 else {
      let code = (status >> 8) & 0xFF
      throw .unreadable(
        source: source,
        reason: code == 124 ? "it took longer than \(commandSeconds) s" : "it ended with the exit code \(code)")
    }
    return bytes
  }
}

/// Why no ready token could be had; none of them shows a token.
public enum ReadyTokenError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The file could not be read, or the command failed.
  case unreadable(source: String, reason: String)
  /// What was read is no JSON Web Token.
  case notAToken(source: String)
  /// The token names no user, or the role of nobody.
  case nobodys(source: String)

  /// What happened, where, and what to do.
  public var description: String {
    switch self {
    case .unreadable(let source, let reason): "no access token could be had from \(source): \(reason)"
    case .notAToken(let source):
      "the first line of \(source) is no access token; expected a JSON Web Token (three parts with dots between them)"
    case .nobodys(let source):
      "the access token of \(source) names no user; expected one with the user's id as 'sub', and their role as 'role', "
        + "such as 'authenticated'"
    }
  }
}

/// What is stored of the session of a workspace's user: a session, or where ready tokens come from.
public struct WorkspaceSession: SessionStorage {
  private let file: SessionFile

  init(path: String) { file = SessionFile(path: path) }

  /// The file's path.
  var path: String { file.path }

  /// The stored session, or one made of a ready token; `nil` when nobody is signed in.
  public func load() throws -> Session? {
    guard let contents = try file.contents() else { return nil }
    if let token = ReadyToken(json: contents) { return try token.session() }
    return try file.load()
  }

  /// Keeps a session.
  public func save(_ session: Session) throws { try file.save(session) }

  /// Keeps where ready tokens come from, in a session's place.
  func save(_ token: ReadyToken) throws { try file.save(contents: .object(token.json)) }

  /// Forgets what is stored.
  public func clear() throws { try file.clear() }
}
