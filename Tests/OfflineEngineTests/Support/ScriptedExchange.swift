import LosslessJSON
import SupabaseAPI
import Synchronization
import Testing

/// A network that answers by a script and remembers what it was asked.
final class ScriptedExchange: HTTPExchange {
  /// What happens to one request.
  struct Step: Sendable {
    let answer: @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse

    init(_ answer: @escaping @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse) { self.answer = answer }
  }

  private struct State {
    var steps: [Step]
    var requests: [HTTPRequest] = []
    var surplus = 0
  }

  private let state: Mutex<State>
  private let first = Gate()

  init(_ steps: [Step]) { state = Mutex(State(steps: steps)) }

  var requests: [HTTPRequest] { state.withLock(\.requests) }
  /// The requests as their method and target, with everything as it is on the wire.
  var lines: [String] { requests.map(\.line) }
  /// Requests that the script did not expect; they find no connection.
  var surplus: Int { state.withLock(\.surplus) }
  /// Answers that nobody asked for.
  var unused: Int { state.withLock(\.steps.count) }

  /// Checks that the script was played to its end and not beyond.
  func check(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(unused == 0, "answers that nobody asked for", sourceLocation: sourceLocation)
    #expect(surplus == 0, "requests beyond the script: \(lines)", sourceLocation: sourceLocation)
  }

  /// Returns once a request has come.
  func requested() async { await first.opened() }

  func add(_ steps: [Step]) { state.withLock { $0.steps += steps } }

  func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
    let step = state.withLock { state -> Step? in
      state.requests.append(request)
      if state.steps.isEmpty {
        state.surplus += 1
        return nil
      }
      return state.steps.removeFirst()
    }
    first.open()
    guard let step else { throw .cannotConnect(origin: "http://scripted", reason: "the script is at its end") }
    return try await step.answer(request)
  }
}

extension ScriptedExchange.Step {
  static func answer(_ status: Int, _ body: String, _ fields: HTTPFields = [:]) -> Self {
    Self { _ in
      var fields = fields
      if fields["Date"] == nil { fields["Date"] = "Sun, 18 Oct 2026 13:00:00 GMT" }
      return HTTPResponse(status: status, fields: fields, body: Array(body.utf8))
    }
  }

  static func failure(_ error: HTTPError) -> Self { Self { _ throws(HTTPError) in throw error } }

  /// A success with rows.
  static func rows(_ body: String) -> Self { answer(200, body) }
  /// A success without any row.
  static let nothing = rows("[]")
  /// No connection: the request certainly never arrived.
  static let offline = failure(.cannotConnect(origin: "http://scripted", reason: "refused"))
  /// The connection broke after the request had left.
  static let cut = failure(.cut(origin: "http://scripted", reason: "reset", mayHaveReachedServer: true))
  /// The words of PostgREST.
  static func error(_ status: Int, _ code: String, _ fields: HTTPFields = [:]) -> Self {
    answer(status, #"{"code":"\#(code)","message":"no","details":null,"hint":null}"#, fields)
  }
  /// The Auth service's word on whose token it is.
  static func user(_ id: String) -> Self { answer(200, #"{"id":"\#(id)"}"#) }
}

extension HTTPRequest {
  /// The method and the target.
  var line: String {
    let rest = url.drop { $0 != ":" }.dropFirst(3)
    return "\(method) \(rest.drop { $0 != "/" })"
  }

  /// The body as text.
  var text: String { String(decoding: body ?? [], as: UTF8.self) }

  /// The token that it carries.
  var bearer: String? { fields["Authorization"].map { String($0.dropFirst("Bearer ".count)) } }
}
