import Foundation
import LosslessJSON

@testable import StandInServer

/// One recorded request and answer of a real PostgREST.
struct ConformanceCase {
  let value: JSONValue
  var name: String { value["name"]?.stringValue ?? "?" }
  var isPostgreSQLOnly: Bool { value["needs"]?.stringValue == "postgresql" }
  var server: String? { value["server"]?.stringValue }

  static func all(of topic: String) throws -> [ConformanceCase] {
    let text = try String(contentsOf: testFolder.appendingPathComponent("Conformance/\(topic).jsonl"), encoding: .utf8)
    return try text.split(separator: "\n").map { ConformanceCase(value: try JSONValue(parsing: String($0))) }
  }

  /// The rows to lay out, those that a rule makes among them.
  var setup: JSONValue {
    var tables = value["setup"]?.objectValue ?? [:]
    if let rule = tables["generate"], let table = rule["table"]?.stringValue, let count = rule["count"]?.int64Value {
      tables["generate"] = nil
      var rows = tables[table]?.arrayValue ?? []
      for number in 1...count { rows.append(Self.generated(table, Int(number), rule)) }
      tables[table] = .array(rows)
    }
    return .object(tables)
  }

  private static func generated(_ table: String, _ number: Int, _ rule: JSONValue) -> JSONValue {
    let stamp = JSONValue.string(Timestamp(microseconds: 1_767_225_600_000_000 + Int64(number) * 1_000_000).jsonText)
    var row: JSONObject = [
      "id": .string("\(table == "tasks" ? "b" : "d")0000000-0000-4000-8000-\(padded(number, to: 12))"),
      "user_id": rule["user_id"] ?? .null,
    ]
    if table == "tasks" {
      row["title"] = .string("task \(padded(number, to: 4))")
      row["done"] = false
    } else {
      row["task_id"] = rule["task_id"] ?? .null
      row["object_path"] = .string("photo \(padded(number, to: 4))")
    }
    row["created_at"] = stamp
    row["updated_at"] = stamp
    return .object(row)
  }

  /// Lays the rows, sends the request and says what differs from the recorded answer.
  func differences(on wire: Wire, _ server: StandInServer, tokens: JSONValue) throws -> [String] {
    let service = [("apikey", server.serviceKey)]
    let laid = try wire.request("PUT", "/stand-in/rows", service, body: setup.serialized())
    guard laid.status == 200 else { return ["setup: \(laid.status) \(laid.text)"] }
    guard let request = value["request"], let response = value["response"], let path = request["path"]?.stringValue,
      let method = request["method"]?.stringValue
    else { return ["no request"] }
    var fields = [("apikey", server.publishableKey)]
    if let token = token(named: request["as"]?.stringValue, tokens) {
      fields.append(("Authorization", "Bearer \(token)"))
    }
    for header in request["headers"]?.arrayValue ?? [] {
      fields.append((header.arrayValue?[0].stringValue ?? "", header.arrayValue?[1].stringValue ?? ""))
    }
    let answer = try wire.request(method, "/rest/v1\(path)", fields, body: request["body"]?.stringValue)
    let after = try wire.request("GET", "/stand-in/rows", service).json
    var differences = compareHead(answer, response)
    differences += compareBody(answer, response, hasOrder: path.contains("order="))
    if let wanted = value["after"] { differences += compareAfter(after, wanted) }
    return differences
  }

  private func token(named name: String?, _ tokens: JSONValue) -> String? {
    guard let name, let entry = tokens[name] else { return nil }
    if let token = entry["token"]?.stringValue { return token }
    let now = LiveClock.microseconds() / 1_000_000
    var claims = entry["claims"]?.objectValue ?? [:]
    for (claim, value) in claims {
      guard let text = value.stringValue, text.hasPrefix("now"), let offset = Int64(text.dropFirst(3)) else { continue }
      claims[claim] = .number(JSONNumber(now + offset))
    }
    return JSONWebToken.sign(claims, secret: ConformanceTests.secret)
  }

  // MARK: Comparing

  private static let exactFields = [
    "Content-Range", "Preference-Applied", "Location", "Content-Type", "WWW-Authenticate", "Content-Profile",
    "Retry-After", "Allow", "Proxy-Status",
  ]

