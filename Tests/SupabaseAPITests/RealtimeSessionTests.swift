import LosslessJSON
import Testing

@testable import SupabaseAPI

/// A session with a clock that the test turns, and what it did last.
struct SessionDesk {
  var session = RealtimeSession(tables: ["tasks", "notes"], jitter: { 0.5 })
  var now = Duration.zero
  var done: [RealtimeSession.Action] = []

  init() { done = session.start(at: now) }

  mutating func take(_ input: RealtimeSession.Input) { done = session.take(input, at: now) }

  mutating func hear(_ message: RealtimeMessage) { take(.socket(.text(message.text))) }

  /// Lets time pass until something is due, and does it.
  mutating func tick() {
    now = max(now, session.due)
    take(.tick)
  }

  /// The messages that were sent last.
  var sent: [RealtimeMessage] {
    done.compactMap { action in if case .send(let text) = action { RealtimeMessage(parsing: text) } else { nil } }
  }

  /// The reference of the join.
  var join = ""

  mutating func open(_ token: String = "token") {
    take(.socket(.opened))
    take(.token(Secret(token)))
    join = sent.first?.reference ?? ""
  }

  mutating func reply(_ status: String = "ok", _ response: JSONValue = [:]) {
    hear(
      RealtimeMessage(
        topic: "realtime:tidemark", event: "phx_reply", reference: join,
        payload: ["status": .string(status), "response": response]))
  }

  mutating func system(_ extension: String = "postgres_changes", _ status: String = "ok", _ message: String = "x") {
    hear(
      RealtimeMessage(
        topic: "realtime:tidemark", event: "system",
        payload: ["extension": .string(`extension`), "status": .string(status), "message": .string(message)]))
  }

  mutating func live() {
    open()
    reply()
    system()
  }
}

