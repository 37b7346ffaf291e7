import LosslessJSON

/// A request to Auth with what its answer depends on.
struct AuthRequest {
  let request: StandInRequest
  /// The role of the key that let it in; `nil` where none is needed.
  let keyRole: Role?
  /// The token that it carries in place of the key.
  let token: String?
  let now: Timestamp

  /// What follows `/auth/v1/`.
  var path: String { String(request.path.dropFirst(AuthService.prefix.count)) }

  /// The address of Auth as the client wrote it, which is the issuer of the tokens.
  var issuer: String { "http://\(request.field("Host") ?? "127.0.0.1")/auth/v1" }

  /// Whether it is about a forgotten password.
  var isRecovery: Bool {
    path == "recover" || path == "admin/generate_link" && (try? body().text("type")) == "recovery"
  }

  /// The value of a parameter of the query; `nil` for none and for an empty one.
  func parameter(_ name: String) -> String? {
    QueryText.parameters(request.query).first { $0.name == name }?.value.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The body as a JSON object, whatever the content type says.
  func body() throws(AuthError) -> AuthBody {
    guard let object = try? JSONValue(parsing: request.body).objectValue else { throw .badJSON }
    return AuthBody(object: object)
  }
}

/// The members of a body; one of a wrong type makes the whole body unreadable, as it does for the real server.
struct AuthBody {
  let object: JSONObject

  /// A text; `nil` for an absent one and for null.
  func text(_ name: String) throws(AuthError) -> String? {
    guard let value = object[name], !value.isNull else { return nil }
    guard let text = value.stringValue else { throw .badJSON }
    return text
  }

  /// A text that is not empty.
  func filled(_ name: String) throws(AuthError) -> String? {
    guard let text = try text(name), !text.isEmpty else { return nil }
    return text
  }

  /// An object; `nil` for an absent one and for null.
  func object(_ name: String) throws(AuthError) -> JSONObject? {
    guard let value = object[name], !value.isNull else { return nil }
    guard let members = value.objectValue else { throw .badJSON }
    return members
  }

  func flag(_ name: String) throws(AuthError) -> Bool? {
    guard let value = object[name], !value.isNull else { return nil }
    guard let flag = value.boolValue else { throw .badJSON }
    return flag
  }

  /// An email address in lower case.
  func email(_ name: String = "email") throws(AuthError) -> String? {
    guard let email = try filled(name) else { return nil }
    let parts = email.split(separator: "@", omittingEmptySubsequences: false)
    let isPlausible =
      parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && email.utf8.count <= 255
      && !email.unicodeScalars.contains { $0.value <= 0x20 || $0.value == 0x7F }
    guard isPlausible else {
      throw AuthError(400, "validation_failed", "Unable to validate email address: invalid format")
    }
    return email.lowercased()
  }
}

extension JSONObject {
  /// Lays another object over this one, name by name; null takes a name away.
  mutating func merge(_ changes: JSONObject) {
    for (name, value) in changes {
      // A plain nil would be JSON's null, which is a value.
      self[name] = value.isNull ? JSONValue?.none : value
    }
  }
}
