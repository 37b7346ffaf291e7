import Randomness
import StandInServer
import SupabaseAPI
import Synchronization

/// How a device's requests fare; drawn by the seed and changed by the day's events.
struct Weather: Sendable {
  /// Whether the device is connected at all.
  var isConnected = true
  /// The longest time that a request or an answer is on its way, in milliseconds.
  var delayMilliseconds = 20
  /// How many requests of a thousand something happens to.
  var trouble = 0

  /// What may happen to a request.
  enum Mishap: Sendable {
    case lostOnTheWay, answerLost, twice, late
    case answered(StandInFault.Kind)
  }

  /// What may happen to a request of Storage beside that: a proxy on the way takes no large bodies.
  static let storageMishaps =
    mishaps + [
      (2, .answered(.answer(status: 413, contentType: "text/html", body: "<h1>413 Request Entity Too Large</h1>")))
    ]

  static let mishaps: [(weight: Int, choice: Mishap)] = [
    (4, .lostOnTheWay), (6, .answerLost), (3, .twice), (2, .late), (2, .answered(.truncate)),
    (2, .answered(.unavailable(retryAfter: 3))), (1, .answered(.proxy520)), (1, .answered(.loginPage)),
    (1, .answered(.expiredToken)), (1, .answered(.schemaCache(code: "PGRST002"))),
    (1, .answered(.schemaCache(code: "PGRST205"))),
    (1, .answered(.answer(status: 429, contentType: "application/json", body: #"{"message":"slow down"}"#))),
    (1, .answered(.answer(status: 503, contentType: "text/plain", body: "upstream connect error"))),
  ]
}

/// The network between one run of the program and the server.
///
/// A request that has left arrives whatever becomes of the process that sent it.
final class SimulatedNetwork: HTTPExchange {
  private let judge: Judge
  private let timeline: Timeline
  private let life: Life
  private let weather: @Sendable () -> Weather
  private let random: Mutex<SeededRandom>
  /// Notes a request, and whether it writes rows.
  private let trace: @Sendable (_ line: String, _ isWrite: Bool) -> Void

  /// How long a client waits for an answer.
  private static let patienceNanoseconds: Int64 = 30_000_000_000

  init(
    _ judge: Judge, _ timeline: Timeline, _ life: Life, random: SeededRandom,
    weather: @escaping @Sendable () -> Weather, trace: @escaping @Sendable (_ line: String, _ isWrite: Bool) -> Void
  ) {
    self.judge = judge
    self.timeline = timeline
    self.life = life
    self.weather = weather
    self.random = Mutex(random)
    self.trace = trace
  }

  func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
    try await exchange(request).result.get()
  }

  func send(_ request: HTTPRequest, _ bodies: HTTPBodies) async throws(HTTPError) -> HTTPResponse {
    var request = request
    if let source = bodies.source { request.body = try await sent(source) }
    let arrival = await exchange(request)
    bodies.progress?(
      HTTPProgress(sent: Int64(request.body?.count ?? 0), received: Int64(arrival.received?.body.count ?? 0)))
    guard let sink = bodies.sink, var head = arrival.received, sink.takes(head) else { return try arrival.result.get() }
    // Of an answer that was cut some has come all the same.
    do { try head.body.withUnsafeBytes { try sink.write($0) } } catch { throw .body(reason: "\(error)") }
    if case .failure(let error) = arrival.result { throw error }
    head.body = []
    return head
  }

  /// The bytes of a body that is read while it is sent: one half now, the other a little later.
  private func sent(_ source: any HTTPBodySource) async throws(HTTPError) -> [UInt8] {
    let delay = random.withLock { Self.delay(weather(), &$0) }
    var bytes = [UInt8](repeating: 0, count: Int(source.count))
    do {
      for part in [0..<bytes.count / 2, bytes.count / 2..<bytes.count] {
        if part.lowerBound > 0 { try await timeline.sleep(nanoseconds: delay) }
        let count = try bytes.withUnsafeMutableBytes { buffer in
          try source.read(at: Int64(part.lowerBound), into: UnsafeMutableRawBufferPointer(rebasing: buffer[part]))
        }
        guard count == part.count else { throw HTTPError.body(reason: "the file has become shorter") }
      }
    } catch {
      throw error is CancellationError ? .cancelled(mayHaveReachedServer: true) : .body(reason: "\(error)")
    }
    return bytes
  }

  private func exchange(_ request: HTTPRequest) async -> Arrival {
    let weather = weather()
    guard life.mayAct() else { return Arrival(.failure(.cancelled(mayHaveReachedServer: false))) }
    guard weather.isConnected else {
      return Arrival(
        .failure(.cannotConnect(origin: SimulatedServer.origin, reason: "the network is unreachable")))
    }
    judge.leaves(request)
    let mishaps = request.url.holds(bytesOf: "/storage/v1/") ? Weather.storageMishaps : Weather.mishaps
    let (there, back, mishap) = random.withLock { random in
      (
        Self.delay(weather, &random), Self.delay(weather, &random),
        random.draw(below: 1_000) < weather.trouble ? random.pick(weighted: mishaps) : nil
      )
    }
    let waiting = Answering()
    let arrival = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard waiting.begin(continuation) else { return }
        deliver(request, mishap, there: there, back: back, to: waiting)
        timeline.schedule(after: Self.patienceNanoseconds) {
          waiting.end(.failure(.timedOut(origin: SimulatedServer.origin, phase: .whole, mayHaveReachedServer: true)))
        }
      }
    } onCancel: {
      waiting.end(.failure(.cancelled(mayHaveReachedServer: true)))
    }
    if !life.isOver, case .success(let answer) = arrival.result { judge.hears(answer, to: request) }
    return arrival
  }

