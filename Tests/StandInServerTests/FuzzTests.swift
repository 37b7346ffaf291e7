import Foundation
import LosslessJSON
import Randomness
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Requests that nobody meant") struct FuzzTests {
  /// Pieces of which queries and bodies are put together.
  static let pieces = [
    "id", "title", "done", "updated_at", "notes", "select", "order", "limit", "offset", "or", "and", "not", "columns",
    "on_conflict", "=", "&", ".", ",", "(", ")", "\"", "\\", "{", "}", "[", "]", ":", "::", "->", "->>", "*", "%",
    "%25",
    "+", " ", "eq", "neq", "in", "is", "like", "ilike", "match", "cs", "gt", "lte", "any", "all", "null", "true", "asc",
    "desc", "nullsfirst", "0", "1", "-1", "99999999999999999999", "2026-01-01", "é", "👩‍👩‍👧", "%ff", "%00", "text", "int4",
    "a0000000-0000-4000-8000-000000000001", "count()", "!inner", "...", "id=eq.1", "or=(id.eq.1,", "select=*,",
  ]
  static let methods = ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "BREW"]
  static let prefers = [
    "return=representation", "return=minimal", "count=exact", "resolution=merge-duplicates",
    "resolution=ignore-duplicates", "missing=default", "handling=strict", "max-affected=1", "nonsense",
    "timezone=Asia/Kolkata", "tx=rollback", "return=headers-only",
  ]
  static let bodies = [
    "", "{}", "[]", "null", "{", "[{}]", #"{"title":"x"}"#, #"[{"title":"x"},{"title":"y"}]"#, #"{"title":null}"#,
    #"{"title":{"a":[1]}}"#, #"{"done":"maybe"}"#, #"{"id":"a0000000-0000-4000-8000-000000000001","title":"t"}"#,
    #"{"film":1,"value":"1e5","id":7,"name":"x","word":"T","code":"P0002"}"#, #"{"words":["a",null,{"b":[]}]}"#,
    #"[{"id":1,"title":"a","director_id":77},{"id":1,"title":"b","director_id":1}]"#, "id,title\n7,x\n8", "a=1&a=2",
    #"{"film_id":1,"actor_id":1,"character":"far too long a name"}"#, #"{"shown_at":"294276-01-01","rating":"NaN"}"#,
    #"{"updated_at":"infinity","title":"z"}"#, #"{"title":"\u0000"}"#, #"{"title":1e400}"#, "\u{FEFF}{}",
  ]

  /// Requests that mean something, of which the mangled ones are made.
  static let meant = [
    "films?select=id,title,directors(name),actors(*)&order=directors(name).desc,id&limit=2",
    "directors?select=name,films!inner(title,...specs(camera))&films.rating=gt.9&films.order=title&films.limit=1",
    "films?select=id,d:directors!director_id()&d=not.is.null&or=(d.is.null,rating.gte.7)",
    "films?select=...directors(by:name),extra->a->>n,rating::text&extra->a->n=eq.5",
    "directors?select=*,...films(id,title)&films.offset=1",
    "actors?select=roles(films(sequel_of(title)))&roles.not.or=(film_id.eq.1)",
    "matches?select=l:actors!left_id(name),r:actors!right_id(name)", "reviews?select=*,films(*)&author=eq.x",
    "rpc/titles?least=1&pgrst_scalar=like.*o*&limit=1", "rpc/search?word=T&select=id,directors(name)&order=id.desc",
    "rpc/stats?films=gte.1&order=best.desc", "rpc/join?words=a&words=b", "rpc/longest?select=title,specs(camera)",
    "rpc/rate?select=id", "rpc/hire", "rpc/fire", "rpc/whole", "rpc/shout", "rpc/twice?n=1", "rpc/fail?code=PT418",
    "rpc/hidden", "rpc/me", "secrets", "films?columns=id,title&on_conflict=id", "roles?on_conflict=film_id,actor_id",
    "films?shown_at=gt.2026-01-01&id=in.(1,2)&title=like(any).{T*,O*}&rating=eq(all).{1,2}",
  ]
  static let targets = [
    "tasks", "films", "directors", "roles", "reviews", "rpc/titles", "rpc/search", "rpc/rate", "nope", "rpc/nope",
  ]
  static let accepts = [
    "text/csv", "application/vnd.pgrst.object+json", "application/vnd.pgrst.array+json;nulls=stripped", "*/*",
    "a/b;q=x",
    "application/vnd.pgrst.object+json;nulls=stripped",
  ]
  static let types = [
    "application/json", "text/csv", "text/plain", "application/x-www-form-urlencoded", "x", "application/octet-stream",
  ]

  @Test(
    "thousands of mangled requests are all answered, and none of them as a failure of the server",
    arguments: [1, 2, 3, 4])
  func mangled(seed: UInt64) throws {
    var generator = SeededRandom(seed: seed)
    let library = try Library { $0.requiresWhere = seed % 2 == 0 }
    let standIn = library.standIn
    let token = JSONWebToken.sign(TokenTests.claims, secret: TokenTests.secret)
    let keys = [standIn.publishableKey, standIn.serviceKey]
    var statuses: [Int: Int] = [:]
    for number in 0..<Self.requestCount / 4 {
      var request = StandInRequest(
        method: Self.methods.randomElement(using: &generator) ?? "GET",
        target: "/rest/v1/\(Self.target(using: &generator))",
        fields: [("Host", "localhost"), ("apikey", keys.randomElement(using: &generator) ?? "")],
        body: Self.body(using: &generator))
      if Bool.random(using: &generator) { request.fields.append(("Authorization", "Bearer \(token)")) }
      for _ in 0..<Int.random(in: 0...3, using: &generator) {
        request.fields.append(("Prefer", Self.prefers.randomElement(using: &generator) ?? ""))
      }
      if Int.random(in: 0..<3, using: &generator) == 0 {
        request.fields.append(("Accept", Self.accepts.randomElement(using: &generator) ?? ""))
        request.fields.append(("Content-Type", Self.types.randomElement(using: &generator) ?? ""))
        request.fields.append(("Range", "\(Int.random(in: -2...9, using: &generator))-"))
      }
      let answer = standIn.answer(request)
      statuses[answer.status, default: 0] += 1
      let body = String(decoding: answer.body, as: UTF8.self)
      // 21000 is PostgREST's own 500, for a key twice in one upsert; a function raises what it is told to.
      let isOwn = answer.status < 500 || body.contains("\"21000\"") || request.path.contains("fail")
      #expect(isOwn, "seed \(seed), request \(number): \(request.method) \(request.path)?\(request.query) \(body)")
      if answer.status >= 400, request.method != "HEAD", answer.body != Array("Bad Request".utf8) {
        #expect((try? JSONValue(parsing: answer.body))?["code"]?.stringValue != nil, "\(request.path)?\(request.query)")
      } else if answer.status < 300, answer.field("Content-Type")?.hasPrefix("application/json") == true {
        let isJSON = request.method == "HEAD" || (try? JSONValue(parsing: answer.body)) != nil
        // A select list may name a column twice, and so does the answer.
        #expect(isJSON || body.hasPrefix("[{") || body.hasPrefix("{"), "\(request.query) \(body)")
      }
    }
    print(
      "fuzz seed \(seed): \(statuses.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", "))"
    )
    #expect(statuses.keys.filter { $0 < 300 }.count > 1, "the requests must reach the tables")
  }

  /// `TIDEMARK_TEST_EFFORT` makes it many times more.
  static let requestCount =
    10_000 * (ProcessInfo.processInfo.environment["TIDEMARK_TEST_EFFORT"].flatMap { Int($0) } ?? 1)

  /// A target made of pieces, or one that means something with a few of its bytes changed.
  private static func target(using generator: inout SeededRandom) -> String {
    guard Bool.random(using: &generator) else {
      var query = ""
      for _ in 0..<Int.random(in: 0...12, using: &generator) { query += pieces.randomElement(using: &generator) ?? "" }
      return "\(targets.randomElement(using: &generator) ?? "")?\(query)"
    }
    var bytes = Array((meant.randomElement(using: &generator) ?? "").utf8)
    for _ in 0..<Int.random(in: 0...3, using: &generator) where !bytes.isEmpty {
      let place = Int.random(in: 0..<bytes.count, using: &generator)
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: bytes.remove(at: place)
      case 1: bytes.insert(Array("().,!&=*:%-> \"'".utf8).randomElement(using: &generator) ?? 0, at: place)
      case 2: bytes[place] = UInt8.random(in: 0x20...0x7E, using: &generator)
      default: bytes.insert(contentsOf: bytes[place...].prefix(12), at: place)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func body(using generator: inout SeededRandom) -> [UInt8] {
    var bytes = Array((bodies.randomElement(using: &generator) ?? "").utf8)
    if !bytes.isEmpty, Int.random(in: 0..<4, using: &generator) == 0 {
      bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
    }
    return bytes
  }

  @Test("depth cannot overflow the stack")
  func depth() throws {
    let standIn = try StandIn(StandInConfiguration())
    let fields = [(name: "Host", value: "localhost"), (name: "apikey", value: standIn.serviceKey)]
    let deepQuery = String(repeating: "and(", count: 10_000) + "id.eq.1" + String(repeating: ")", count: 10_000)
    let query = StandInRequest(method: "GET", target: "/rest/v1/tasks?or=(\(deepQuery))", fields: fields)
    #expect(standIn.answer(query).status == 400)
    let deepBody = "{\"title\":" + String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000) + "}"
    let body = StandInRequest(method: "POST", target: "/rest/v1/tasks", fields: fields, body: Array(deepBody.utf8))
    #expect(standIn.answer(body).status == 400)
  }

  @Test("what is no HTTP gets no answer that looks like one of ours, and the next client is served")
  func noise() throws {
    let project = try Project()
    for noise in [
      "\r\n\r\n\r\n", "GET\r\n\r\n", "\u{1}\u{2}\u{3}\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
      "GET /" + String(repeating: "x", count: 200_000),
    ] {
      let wire = try Wire(port: project.server.port)
      try? wire.send(Array(noise.utf8))
    }
    #expect(
      try project.wire.request("GET", "/auth/v1/health", [("apikey", project.server.publishableKey)]).status == 200)
  }
}
