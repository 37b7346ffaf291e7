import Foundation
import LosslessJSON

@testable import StandInServer
@testable import tidemark_conformance

/// A stand-in with buckets of several kinds, asked over a socket by two users, nobody and the service key.
final class StorageDesk {
  enum Person {
    case ann, bob, anon, nobody, service
  }

  static let annID = "11111111-1111-4111-8111-111111111111"
  static let bobID = "22222222-2222-4222-8222-222222222222"

  /// `notes` is everybody's who is signed in, `photos` has folders of its users, `mine` belongs to who uploaded, `shop` is
  /// public, `drop` takes new objects only, `small` has limits, which a policy shows.
  static let schema = """
    {"tables": {}, "storage": {
      "buckets": {
        "notes": {}, "photos": {}, "mine": {}, "shop": {"public": true}, "drop": {},
        "small": {"isShown": true, "fileSizeLimit": 10, "allowedMimeTypes": ["text/plain", "image/*"]}},
      "policies": [
        {"bucket": "notes", "actions": ["select", "insert", "update", "delete"], "condition": "always"},
        {"bucket": "small", "actions": ["select", "insert", "update", "delete"], "condition": "always"},
        {"bucket": "photos", "actions": ["select", "insert", "update", "delete"], "condition": "ownerFolder"},
        {"bucket": "mine", "actions": ["select", "insert", "update", "delete"], "condition": "owner"},
        {"bucket": "drop", "actions": ["select", "insert"], "condition": "always"}]}}
    """

  let project: Project

  init(_ change: (inout StandInConfiguration) -> Void = { _ in }) throws {
    let schema = try Schema(parsing: Self.schema)
    project = try Project {
      $0.schema = schema
      $0.jwtSecret = TokenTests.secret
      $0.uploadLockMilliseconds = 200
      change(&$0)
    }
  }

  /// A token, good for an hour from the clock's first second.
  func token(_ id: String, seconds: Int64 = 3_600) -> String {
    let now = project.clock.microseconds / 1_000_000
    return JSONWebToken.sign(
      ["role": "authenticated", "sub": .string(id), "exp": .integer(now + seconds)], secret: TokenTests.secret)
  }

  func fields(_ person: Person) -> [(String, String)] {
    switch person {
    case .ann: [("Authorization", "Bearer \(token(Self.annID))")]
    case .bob: [("Authorization", "Bearer \(token(Self.bobID))")]
    case .anon: [("apikey", project.server.publishableKey)]
    case .service: [("Authorization", "Bearer \(project.server.serviceKey)")]
    case .nobody: []
    }
  }

  /// Asks, and gives the answer.
  func ask(
    _ method: String, _ path: String, as person: Person = .ann, _ more: [(String, String)] = [], body: [UInt8]? = nil
  ) throws -> Wire.Answer {
    try send(method, path, fields(person) + more, body)
    return try project.wire.read(to: method)
  }

  /// Sends a request without waiting for its answer.
  func send(_ method: String, _ path: String, _ fields: [(String, String)], _ body: [UInt8]?) throws {
    var head = "\(method) /storage/v1/\(path) HTTP/1.1\r\nHost: localhost\r\n"
    for (name, value) in fields { head += "\(name): \(value)\r\n" }
    if body != nil || ["POST", "PUT", "PATCH"].contains(method) { head += "Content-Length: \(body?.count ?? 0)\r\n" }
    try project.wire.send(Array((head + "\r\n").utf8) + (body ?? []))
  }

  /// Asks with a JSON body.
  func json(_ method: String, _ path: String, as person: Person = .ann, _ body: JSONValue) throws -> Wire.Answer {
    try ask(method, path, as: person, [("Content-Type", "application/json")], body: body.serializedBytes())
  }

  /// Uploads a text as it is.
  func put(
    _ path: String, _ text: String, as person: Person = .ann, type: String = "text/plain",
    _ more: [(String, String)] = []
  ) throws -> Wire.Answer {
    try ask("POST", "object/\(path)", as: person, [("Content-Type", type)] + more, body: Array(text.utf8))
  }

  /// A form with fields and a file, as the clients send it.
  static func form(
    _ fields: [(String, String)], file: [UInt8], type: String = "text/plain", partName: String = "file"
  ) -> (type: String, body: [UInt8]) {
    var body: [UInt8] = []
    for (name, value) in fields {
      body += Array("--BOUND\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n".utf8)
    }
    body += Array(
      "--BOUND\r\nContent-Disposition: form-data; name=\"\(partName)\"; filename=\"a.txt\"\r\nContent-Type: \(type)\r\n\r\n"
        .utf8)
    return ("multipart/form-data; boundary=BOUND", body + file + Array("\r\n--BOUND--\r\n".utf8))
  }
}

extension Wire.Answer {
  /// HTTP status, meant status, old name and stable name of an error: `400 404 not_found NoSuchKey`.
  var problem: String { "\(status) \(json.text("statusCode")) \(json.text("error")) \(json.text("code"))" }
}

extension StorageDesk {
  /// A connection of its own that may end in the middle of a request.
  final class Cut {
    private var wire: Wire?

    init(_ desk: StorageDesk) { wire = try? Wire(port: desk.project.server.port) }

    func send(_ method: String, _ path: String, _ fields: [(String, String)], _ beginning: String) throws {
      var head = "\(method) /storage/v1/\(path) HTTP/1.1\r\nHost: localhost\r\n"
      for (name, value) in fields { head += "\(name): \(value)\r\n" }
      try wire?.send(Array((head + "\r\n" + beginning).utf8))
    }

    func more(_ text: String) throws { try wire?.send(Array(text.utf8)) }

    /// The answer's status and text.
    func read() throws -> String {
      guard let answer = try wire?.read(to: "PATCH") else { return "" }
      return "\(answer.status) \(answer.text)"
    }

    func end() { wire = nil }
  }
}
