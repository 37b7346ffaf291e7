import Foundation
import LosslessJSON

@testable import StandInServer

/// A stand-in with films and everything around them, asked without a socket.
final class Library {
  let standIn: StandIn
  let clock = TestClock()

  static let schema = """
    {"tables": {
      "directors": {
        "columns": [{"name": "id", "type": "int4", "notNull": true}, {"name": "name", "type": "text"}],
        "primaryKey": ["id"]},
      "films": {
        "columns": [
          {"name": "id", "type": "int4", "notNull": true}, {"name": "title", "type": "text"},
          {"name": "director_id", "type": "int4"}, {"name": "sequel_of", "type": "int4"},
          {"name": "shown_at", "type": "timestamptz"}, {"name": "rating", "type": "numeric"},
          {"name": "extra", "type": "jsonb"}, {"name": "odd name, (it) \\"is\\"", "type": "text"}],
        "primaryKey": ["id"],
        "foreignKeys": [
          {"columns": ["director_id"], "references": {"table": "directors", "columns": ["id"]}, "onDelete": "setNull"},
          {"columns": ["sequel_of"], "references": {"table": "films", "columns": ["id"]}}]},
      "specs": {
        "columns": [{"name": "film_id", "type": "int4", "notNull": true}, {"name": "camera", "type": "text"}],
        "primaryKey": ["film_id"],
        "foreignKeys": [
          {"columns": ["film_id"], "references": {"table": "films", "columns": ["id"]}, "onDelete": "cascade"}]},
      "actors": {
        "columns": [{"name": "id", "type": "int4", "notNull": true}, {"name": "name", "type": "text"}],
        "primaryKey": ["id"]},
      "roles": {
        "columns": [
          {"name": "film_id", "type": "int4", "notNull": true}, {"name": "actor_id", "type": "int4", "notNull": true},
          {"name": "character", "type": "varchar(12)"}],
        "primaryKey": ["film_id", "actor_id"],
        "foreignKeys": [
          {"columns": ["film_id"], "references": {"table": "films", "columns": ["id"]}, "onDelete": "cascade"},
          {"columns": ["actor_id"], "references": {"table": "actors", "columns": ["id"]}}]},
      "matches": {
        "columns": [
          {"name": "id", "type": "int4", "notNull": true}, {"name": "left_id", "type": "int4"},
          {"name": "right_id", "type": "int4"}],
        "primaryKey": ["id"],
        "foreignKeys": [
          {"columns": ["left_id"], "references": {"table": "actors", "columns": ["id"]}},
          {"columns": ["right_id"], "references": {"table": "actors", "columns": ["id"]}}]},
      "reviews": {
        "columns": [
          {"name": "id", "type": "int4", "notNull": true}, {"name": "film_id", "type": "int4"},
          {"name": "author", "type": "uuid", "notNull": true, "default": {"function": "auth.uid"}},
          {"name": "text", "type": "text"}],
        "primaryKey": ["id"], "owner": "author",
        "foreignKeys": [{"columns": ["film_id"], "references": {"table": "films", "columns": ["id"]}}]},
      "secrets": {
        "columns": [{"name": "id", "type": "int4", "notNull": true}, {"name": "film_id", "type": "int4"}],
        "primaryKey": ["id"], "grants": ["service_role"],
        "foreignKeys": [{"columns": ["film_id"], "references": {"table": "films", "columns": ["id"]}}]}
    },
    "functions": [
      {"name": "longest", "returns": "films", "volatility": "stable",
       "body": {"query": "SELECT * FROM films ORDER BY length(title) DESC LIMIT 1"}},
      {"name": "titles", "arguments": [{"name": "least", "type": "int4", "default": 0}], "returns": {"setOf": "text"},
       "volatility": "stable", "body": {"query": "SELECT title FROM films WHERE id >= :least ORDER BY id"}},
      {"name": "search", "arguments": [{"name": "word", "type": "text"}], "returns": {"setOf": "films"},
       "volatility": "stable", "body": {"query": "SELECT * FROM films WHERE instr(title, :word)"}},
      {"name": "stats", "returns": {"table": [
         {"name": "director", "type": "text"}, {"name": "films", "type": "int8"}, {"name": "best", "type": "numeric"}]},
       "volatility": "stable",
       "body": {"query": "SELECT name, count(*), max(CAST(rating AS REAL)) FROM directors JOIN films ON director_id = directors.id GROUP BY 1"}},
      {"name": "rate", "arguments": [{"name": "film", "type": "int4"}, {"name": "value", "type": "numeric"}],
       "returns": {"setOf": "films"}, "body": {"update": "films", "set": {"rating": ":value"}, "where": "id = :film"}},
      {"name": "hire", "arguments": [{"name": "id", "type": "int4"}, {"name": "name", "type": "text"}],
       "returns": "directors", "body": {"insert": "directors", "values": {"id": ":id", "name": "upper(:name)"}}},
      {"name": "fire", "arguments": [{"name": "id", "type": "int4"}], "returns": "int4",
       "body": {"delete": "directors", "where": "id = :id"}},
      {"name": "rename_all", "returns": "void", "body": {"update": "films", "set": {"title": "'x'"}}},
      {"name": "my_reviews", "returns": {"setOf": "reviews"}, "volatility": "stable",
       "body": {"query": "SELECT * FROM reviews"}},
      {"name": "all_reviews", "returns": "int8", "volatility": "stable", "security": "definer",
       "body": {"query": "SELECT count(*) FROM reviews"}},
      {"name": "me", "returns": "uuid", "volatility": "stable", "body": {"query": "SELECT :auth.uid"}},
      {"name": "hidden", "returns": {"setOf": "secrets"}, "volatility": "stable",
       "body": {"query": "SELECT * FROM secrets"}},
      {"name": "whole", "arguments": [{"type": "jsonb"}], "returns": "jsonb", "volatility": "immutable",
       "body": {"query": "SELECT :1"}},
      {"name": "shout", "arguments": [{"type": "text"}], "returns": "text", "volatility": "immutable",
       "body": {"query": "SELECT upper(:1)"}},
      {"name": "join", "arguments": [{"name": "words", "type": "text[]", "variadic": true}], "returns": "text",
       "volatility": "immutable",
       "body": {"query": "SELECT group_concat(value, '+') FROM json_each(:words)"}},
      {"name": "twice", "arguments": [{"name": "n", "type": "int4"}], "returns": "int4", "volatility": "immutable",
       "body": {"query": "SELECT :n * 2"}},
      {"name": "twice", "arguments": [{"name": "n", "type": "text"}], "returns": "text", "volatility": "immutable",
       "body": {"query": "SELECT :n || :n"}},
      {"name": "nothing", "returns": "int4", "volatility": "immutable", "body": {"query": "SELECT NULL"}},
      {"name": "fail", "arguments": [{"name": "code", "type": "text"}], "volatility": "stable",
       "body": {"raise": {"code": ":code", "message": "'no: ' || :code"}}}
    ]}
    """

