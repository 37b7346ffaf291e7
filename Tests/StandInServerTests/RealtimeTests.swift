import LosslessJSON
import Testing

@testable import StandInServer

@Suite("Realtime") struct RealtimeTests {
  private static func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }

  // MARK: Joining

  @Test("a join is answered with its entries and their numbers, and later by the word that changes flow")
  func join() throws {
    let library = try Library { $0.subscribeMilliseconds = 1_500 }
    let subscriber = Subscriber(library.standIn)
    let entries = [
      Subscriber.table("films", "INSERT"), Subscriber.table("films", filter: "id=eq.7"), Subscriber.everything,
    ]
    let heard = subscriber.join(entries)
    #expect(heard.count == 1)
    #expect(heard[0].text("event") == "phx_reply" && heard[0].text("ref") == "1")
    #expect(heard[0].objectValue?.names == ["topic", "event", "ref", "payload"])
    let echoed = heard[0]["payload"]?["response"]?["postgres_changes"]?.arrayValue ?? []
    #expect(
      echoed.map { entry in entry.objectValue.map { JSONObject($0.members.filter { $0.name != "id" }) } }
        == entries.map(\.objectValue))
    let numbers = echoed.compactMap { $0["id"]?.int64Value }
    #expect(Set(numbers).count == 3 && numbers.allSatisfy { (0..<1 << 27).contains($0) })
    _ = library.ask("POST", "films", [("Content-Type", "application/json")], body: #"{"id": 90}"#)
    #expect(subscriber.take().isEmpty)
    library.clock.advance(seconds: 2)
    #expect(
      subscriber.take() == [
        try Self.json(
          """
          {"topic": "realtime:x", "event": "system", "ref": null, "payload": {"extension": "postgres_changes",
           "status": "ok", "message": "Subscribed to PostgreSQL", "channel": "x"}}
          """)
      ])
    // Equal entries have equal numbers, on other channels too.
    let again = subscriber.join(entries, topic: "realtime:y")[0]["payload"]?["response"]?["postgres_changes"]?
      .arrayValue
    #expect(again == echoed)
  }

  /// What a join says besides its entries, and the reason of the refusal.
  static let refusals: [(topic: String, token: String?, isPrivate: Bool, reason: String)] = [
    ("realtime:", nil, false, "TopicNameRequired: "),
    ("phoenix", nil, false, "TopicNameRequired: "),
    ("realtime:x", "no.token", false, "MalformedJWT: "),
    (
      "realtime:x", JSONWebToken.sign(["role": "anon", "exp": 4_000_000_000], secret: [1]), false, "JwtSignatureError: "
    ),
    ("realtime:x", Subscriber.token(exp: 1_792_328_420), false, "InvalidJWTToken: Token has expired 7 seconds ago"),
    ("realtime:x", JSONWebToken.sign(["role": "anon"], secret: TokenTests.secret), false, "InvalidJWTToken: Fields"),
    ("realtime:x", Subscriber.token(role: "nobody"), false, "InvalidJWTToken: Fields"),
    (
      "realtime:x", Subscriber.token(), true,
      "Unauthorized: You do not have permissions to read from this Channel topic: x"
    ),
  ]

  @Test("a join is refused with its reason", arguments: refusals)
  func refusal(_ refusal: (topic: String, token: String?, isPrivate: Bool, reason: String)) throws {
    let subscriber = Subscriber(try Library().standIn)
    var payload: JSONObject = ["config": ["private": .bool(refusal.isPrivate)]]
    payload["access_token"] = refusal.token.map(JSONValue.string)
    subscriber.send(refusal.topic, "phx_join", payload)
    let heard = subscriber.take()
    #expect(heard.count == 1 && heard[0]["payload"]?.text("status") == "error")
    #expect(heard[0]["payload"]?["response"]?.text("reason").hasPrefix(refusal.reason) == true, "\(heard)")
    subscriber.send(refusal.topic, "broadcast")
    #expect(subscriber.take()[0]["payload"]?["response"]?.text("reason") == "unmatched topic")
  }

  @Test(
    "an entry that cannot be served ends in the server's word on it, and the channel stays",
    arguments: [
      #"{"event": "*"}"#, #"{"event": "*", "schema": "other"}"#, #"{"event": "*", "table": "nowhere"}"#,
      #"{"event": "*", "table": "films", "filter": null}"#, #"{"event": "*", "table": "films", "filter": "no=eq.1"}"#,
      #"{"event": "*", "table": "films", "filter": "id=eq.x"}"#, #"{"event": "*", "table": "films", "filter": "id"}"#,
      #"{"event": "*", "table": "films", "filter": "id=near.1"}"#,
      #"{"event": "*", "schema": "public", "table": "films", "select": ["no"]}"#,
    ])
  func badEntry(entry: String) throws {
    let library = try Library()
    let subscriber = Subscriber(library.standIn)
    let heard = subscriber.join([try Self.json(entry), Subscriber.everything])
    #expect(heard.map { $0["payload"]?.text("status") } == ["ok", "error"])
    #expect(heard[1]["payload"]?.text("message").hasPrefix("Unable to subscribe to changes") == true)
    _ = library.ask("DELETE", "films?id=eq.4")
    #expect(subscriber.take().isEmpty)
    subscriber.send("realtime:x", "phx_leave")
    #expect(subscriber.take().map { $0.text("event") } == ["phx_reply", "phx_close"])
  }

  @Test("both forms of messages are read and written")
  func forms() throws {
    let library = try Library()
    let subscriber = Subscriber(library.standIn, .array)
    let joined = subscriber.join([Subscriber.everything])
    let heads = joined.map { JSONValue.array(Array($0.arrayValue?.prefix(4) ?? [])) }
    #expect(heads == [["1", "1", "realtime:x", "phx_reply"], ["1", .null, "realtime:x", "system"]])
    _ = library.ask("DELETE", "films?id=eq.4")
    let head = Array(subscriber.take()[0].arrayValue?.prefix(4) ?? [])
    #expect(head == ["1", .null, "realtime:x", "postgres_changes"])
    subscriber.send("phoenix", "heartbeat")
    #expect(subscriber.take() == [[.null, "2", "phoenix", "phx_reply", ["status": "ok", "response": [:]]]])
  }

  @Test("a second join takes the first one's place; leaving ends the changes")
  func rejoin() throws {
    let library = try Library()
    let subscriber = Subscriber(library.standIn)
    _ = subscriber.join([Subscriber.everything])
    let heard = subscriber.join([Subscriber.table("films")])
    #expect(heard.map { $0.text("event") } == ["phx_close", "phx_reply", "system"])
    #expect(heard[0].text("ref") == "1")
    subscriber.send("realtime:x", "phx_leave")
    #expect(subscriber.take().map { $0.text("event") } == ["phx_reply", "phx_close"])
    _ = library.ask("DELETE", "films?id=eq.4")
    #expect(subscriber.take().isEmpty)
  }

  // MARK: Tokens, silence, the end

  @Test("a new token renews the subscription; the same one, or a key, does nothing")
  func newToken() throws {
    let subscriber = Subscriber(try Library().standIn)
    let token = Subscriber.token()
    _ = subscriber.join([Subscriber.everything], token: token)
    for same in [token, "sb_publishable_x"] {
      subscriber.send("realtime:x", "access_token", ["access_token": .string(same)])
      #expect(subscriber.take().isEmpty)
    }
    subscriber.send("realtime:x", "access_token", ["access_token": .string(Subscriber.token(exp: 4_000_000_001))])
    #expect(subscriber.take().map { $0["payload"]?.text("message") } == ["Subscribed to PostgreSQL"])
  }

  @Test("a token that expires, or a bad new one, ends the channel and not the connection")
  func expiry() throws {
    let library = try Library()
    let subscriber = Subscriber(library.standIn)
    let now = library.clock.microseconds / 1_000_000
    _ = subscriber.join([Subscriber.everything], topic: "realtime:a", token: Subscriber.token(exp: now + 30))
    _ = subscriber.join([Subscriber.everything], topic: "realtime:b", token: Subscriber.token())
    library.clock.advance(seconds: 33)
    let heard = subscriber.take()
    #expect(heard.map { $0.text("event") } == ["system", "phx_close"])
    #expect(heard[0]["payload"]?.text("message") == "Token has expired 3 seconds ago")
    #expect(heard.allSatisfy { $0.text("topic") == "realtime:a" })
    subscriber.send("realtime:b", "access_token", ["access_token": "a.b.c"])
    #expect(subscriber.take().map { $0.text("event") } == ["system", "phx_close"])
    subscriber.send("phoenix", "heartbeat")
    #expect(subscriber.take().count == 1)
  }

  @Test("a client that says nothing for a minute is cut off, one with heartbeats is not")
  func silence() throws {
    let library = try Library()
    let subscriber = Subscriber(library.standIn)
    _ = subscriber.join([Subscriber.everything])
    for _ in 0..<4 {
      library.clock.advance(seconds: 25)
      subscriber.send("phoenix", "heartbeat")
      #expect(subscriber.take().map { $0.text("event") } == ["phx_reply"])
    }
    library.clock.advance(seconds: 60)
    #expect(subscriber.take() == ["close"])
    #expect(subscriber.link.tick() == nil)
  }

  @Test("misbehaviour swallows a message, or cuts a connection, and happens as often as it is laid out")
  func misbehaviour() throws {
    let standIn = try Library().standIn
    let subscriber = Subscriber(standIn)
    standIn.faults = [StandInFault(.realtimeSilence, times: 2)]
    for expected in [0, 0, 1] {
      subscriber.send("phoenix", "heartbeat")
      #expect(subscriber.take().count == expected)
    }
    let other = Subscriber(standIn)
    standIn.faults = [StandInFault(.realtimeDisconnect)]
    #expect(subscriber.take() == ["cut"])
    other.send("phoenix", "heartbeat")
    #expect(other.take().count == 1)
    standIn.faults = [StandInFault(.realtimeDisconnect, times: nil)]
    #expect(other.take() == ["cut"])
    #expect(Subscriber(standIn).take() == ["cut"])
  }

  // MARK: Broadcast and presence

  @Test("a broadcast is heard by the others, by oneself only where one asked for it")
  func broadcast() throws {
    let standIn = try Library().standIn
    let (one, other) = (Subscriber(standIn), Subscriber(standIn, .array))
    one.send("realtime:x", "phx_join", ["config": ["broadcast": ["ack": true]]])
    other.send("realtime:x", "phx_join", ["config": ["broadcast": ["self": true]]])
    _ = (one.take(), other.take())
    let message: JSONObject = ["type": "broadcast", "event": "e", "payload": ["a": 1]]
    one.send("realtime:x", "broadcast", message)
    #expect(one.take().map { $0.text("event") } == ["phx_reply"])
    #expect(other.take() == [["1", .null, "realtime:x", "broadcast", .object(message)]])
    other.send("realtime:x", "broadcast", message)
    #expect(one.take().count == 1 && other.take().count == 1)
    let answer = standIn.answer(
      StandInRequest(
        method: "POST", target: "/realtime/v1/api/broadcast", fields: [("apikey", standIn.publishableKey)],
        body: Array(#"{"messages": [{"topic": "x", "event": "e", "payload": {"a": 1}}]}"#.utf8)))
    #expect(answer.status == 202)
    #expect(one.take()[0]["payload"] == .object(message))
  }

  @Test("who is present is told at the join, who comes and goes afterwards")
  func presence() throws {
    let standIn = try Library().standIn
    let (one, other) = (Subscriber(standIn), Subscriber(standIn))
    one.send("realtime:x", "phx_join", ["config": ["presence": ["key": "ann", "enabled": true]]])
    one.send("realtime:x", "presence", ["type": "presence", "event": "track", "payload": ["busy": true]])
    #expect(one.take().map { $0.text("event") } == ["phx_reply", "presence_state", "phx_reply", "presence_diff"])
    other.send("realtime:x", "phx_join", ["config": ["presence": ["key": "bo", "enabled": "true"]]])
    let state = other.take()[1]
    #expect(state["payload"]?["ann"]?["metas"]?.arrayValue?.first?["busy"] == true)
    one.link.close()
    let left = other.take()
    #expect(left.map { $0["payload"]?["leaves"]?.objectValue?.names } == [["ann"]])
  }

  @Test("every refused or unreadable message leaves the connection as it is")
  func rubbish() throws {
    let subscriber = Subscriber(try Library().standIn)
    for text in ["", "{", "[]", "1", #"{"topic": 1}"#, #"["1","1","realtime:x"]"#, #"{"topic":"t","event":"e"}"#] {
      subscriber.link.receive(text)
    }
    #expect(subscriber.take().count == 1)
  }
}
