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

  func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
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
    let fields = request.fields.fields.map { (name: $0.name, value: $0.value) } + [(name: "Host", value: "127.0.0.1")]
    let answer = server.answer(
      StandInRequest(method: request.method, target: target, fields: fields, body: request.body ?? []))
    guard answer.delivery == .whole else {
      throw .cut(origin: Self.origin, reason: "closed", mayHaveReachedServer: true)
    }
    var answerFields = HTTPFields()
    for field in answer.fields { answerFields.add(field.name, field.value) }
    return HTTPResponse(status: answer.status, fields: answerFields, body: answer.body)
  }
}
