import LosslessJSON
import Testing

@testable import StandInServer

/// What the recordings are silent about, by PostgREST's documentation of functions.
@Suite("Functions") struct FunctionTests {
  static let reads: [(target: String, body: String)] = [
    ("rpc/longest?select=title", #"{"title":"Two: the return"}"#),
    ("rpc/titles", #"["One", "Two: the return", "Three", "Four, alone"]"#),
    ("rpc/titles?least=3", #"["Three", "Four, alone"]"#),
    ("rpc/titles?pgrst_scalar=like.T*&limit=1", #"["Two: the return"]"#),
    ("rpc/search?word=T&select=id&order=id.desc", ""), ("rpc/search?word=nope", "[]"),
    ("rpc/search?word=One&select=id,directors(name)", #"[{"id":1,"directors":{"name": "Ada"}}]"#),
    ("rpc/search?word=T&select=title&id=eq.3", #"[{"title":"Three"}]"#),
    (
      "rpc/stats?order=director",
      #"[{"director":"Ada","films":2,"best":10}, "# + "\n" + #" {"director":"Bo","films":1,"best":9.1}]"#
    ),
    ("rpc/stats?films=gt.1&select=director", #"[{"director":"Ada"}]"#),
    ("rpc/my_reviews?select=text", #"[{"text":"mine"}]"#), ("rpc/all_reviews", "2"),
    ("rpc/me", #""11111111-1111-4111-8111-111111111111""#), ("rpc/nothing", "null"),
    ("rpc/join?words=a&words=b", #""a+b""#), ("rpc/join?words=a", #""a""#),
  ]

  @Test("a function is called with GET", arguments: reads)
  func read(_ target: String, body: String) throws {
    let library = try Library()
    let text = library.get(target)
    #expect(text == (body.isEmpty ? "[{\"id\":3}, \n {\"id\":2}]" : body), "\(target)")
  }

  static let failures: [(method: String, target: String, body: String?, failure: String)] = [
    ("GET", "rpc/nope", nil, "404 PGRST202"), ("GET", "rpc/titles?more=1", nil, "404 PGRST202"),
    ("GET", "rpc/search", nil, "404 PGRST202"), ("GET", "rpc/twice?n=1", nil, "300 PGRST203"),
    ("GET", "rpc/titles?least=x", nil, "400 22P02"), ("GET", "rpc/titles?least=99999999999", nil, "400 22003"),
    ("PUT", "rpc/titles", "{}", "405 PGRST101"), ("PATCH", "rpc/titles", "{}", "405 PGRST101"),
    ("DELETE", "rpc/titles", nil, "405 PGRST101"), ("GET", "rpc/rate?film=1&value=2", nil, "405 25006"),
    ("GET", "rpc/hidden", nil, "403 42501"), ("GET", "rpc/titles?select=nope", nil, "400 42703"),
    ("GET", "rpc/search?word=T&order=nope", nil, "400 42703"), ("GET", "rpc/", nil, "404 PGRST125"),
    ("GET", "rpc/titles/more", nil, "404 PGRST125"), ("POST", "rpc/rename_all", "{}", "400 21000"),
    ("POST", "rpc/hire", #"{"id":1,"name":"x"}"#, "409 23505"), ("POST", "rpc/search", "{", "400 PGRST102"),
    ("POST", "rpc/fail", #"{"code":"PT418"}"#, "418 PT418"), ("POST", "rpc/fail", #"{"code":"oops"}"#, "400 42704"),
    ("POST", "rpc/fail", #"{"code":"53100"}"#, "503 53100"), ("GET", "rpc/whole", nil, "404 PGRST202"),
    ("GET", "rpc/search?word=T&directors.name=eq.1", nil, "400 PGRST108"),
  ]

  @Test("a call that cannot be fails as PostgREST's does", arguments: failures)
  func failure(_ method: String, _ target: String, body: String?, failure: String) throws {
    #expect(try Library().failure(method, target, body: body) == failure, "\(method) \(target)")
  }

  @Test("a body's members are the arguments, read by their types")
  func bodies() throws {
    let library = try Library()
    func post(_ target: String, _ body: String, _ type: String = "application/json") -> String {
      library.ask("POST", target, [("Content-Type", type)], body: body).text
    }
    #expect(post("rpc/titles", #"{"least":"4"}"#) == #"["Four, alone"]"#)
    #expect(post("rpc/titles", "least=4", "application/x-www-form-urlencoded") == #"["Four, alone"]"#)
    #expect(post("rpc/titles", "least\n4", "text/csv") == #"["Four, alone"]"#)
    #expect(post("rpc/join", #"{"words":["a","b"]}"#) == #""a+b""#)
    #expect(post("rpc/whole", #"{"b":1,"a":[true]}"#) == #"{"a": [true], "b": 1}"#)
    #expect(
      post("rpc/whole", "[1]")
        == #"{"code":"PGRST102","details":null,"hint":null,"message":"All object keys must match"}"#)
    #expect(post("rpc/shout", "hey", "text/plain") == #""HEY""#)
    #expect(post("rpc/search?select=id&order=id", #"{"word":"T"}"#) == "[{\"id\":2}, \n {\"id\":3}]")
  }

  @Test("functions write with everything that a write does")
  func writes() throws {
    let library = try Library()
    func post(_ target: String, _ body: String, _ fields: [(String, String)] = []) -> (Int, String) {
      let done = library.ask("POST", target, [("Content-Type", "application/json")] + fields, body: body)
      return (done.status, done.text)
    }
    #expect(post("rpc/rate?select=id,rating", #"{"film":1,"value":3.50}"#) == (200, #"[{"id":1,"rating":3.50}]"#))
    #expect(library.get("films?select=rating&id=eq.1") == #"[{"rating":3.50}]"#)
    #expect(post("rpc/hire", #"{"id":7,"name":"eve"}"#) == (200, #"{"id":7,"name":"EVE"}"#))
    #expect(post("rpc/fire", #"{"id":2}"#) == (200, "1"))
    #expect(library.get("films?select=director_id&id=eq.3") == #"[{"director_id":null}]"#)
    #expect(post("rpc/fire", #"{"id":2}"#) == (200, "0"))
    let strict = [("Prefer", "handling=strict,max-affected=0")]
    #expect(post("rpc/rate", #"{"film":1,"value":9}"#, strict).0 == 400)
    #expect(library.get("films?select=rating&id=eq.1") == #"[{"rating":3.50}]"#)
    #expect(post("rpc/fire", #"{"id":1}"#, strict).1.contains("PGRST128"))
    let singular = [("Accept", "application/vnd.pgrst.object+json")]
    #expect(post("rpc/rate", #"{"film":77,"value":9}"#, singular).0 == 406)
  }

  @Test("without the guard a function may write without a condition")
  func unguarded() throws {
    let library = try Library { $0.requiresWhere = false }
    let done = library.ask("POST", "rpc/rename_all", [("Content-Type", "application/json")], body: "{}")
    #expect(done.status == 204 && done.answer.field("Content-Type") == nil)
    #expect(library.get("films?select=title&limit=1") == #"[{"title":"x"}]"#)
  }

  @Test("OPTIONS says what a function allows")
  func options() throws {
    let library = try Library()
    #expect(library.ask("OPTIONS", "rpc/titles").answer.field("Allow") == "OPTIONS,GET,HEAD,POST")
    #expect(library.ask("OPTIONS", "rpc/rename_all").answer.field("Allow") == "OPTIONS,POST")
  }

  static let mistakes: [(function: String, word: String)] = [
    (#"{"name": "f", "body": {"query": "SELECT :x"}}"#, "no argument ':x'"),
    (#"{"name": "f", "returns": "money"}"#, "unknown type 'money'"),
    (#"{"name": "f", "returns": "int4"}"#, "needs a 'body'"),
    (#"{"name": "f", "body": {"update": "u", "set": {"a": "1"}}}"#, "no table 'u'"),
    (#"{"name": "f", "body": {"update": "t", "set": {"b": "1"}}}"#, "no column 'b'"),
    (#"{"name": "f", "returns": "text", "body": {"delete": "t"}}"#, "a write returns void"),
    (#"{"name": "f", "volatility": "often"}"#, "unknown 'often'"),
    (#"{"name": "f", "arguments": [{"type": "text"}, {"name": "a", "type": "text"}]}"#, "single argument"),
    (#"{"name": "f", "arguments": [{"name": "a", "type": "int4", "default": "x"}]}"#, "invalid input syntax"),
  ]

  @Test("a mistake in a function is named", arguments: mistakes)
  func mistake(_ function: String, word: String) throws {
    let text = #"{"tables": {"t": {"columns": [{"name": "a", "type": "text"}]}}, "functions": [\#(function)]}"#
    #expect {
      try Schema(parsing: text)
    } throws: { error in
      "\(error)".contains(word)
    }
  }

  @Test("SQL that cannot run is found when the server starts; SQL that writes is no query")
  func sqlMistakes() throws {
    for sql in ["SELEC 1", "SELECT nope FROM t", "SELECT 1; SELECT 2", "DELETE FROM t", "SELECT 1) --"] {
      let schema = try Schema(
        parsing: #"{"tables": {"t": {"columns": [{"name": "a", "type": "text"}]}}, "functions": [{"name": "f", "#
          + #""returns": "int4", "body": {"query": "\#(sql)"}}]}"#)
      #expect(throws: StandInError.self, "\(sql)") { try StandIn(StandInConfiguration(schema: schema)) }
    }
  }
}
