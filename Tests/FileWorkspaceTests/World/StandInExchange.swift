import StandInServer
import SupabaseAPI
import Synchronization

/// The network between one replica and the stand-in project, without sockets.
final class StandInExchange: HTTPExchange {
  static let origin = "http://127.0.0.1:54321"

  private let server: StandIn
  private let isDead: @Sendable () -> Bool
  private let cable = Mutex(true)
  /// After how many requests more the cable comes out by itself.
  private let requestsLeft = Mutex(Int.max)
  private let sent = Mutex<[String]>([])
  private let asked = Mutex<[String]>([])
  private let hooks = Mutex(Hooks())
  private let answersUntilLoss = Mutex(0)

  /// What a test does to requests and answers; a request is its method, target and body.
  private struct Hooks {
    var before: (@Sendable (String) -> Void)?
    var instead: (@Sendable (String) -> (status: Int, body: String)?)?
    var change: (@Sendable (String, [UInt8]) -> [UInt8])?
  }

  init(_ server: StandIn, isDead: @escaping @Sendable () -> Bool) {
    self.server = server
    self.isDead = isDead
  }

  /// Whether requests reach the server.
  var isConnected: Bool {
    get { cable.withLock(\.self) }
    set {
      cable.withLock { $0 = newValue }
      requestsLeft.withLock { $0 = .max }
    }
  }

  /// Lets so many requests through and then takes the cable out.
  func disconnect(after count: Int) { requestsLeft.withLock { $0 = count } }

  /// The writes that were sent since the last call: method, table and filters.
  func takeWrites() -> [String] {
    sent.withLock { lines in
      defer { lines = [] }
      return lines
    }
  }

  /// All requests since the last call: method, target and body.
  func takeRequests() -> [String] {
    asked.withLock { lines in
      defer { lines = [] }
      return lines
    }
  }

  /// Has the answer lost to the request with this number from now; the server has acted on it.
  func loseAnswer(_ number: Int) { answersUntilLoss.withLock { $0 = number } }

  /// Calls `body` before each answer.
  func beforeAnswer(_ body: (@Sendable (String) -> Void)?) { hooks.withLock { $0.before = body } }

  /// Answers in the server's place wherever `body` has an answer.
  func answerInstead(_ body: (@Sendable (String) -> (status: Int, body: String)?)?) {
    hooks.withLock { $0.instead = body }
  }

  /// Changes the bodies of requests on their way.
  func changeBody(_ body: (@Sendable (String, [UInt8]) -> [UInt8])?) { hooks.withLock { $0.change = body } }

  /// As over a socket: the half of an answer that is cut has come in.
  func send(_ request: HTTPRequest, _ bodies: HTTPBodies) async throws(HTTPError) -> HTTPResponse {
    var request = request
    if let source = bodies.source {
      do {
        request.body = try [UInt8](unsafeUninitializedCapacity: Int(source.count)) { buffer, count in
          count = try source.read(at: 0, into: UnsafeMutableRawBufferPointer(buffer))
        }
      } catch {
        throw .body(reason: "\(error)")
      }
    }
    var response = try await send(request, sink: bodies.sink)
    if let sink = bodies.sink, sink.takes(response) {
      do { try response.body.withUnsafeBytes { try sink.write($0) } } catch { throw .body(reason: "\(error)") }
      response.body = []
    }
    return response
  }

  func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse { try await send(request, sink: nil) }

  private func send(
    _ request: HTTPRequest, sink: (any HTTPBodySink)?
  ) async throws(HTTPError) -> HTTPResponse {
    if isDead() { throw .cancelled(mayHaveReachedServer: false) }
    if !isConnected { throw .cannotConnect(origin: Self.origin, reason: "the cable is out") }
    let mayPass = requestsLeft.withLock { left in
      left -= 1
      return left >= 0
    }
    if !mayPass {
      isConnected = false
      throw .cannotConnect(origin: Self.origin, reason: "the cable has come out")
    }
    let target = String(request.url.dropFirst(Self.origin.count))
    if request.method != "GET", request.method != "HEAD", target.hasPrefix("/rest/") {
      sent.withLock { $0.append("\(request.method) \(target) \(String(decoding: request.body ?? [], as: UTF8.self))") }
    }
    // Of a large body its beginning is enough.
    let line = "\(request.method) \(target) \(String(decoding: (request.body ?? []).prefix(1 << 16), as: UTF8.self))"
    asked.withLock { $0.append(line) }
    let hooks = hooks.withLock(\.self)
    hooks.before?(line)
    if let instead = hooks.instead?(line) {
      var fields = HTTPFields()
      fields.add("Content-Type", "application/json")
      return HTTPResponse(status: instead.status, fields: fields, body: Array(instead.body.utf8))
    }
    let body = hooks.change?(line, request.body ?? []) ?? request.body ?? []
    let fields = request.fields.fields.map { (name: $0.name, value: $0.value) } + [(name: "Host", value: "127.0.0.1")]
    let answer = server.answer(
      StandInRequest(method: request.method, target: target, fields: fields, body: body))
    let isLost = answersUntilLoss.withLock { left in
      left -= 1
      return left == 0
    }
    var answerFields = HTTPFields()
    for field in answer.fields { answerFields.add(field.name, field.value) }
    let response = HTTPResponse(status: answer.status, fields: answerFields, body: answer.allBytes)
    guard answer.delivery == .whole, !isLost else {
      if answer.delivery == .truncated, !isLost, let sink, sink.takes(response) {
        do { try response.body[..<(response.body.count / 2)].withUnsafeBytes { try sink.write($0) } } catch {
          throw .body(reason: "\(error)")
        }
      }
      throw .cut(origin: Self.origin, reason: "closed", mayHaveReachedServer: true)
    }
    return response
  }
}

extension StandInAnswer {
  /// The body, wherever it comes from.
  var allBytes: [UInt8] {
    guard let file else { return body }
    return [UInt8](unsafeUninitializedCapacity: file.count) { buffer, count in
      count = max(0, file.read(at: 0, into: UnsafeMutableRawBufferPointer(buffer)))
    }
  }
}
