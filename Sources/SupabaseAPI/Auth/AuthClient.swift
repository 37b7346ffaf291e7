import LosslessJSON

/// Calls the project's Auth service; it keeps no session, waits for nothing and sends nothing twice.
public struct AuthClient: Sendable {
  /// Which sessions of the user a sign-out ends.
  public enum SignOutScope: String, Sendable, Hashable {
    /// The one of the access token.
    case local
    /// All of them.
    case global
    /// All but the one of the access token.
    case others
  }

  /// The project.
  public let project: Project
  private let http: any HTTPExchange

  /// Makes a client of one project.
  public init(project: Project, http: any HTTPExchange) {
    self.project = project
    self.http = http
  }

  /// Makes an account without address and password, which hangs on its refresh token alone.
  public func signUpAnonymously() async throws(AuthFailure) -> Session {
    try await session(post("signup", [:]), .signUp)
  }

  /// Makes an account.
  ///
  /// - Throws: `confirmationNeeded` where the project wants the address confirmed first; also where the address has an
  ///   account already and the project does not tell.
  public func signUp(email: String, password: Secret) async throws(AuthFailure) -> Session {
    try await session(post("signup", Self.credentials(email, password)), .signUp)
  }

  /// Signs in with a password.
  public func signIn(email: String, password: Secret) async throws(AuthFailure) -> Session {
    try await session(post("token?grant_type=password", Self.credentials(email, password)), .password)
  }

  /// Trades a refresh token for a new pair.
  ///
  /// Store the new pair durably before its access token is used. After a lost answer the same refresh token may be sent
  /// again: the direct parent of the session's newest token is always accepted.
  ///
  /// - Throws: Only `sessionEnded` means that the session is over; everything else leaves it as it is.
  public func refresh(_ refreshToken: Secret) async throws(AuthFailure) -> Session {
    let body: JSONObject = ["refresh_token": .string(refreshToken.revealed)]
    return try await session(post("token?grant_type=refresh_token", body), .refresh)
  }

  /// Ends sessions on the server.
  ///
  /// An answer that the token or the session is not known (401, 403, 404) is the state that was asked for. Access
  /// tokens already made stay good for the tables until they expire.
  public func signOut(scope: SignOutScope = .local, accessToken: Secret) async throws(AuthFailure) {
    let answer = try await send(request("POST", "logout?scope=\(scope.rawValue)", accessToken: accessToken))
    guard answer.status == 204 || answer.status == 200 || [401, 403, 404].contains(answer.status) else {
      throw AuthFailure(judging: answer, to: .other)
    }
  }

  /// Asks whose token it is.
  public func user(accessToken: Secret) async throws(AuthFailure) -> User {
    let answer = try await success(request("GET", "user", accessToken: accessToken), .other)
    guard let user = answer.json.flatMap({ User(json: $0["user"] ?? $0) }) else {
      throw .notAnAnswer(status: answer.status, reason: answer.oddity, retryAfter: nil)
    }
    return user
  }

  /// Asks whether the project's Auth service is there.
  ///
  /// - Returns: The service's version, empty where it does not tell.
  public func health() async throws(AuthFailure) -> String {
    let answer = try await success(request("GET", "health", accessToken: nil), .other)
    guard answer.json?["name"]?.stringValue == "GoTrue" else {
      throw .notAnAnswer(status: answer.status, reason: answer.oddity, retryAfter: nil)
    }
    return answer.text("version") ?? ""
  }

  /// Asks which ways to sign in the project allows.
  public func settings() async throws(AuthFailure) -> AuthSettings {
    let answer = try await success(request("GET", "settings", accessToken: nil), .other)
    guard let settings = answer.json.flatMap(AuthSettings.init(json:)) else {
      throw .notAnAnswer(status: answer.status, reason: answer.oddity, retryAfter: nil)
    }
    return settings
  }
}

extension AuthClient {
  private static func credentials(_ email: String, _ password: Secret) -> JSONObject {
    ["email": .string(email), "password": .string(password.revealed)]
  }

  private func request(_ method: String, _ path: String, accessToken: Secret?) -> HTTPRequest {
    var fields = project.identityFields(accessToken: accessToken)
    fields.add("Accept", "application/json")
    fields.add("Content-Type", "application/json;charset=UTF-8")
    // Errors then carry their code as a text.
    fields.add("X-Supabase-Api-Version", "2024-01-01")
    return HTTPRequest(
      method: method, url: "\(project.services.auth ?? project.url)/\(path)", fields: fields, bodyBytesMax: 1 << 20)
  }

  private func post(_ path: String, _ body: JSONObject) -> HTTPRequest {
    var request = request("POST", path, accessToken: nil)
    request.body = Array(JSONValue.object(body).serialized().utf8)
    return request
  }

  private func send(_ request: HTTPRequest) async throws(AuthFailure) -> RawAnswer {
    guard project.services.auth != nil else { throw .noService }
    do { return RawAnswer(try await http.send(request)) } catch { throw .http(error) }
  }

  private func success(_ request: HTTPRequest, _ call: AuthFailure.Call) async throws(AuthFailure) -> RawAnswer {
    let answer = try await send(request)
    guard answer.status == 200 || answer.status == 201 else { throw AuthFailure(judging: answer, to: call) }
    return answer
  }

  private func session(_ request: HTTPRequest, _ call: AuthFailure.Call) async throws(AuthFailure) -> Session {
    let answer = try await success(request, call)
    guard let json = answer.json else {
      throw .notAnAnswer(status: answer.status, reason: answer.oddity, retryAfter: nil)
    }
    do { return try Session(json: json, serverDate: answer.response.serverDate) } catch {
      // A bare user instead of a session: the account is made, or said to be, and waits for its mail to be opened.
      if call == .signUp, json["access_token"] == nil, User(json: json) != nil { throw .confirmationNeeded }
      guard case .invalidSession(let reason) = error else {
        throw .notAnAnswer(status: answer.status, reason: answer.oddity, retryAfter: nil)
      }
      throw .notAnAnswer(status: answer.status, reason: "not a session: \(reason)", retryAfter: nil)
    }
  }
}