  private static func delay(_ weather: Weather, _ random: inout SeededRandom) -> Int64 {
    1_000_000 + Int64(random.draw(below: max(weather.delayMilliseconds, 1))) * 1_000_000
  }

  private func deliver(
    _ request: HTTPRequest, _ mishap: Weather.Mishap?, there: Int64, back: Int64, to waiting: Answering
  ) {
    let (judge, timeline, trace) = (judge, timeline, trace)
    let cut = HTTPError.cut(origin: SimulatedServer.origin, reason: "reset", mayHaveReachedServer: true)
    let isWrite = !(["GET", "HEAD"].contains(request.method) || request.url.holds(bytesOf: "/auth/v1/"))
    let line = "\(request.method) \(request.url.dropFirst(SimulatedServer.origin.count))"
    @Sendable func arrive(_ fault: StandInFault.Kind?, answers: Bool) {
      guard !judge.world.server.isDown else {
        trace("\(line) → refused", isWrite)
        waiting.end(.failure(.cannotConnect(origin: SimulatedServer.origin, reason: "connection refused")))
        return
      }
      let (answer, isWhole) = judge.answer(request, with: fault)
      trace("\(line) → \(isWhole ? String(answer.status) : "cut")\(answers ? "" : ", unheard")", isWrite)
      guard answers else { return }
      timeline.schedule(after: back) {
        waiting.end(isWhole ? .success(answer) : .failure(cut), received: answer)
      }
    }
    switch mishap {
    case .lostOnTheWay:
      timeline.schedule(after: there) {
        trace("\(line) → lost on the way", isWrite)
        waiting.end(.failure(cut))
      }
    case .answerLost:
      timeline.schedule(after: there) { arrive(nil, answers: false) }
      timeline.schedule(after: there + back) { waiting.end(.failure(cut)) }
    case .twice:
      timeline.schedule(after: there) { arrive(nil, answers: false) }
      timeline.schedule(after: there + back) { arrive(nil, answers: true) }
    case .late:
      timeline.schedule(after: there + Self.patienceNanoseconds + back) { arrive(nil, answers: true) }
    case .answered(let fault): timeline.schedule(after: there) { arrive(fault, answers: true) }
    case nil: timeline.schedule(after: there) { arrive(nil, answers: true) }
    }
  }
}

/// What came of a request.
private struct Arrival: Sendable {
  var result: Result<HTTPResponse, HTTPError>
  /// What was received, whole or not.
  var received: HTTPResponse?

  init(_ result: Result<HTTPResponse, HTTPError>, received: HTTPResponse? = nil) {
    (self.result, self.received) = (result, received)
  }
}

/// One request that waits for its answer: the first end counts.
private final class Answering: Sendable {
  private struct State {
    var continuation: CheckedContinuation<Arrival, Never>?
    var early: Arrival?
    var isOver = false
  }

  private let state = Mutex(State())

  /// False when it has ended before it began.
  func begin(_ continuation: CheckedContinuation<Arrival, Never>) -> Bool {
    let early = state.withLock { state -> Arrival? in
      if state.early == nil { state.continuation = continuation }
      return state.early
    }
    if let early { continuation.resume(returning: early) }
    return early == nil
  }

  func end(_ result: Result<HTTPResponse, HTTPError>, received: HTTPResponse? = nil) {
    let answer = Arrival(result, received: received)
    let continuation = state.withLock { state -> CheckedContinuation<Arrival, Never>? in
      guard !state.isOver else { return nil }
      state.isOver = true
      defer { state.continuation = nil }
      if state.continuation == nil { state.early = answer }
      return state.continuation
    }
    continuation?.resume(returning: answer)
  }
}