@Suite("A session of Realtime") struct RealtimeSessionTests {
  @Test("joins with the user's token and an entry a table, and pulls once the server says that changes flow")
  func joins() throws {
    var desk = SessionDesk()
    #expect(desk.done == [.open])
    desk.take(.socket(.opened))
    #expect(desk.done == [.askToken(replacing: nil)])
    desk.take(.token(Secret("token")))
    let join = try #require(desk.sent.first)
    #expect(join.event == "phx_join" && join.topic == "realtime:tidemark" && join.reference == join.joinReference)
    #expect(join.payload["access_token"] == "token")
    #expect(
      join.payload["config"]?["postgres_changes"] == [
        ["event": "*", "schema": "public", "table": "tasks"], ["event": "*", "schema": "public", "table": "notes"],
      ])
    desk.join = join.reference ?? ""
    desk.reply()
    #expect(desk.session.state == .subscribing && desk.done == [])
    desk.system()
    #expect(desk.session.state == .live && desk.done == [.pull])
    // What was lost while the server got ready is found by one more pull.
    desk.tick()
    #expect(desk.now == .seconds(10) && desk.done == [.pull])
    desk.system()
    #expect(desk.done == [.pull])
  }

  @Test("tells changes, in both forms of messages, whatever is missing in them")
  func changes() throws {
    var desk = SessionDesk()
    desk.live()
    let data = """
      {"schema":"public","table":"tasks","type":"UPDATE","record":{"id":1},"old_record":{"id":2},"errors":null}
      """
    for text in [
      #"{"topic":"realtime:tidemark","event":"postgres_changes","ref":null,"payload":{"ids":[1],"data":\#(data)}}"#,
      #"["\#(desk.join)",null,"realtime:tidemark","postgres_changes",{"ids":["1"],"data":\#(data)}]"#,
    ] {
      desk.take(.socket(.text(text)))
      #expect(
        desk.done == [.change(RealtimeChange(kind: .update, table: "tasks", record: ["id": 1], oldRecord: ["id": 2]))])
    }
    desk.take(
      .socket(
        .text(
          #"{"topic":"realtime:tidemark","event":"postgres_changes","payload":{"data":{"table":"t","type":"DELETE","errors":["Error 413"]}}}"#
        )))
    #expect(desk.done == [.change(RealtimeChange(kind: .delete, table: "t", isCut: true))])
    for rubbish in [
      "", "[]", "{}", #"{"topic":"realtime:tidemark","event":"postgres_changes","payload":{}}"#,
      #"["99",null,"realtime:tidemark","postgres_changes",{"data":\#(data)}]"#,
      #"{"topic":"realtime:other","event":"postgres_changes","payload":{"data":\#(data)}}"#,
    ] {
      desk.take(.socket(.text(rubbish)))
      #expect(desk.done == [], "\(rubbish)")
    }
  }

  @Test("beats every 25 s; an answer that is missing when the next is due ends the connection")
  func heartbeat() throws {
    var desk = SessionDesk()
    desk.live()
    desk.tick()
    for beat in 1...3 {
      desk.tick()
      #expect(desk.now == .seconds(25 * beat))
      let sent = try #require(desk.sent.first)
      #expect(sent.topic == "phoenix" && sent.event == "heartbeat" && sent.payload == [:])
      #expect(desk.done.contains(.askToken(replacing: nil)))
      desk.hear(
        RealtimeMessage(topic: "phoenix", event: "phx_reply", reference: sent.reference, payload: ["status": "ok"]))
    }
    desk.tick()
    desk.tick()
    #expect(desk.now == .seconds(125) && desk.session.state == .waiting(.silent))
    #expect(desk.done == [.close])
    desk.tick()
    #expect(desk.now == .seconds(126) && desk.done == [.open])
  }

  @Test("waits longer after each failure, up to half a minute, and begins anew once changes flowed")
  func backoff() {
    var desk = SessionDesk()
    var waits: [Duration] = []
    for _ in 0..<8 {
      desk.take(.socket(.closed(.broken(origin: "x", reason: "y"))))
      #expect(desk.done == [])
      let before = desk.now
      desk.tick()
      #expect(desk.done == [.open])
      waits.append(desk.now - before)
    }
    #expect(waits == [1, 2, 5, 10, 20, 30, 30, 30].map { .seconds($0) })
    desk.live()
    desk.take(.socket(.closed(nil)))
    #expect(desk.session.state == .waiting(.closed) && desk.session.due == desk.now + .seconds(1))
  }

  @Test("spreads its tries by a quarter to each side")
  func jitter() {
    for (random, wait) in [(0.0, 750), (1.0, 1_250)] {
      var session = RealtimeSession(tables: [], jitter: { random })
      _ = session.start(at: .zero)
      _ = session.take(.socket(.closed(nil)), at: .zero)
      #expect(session.due == .milliseconds(wait))
    }
  }

  /// A refusal's words, the wait that follows in seconds, and whether another token is asked for.
  static let refusals: [(reason: String, wait: Int, replacesToken: Bool)] = [
    ("InvalidJWTToken: Token has expired 3 seconds ago", 0, true),
    ("InvalidJWTExpiration: Token has expired", 0, true),
    ("MalformedJWT: x", 300, false), ("JwtSignatureError: x", 300, false), ("JwtSignerError: x", 300, false),
    ("Unauthorized: x", 300, false), ("PrivateOnly: x", 300, false), ("TopicNameRequired: x", 300, false),
    ("TenantNotFound: x", 300, false), ("RealtimeDisabledForTenant: x", 300, false),
    ("ConnectionRateLimitReached: x", 30, false), ("ClientJoinRateLimitReached: x", 30, false),
    ("ChannelRateLimitReached: x", 30, false), ("DatabaseConnectionRateLimitReached: x", 30, false),
    ("InitializingProjectConnection: x", 1, false), ("RealtimeRestarting: x", 1, false),
    ("Unknown Error on Channel", 1, false),
  ]

  @Test("does after a refusal what its reason asks for", arguments: refusals)
  func refusal(_ refusal: (reason: String, wait: Int, replacesToken: Bool)) {
    var desk = SessionDesk()
    desk.open()
    desk.reply("error", ["reason": .string(refusal.reason)])
    #expect(desk.session.state == .waiting(.refused(reason: refusal.reason)) && desk.done == [.close])
    #expect(desk.session.due == .seconds(refusal.wait))
    desk.tick()
    desk.take(.socket(.opened))
    #expect(desk.done == [.askToken(replacing: refusal.replacesToken ? Secret("token") : nil)])
  }

  @Test("joins anew with another token where the channel ended with the token")
  func expiry() {
    var desk = SessionDesk()
    desk.live()
    desk.system("system", "error", "Token has expired 3 seconds ago")
    #expect(desk.session.state == .live)
    desk.hear(RealtimeMessage(topic: "realtime:tidemark", event: "phx_close", reference: desk.join))
    #expect(desk.done == [.close])
    desk.tick()
    #expect(desk.now == .zero)
    desk.take(.socket(.opened))
    #expect(desk.done == [.askToken(replacing: Secret("token"))])
    // The answer to an earlier question, which comes late.
    desk.take(.token(Secret("token")))
    #expect(desk.done == [])
    desk.take(.token(Secret("newer")))
    #expect(desk.sent.first?.payload["access_token"] == "newer")
  }

  @Test("an old join's end is no end of the newer one, a crash is")
  func ends() {
    var desk = SessionDesk()
    desk.live()
    desk.hear(RealtimeMessage(topic: "realtime:tidemark", event: "phx_close", reference: "another"))
    #expect(desk.session.state == .live)
    desk.hear(RealtimeMessage(topic: "realtime:tidemark", event: "phx_error"))
    #expect(desk.session.state == .waiting(.refused(reason: "the channel ended")))
  }

  @Test("passes a new token on, and the same one not")
  func newToken() {
    var desk = SessionDesk()
    desk.live()
    desk.take(.token(Secret("token")))
    #expect(desk.done == [])
    desk.take(.token(Secret("newer")))
    #expect(desk.sent.map(\.event) == ["access_token"])
    #expect(desk.sent.first?.payload == ["access_token": "newer"])
    #expect(desk.sent.first?.joinReference == desk.join)
  }

  @Test("without a token it waits; a token that comes too late is not sent")
  func noToken() {
    var desk = SessionDesk()
    desk.take(.socket(.opened))
    desk.take(.noToken(reason: "nobody is signed in"))
    #expect(desk.session.state == .waiting(.noToken(reason: "nobody is signed in")) && desk.done == [.close])
    desk.take(.token(Secret("late")))
    #expect(desk.done == [])
  }

  @Test(
    "a server that goes silent on the way is given up",
    arguments: [(answered: 0, limit: 30), (answered: 1, limit: 10), (answered: 2, limit: 30)])
  func silence(_ silence: (answered: Int, limit: Int)) {
    var desk = SessionDesk()
    if silence.answered > 0 { desk.open() }
    if silence.answered > 1 { desk.reply() }
    while desk.session.state != .waiting(.silent) { desk.tick() }
    #expect(desk.now == .seconds(silence.limit) && desk.done == [.close])
  }

  @Test("tables that the server does not tell of are reported, and tried again after minutes")
  func notSubscribed() {
    var desk = SessionDesk()
    desk.open()
    desk.reply()
    desk.system("postgres_changes", "error", "Unable to subscribe")
    #expect(desk.session.state == .waiting(.notSubscribed(reason: "Unable to subscribe")))
    #expect(desk.session.due == .seconds(300))
  }

  @Test("after a sleep it connects anew at once, also while it waits")
  func woke() {
    var desk = SessionDesk()
    desk.live()
    desk.take(.woke)
    #expect(desk.done == [.close, .open] && desk.session.state == .connecting)
    desk.take(.socket(.closed(nil)))
    desk.take(.woke)
    #expect(desk.done == [.open])
  }

  @Test("after a change of the network the connection has five seconds to answer")
  func networkChanged() {
    var desk = SessionDesk()
    desk.live()
    desk.take(.networkChanged)
    #expect(desk.sent.map(\.event) == ["heartbeat"])
    let reference = desk.sent.first?.reference
    desk.hear(RealtimeMessage(topic: "phoenix", event: "phx_reply", reference: reference))
    desk.tick()
    #expect(desk.session.state == .live)
    desk.take(.networkChanged)
    desk.tick()
    #expect(desk.session.state == .waiting(.silent))
    desk.take(.networkChanged)
    #expect(desk.done == [.open])
  }

  @Test("connects to the project's own address, with its key and the form that every server knows")
  func address() throws {
    let project = try Project(url: "https://abc.supabase.co", key: Secret("sb_publishable_a+b"))
    #expect(
      RealtimeSession.request(of: project)?.url
        == "https://abc.supabase.co/realtime/v1/websocket?apikey=sb_publishable_a%2Bb&vsn=1.0.0")
    let alone = try Project(services: Project.Services(rest: "http://127.0.0.1:3000"), key: nil)
    #expect(RealtimeSession.request(of: alone) == nil)
    let request = try #require(RealtimeSession.request(of: project))
    #expect("\(request)" == "https://abc.supabase.co/realtime/v1/websocket")
  }
}
