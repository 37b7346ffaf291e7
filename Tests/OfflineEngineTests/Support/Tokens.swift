import Foundation
import LosslessJSON
import OfflineEngine
import SupabaseAPI
import Synchronization

/// A token as the Auth service makes them, with a signature that only scripted servers take.
func token(of user: String?, expiresAt: Int64 = 4_000_000_000, mark: String = "") -> Secret {
  var claims: JSONObject = ["exp": .number(JSONNumber(expiresAt)), "mark": .string(mark)]
  if let user { claims["sub"] = .string(user) }
  let text = Data(JSONValue.object(claims).serialized().utf8).base64EncodedString()
    .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    .replacingOccurrences(of: "=", with: "")
  return Secret("e30.\(text).c2ln")
}

/// A session of a user; tokens with another `mark` are other tokens.
func session(of user: String, tokenOf subject: String?? = nil, expiresAt: Int64 = 4_000_000_000, mark: String = "")
  -> Session
{
  Session(
    accessToken: token(of: subject ?? user, expiresAt: expiresAt, mark: mark),
    refreshToken: Secret("refresh-\(mark)"), expiresAt: expiresAt, user: User(id: user, email: nil, isAnonymous: false))
}

/// Where a session lives in a test, with a record of what was kept when.
final class MemorySession: SessionStorage {
  struct Full: Error {}

  private struct State {
    var session: Session?
    var saved: [Session] = []
    var isFull = false
  }

  private let state: Mutex<State>

  init(_ session: Session? = nil) { state = Mutex(State(session: session)) }

  var saved: [Session] { state.withLock(\.saved) }
  var isFull: Bool {
    get { state.withLock(\.isFull) }
    set { state.withLock { $0.isFull = newValue } }
  }

  /// Another process signs in.
  func replace(_ session: Session?) { state.withLock { $0.session = session } }

  func load() -> Session? { state.withLock(\.session) }

  func save(_ session: Session) throws {
    try state.withLock { state in
      if state.isFull { throw Full() }
      state.session = session
      state.saved.append(session)
    }
  }

  func clear() { state.withLock { $0.session = nil } }
}