  static let rows = """
    {"directors": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bo"}],
     "films": [
       {"id": 1, "title": "One", "director_id": 1, "shown_at": "2026-01-01T00:00:00Z", "rating": 7.50,
        "extra": {"b": null, "a": [1, {"c": null}]}},
       {"id": 2, "title": "Two: the return", "director_id": 1, "sequel_of": 1, "rating": 10, "extra": {"a": {"n": 5}}},
       {"id": 3, "title": "Three", "director_id": 2, "rating": 9.1},
       {"id": 4, "title": "Four, alone"}],
     "specs": [{"film_id": 1, "camera": "Super 8"}],
     "actors": [{"id": 1, "name": "Cy"}, {"id": 2, "name": "Di"}],
     "roles": [
       {"film_id": 1, "actor_id": 1, "character": "hero"}, {"film_id": 1, "actor_id": 2, "character": "foe"},
       {"film_id": 2, "actor_id": 2, "character": "hero"}],
     "matches": [{"id": 1, "left_id": 1, "right_id": 2}],
     "reviews": [
       {"id": 1, "film_id": 1, "author": "11111111-1111-4111-8111-111111111111", "text": "mine"},
       {"id": 2, "film_id": 1, "author": "22222222-2222-4222-8222-222222222222", "text": "not mine"}],
     "secrets": [{"id": 1, "film_id": 1}]}
    """

  init(_ change: (inout StandInConfiguration) -> Void = { _ in }) throws {
    let clock = clock
    var configuration = StandInConfiguration(
      schema: try Schema(parsing: Self.schema), jwtSecret: TokenTests.secret, auth: AuthSettings(passwordCost: 4))
    configuration.effects = StandInEffects(now: { clock.microseconds }, randomBytes: StandInEffects.live.randomBytes)
    change(&configuration)
    standIn = try StandIn(configuration)
    let laid = standIn.answer(
      StandInRequest(
        method: "PUT", target: "/stand-in/rows",
        fields: [("Host", "localhost"), ("apikey", standIn.serviceKey)], body: Array(Self.rows.utf8)))
    guard laid.status == 200 else { throw LaidOut(text: String(decoding: laid.body, as: UTF8.self)) }
  }

  struct LaidOut: Error { let text: String }

  /// Asks as a signed-in user, and gives the status with the body's text.
  func ask(
    _ method: String, _ target: String, _ fields: [(String, String)] = [], body: String? = nil
  ) -> (status: Int, text: String, answer: StandInAnswer) {
    let claims: JSONObject = [
      "role": "authenticated", "sub": "11111111-1111-4111-8111-111111111111", "exp": 4_000_000_000,
    ]
    let token = JSONWebToken.sign(claims, secret: TokenTests.secret)
    let own = [("Host", "localhost"), ("apikey", standIn.publishableKey), ("Authorization", "Bearer \(token)")]
    let answer = standIn.answer(
      StandInRequest(
        method: method, target: "/rest/v1/" + Self.encoded(target),
        fields: (own + fields).map { (name: $0.0, value: $0.1) }, body: Array((body ?? "").utf8)))
    return (answer.status, String(decoding: answer.body, as: UTF8.self), answer)
  }

  /// Reads, and gives the body's text.
  func get(_ target: String, accept: String? = nil) -> String {
    ask("GET", target, accept.map { [("Accept", $0)] } ?? []).text
  }

  /// The code of the error that a read ends in, with its status.
  func failure(_ method: String = "GET", _ target: String, body: String? = nil) -> String {
    let (status, text, _) = ask(method, target, body == nil ? [] : [("Content-Type", "application/json")], body: body)
    return "\(status) \((try? JSONValue(parsing: text))?["code"]?.stringValue ?? "")"
  }

  /// What a URL cannot hold as it is.
  private static func encoded(_ target: String) -> String {
    var allowed = CharacterSet.urlQueryAllowed
    allowed.insert(charactersIn: "%")
    return target.addingPercentEncoding(withAllowedCharacters: allowed) ?? target
  }
}