  private func compareHead(_ answer: Wire.Answer, _ response: JSONValue) -> [String] {
    var differences: [String] = []
    if answer.status != response["status"]?.int64Value.map({ Int($0) }) ?? 0 {
      differences.append("status \(answer.status), recorded \(response["status"] ?? .null)")
    }
    for name in Self.exactFields {
      let wanted = response["headers"]?[name]?.stringValue
      let found = answer.joined(name)
      if isVolatile("/response/headers/\(name)") {
        if (wanted == nil) != (found == nil) { differences.append("\(name): \(found ?? "absent")") }
      } else if wanted != found {
        differences.append("\(name): \(found ?? "absent"), recorded \(wanted ?? "absent")")
      }
    }
    return differences
  }

  private func compareBody(_ answer: Wire.Answer, _ response: JSONValue, hasOrder: Bool) -> [String] {
    let wantedText = response["body"]?.stringValue ?? ""
    // Bodies that are no JSON, or name a member twice, are compared as they are.
    guard let parsed = try? JSONValue(parsing: wantedText), let found = try? JSONValue(parsing: answer.body) else {
      return answer.text == wantedText ? [] : ["body \(answer.text.prefix(300)), recorded \(wantedText.prefix(300))"]
    }
    var wanted = masked(parsed, at: "/response/body")
    var got = masked(found, at: "/response/body")
    if answer.status >= 400 {
      wanted = Self.comparable(error: wanted)
      got = Self.comparable(error: got)
    } else if !hasOrder, case .array(let left) = wanted, case .array(let right) = got {
      wanted = .array(left.sorted { $0.serialized() < $1.serialized() })
      got = .array(right.sorted { $0.serialized() < $1.serialized() })
    }
    return wanted == got ? [] : ["body \(answer.text.prefix(300)), recorded \(wantedText.prefix(300))"]
  }

  /// Hints may differ, and of a query that cannot be read only the code counts.
  private static func comparable(error: JSONValue) -> JSONValue {
    guard var object = error.objectValue else { return error }
    object["hint"] = nil
    if object["code"] == "PGRST100" {
      object["message"] = nil
      object["details"] = nil
    }
    return .object(object)
  }

  private func compareAfter(_ found: JSONValue, _ wanted: JSONValue) -> [String] {
    if let total = wanted["tasks_total"]?.int64Value {
      let rows = found["tasks"]?.arrayValue ?? []
      let done = rows.count { $0["done"] == true }
      return rows.count == total && done == wanted["tasks_done"]?.int64Value ?? 0
        ? [] : ["after: \(rows.count), \(done)"]
    }
    var differences: [String] = []
    for (table, rows) in wanted.objectValue ?? [:] {
      let want = masked(rows, at: "/after/\(table)")
      let got = masked(.array(Self.sorted(found[table]?.arrayValue ?? [], table)), at: "/after/\(table)")
      if want != got { differences.append("after, \(table): \(got), recorded \(want)") }
    }
    return differences
  }

  private static func sorted(_ rows: [JSONValue], _ table: String) -> [JSONValue] {
    rows.sorted { left, right in
      if table == "samples" { return (left["id"]?.int64Value ?? 0) < (right["id"]?.int64Value ?? 0) }
      func key(_ row: JSONValue) -> (Int64, String) {
        let created = row["created_at"]?.stringValue ?? ""
        let moment = (try? TimeReader.timestamp(created, now: Timestamp(microseconds: 0)).microseconds) ?? 0
        return (moment, row["id"]?.stringValue ?? "")
      }
      return key(left) < key(right)
    }
  }

  private func isVolatile(_ pointer: String) -> Bool {
    value["volatile"]?.arrayValue?.contains(.string(pointer)) ?? false
  }

  /// The value with its volatile places replaced by what kind of value stands there.
  private func masked(_ value: JSONValue, at pointer: String) -> JSONValue {
    if isVolatile(pointer) { return .string(Self.form(of: value)) }
    switch value {
    case .array(let elements):
      return .array(elements.enumerated().map { masked($1, at: "\(pointer)/\($0)") })
    case .object(let object):
      return .object(
        JSONObject(object.members.map { (name: $0.name, value: masked($0.value, at: "\(pointer)/\($0.name)")) }))
    default: return value
    }
  }

  private static func form(of value: JSONValue) -> String {
    guard let text = value.stringValue else { return value.kindName }
    if UUIDText.normalised(text) != nil { return "<uuid>" }
    let pattern = #"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?\+00:00$"#
    if text.range(of: pattern, options: .regularExpression) != nil { return "<time>" }
    return "<text>"
  }
}
