import Foundation
import LosslessJSON

/// Says in what an answer differs from the recorded one, as strictly as the recordings' own description asks.
struct CaseComparison {
  let recorded: RecordedCase

  /// What differs; nothing where the server answers as recorded.
  ///
  /// - Parameters:
  ///   - answer: What the server said.
  ///   - after: All rows afterwards, in the form of `/stand-in/rows`.
  func differences(_ answer: Wire.Answer, after: JSONValue) -> [String] {
    var differences = head(answer) + body(answer)
    if let wanted = recorded.after { differences += rows(after, wanted) }
    return differences
  }

  /// Whether the server says clearly that it does not do this: an error of the client's or 501, with a message.
  static func isRefusal(_ answer: Wire.Answer, to method: String) -> Bool {
    guard (400...499).contains(answer.status) || answer.status == 501 else { return false }
    return method == "HEAD" || answer.json["message"]?.stringValue?.isEmpty == false
  }

  private static let exactFields = [
    "Content-Range", "Preference-Applied", "Location", "Content-Type", "WWW-Authenticate", "Content-Profile",
    "Retry-After", "Allow", "Proxy-Status",
  ]

  private func head(_ answer: Wire.Answer) -> [String] {
    var differences: [String] = []
    let wanted = recorded.response["status"]?.int64Value ?? 0
    if Int64(answer.status) != wanted { differences.append("status \(answer.status), recorded \(wanted)") }
    for name in Self.exactFields {
      let wanted = recorded.response["headers"]?[name]?.stringValue
      let found = answer.joined(name)
      let differs =
        recorded.isVolatile("/response/headers/\(name)") ? (wanted == nil) != (found == nil) : wanted != found
      if differs { differences.append("\(name): \(found ?? "absent"), recorded \(wanted ?? "absent")") }
    }
    return differences
  }

  private func body(_ answer: Wire.Answer) -> [String] {
    let text = recorded.response["body"]?.stringValue ?? ""
    let difference = "body \(answer.text.prefix(300)), recorded \(text.prefix(300))"
    // Bodies that are no JSON, or name a member twice, are compared as they are.
    guard let parsed = try? JSONValue(parsing: text), let found = try? JSONValue(parsing: answer.body) else {
      return answer.text == text ? [] : [difference]
    }
    var wanted = masked(parsed, at: "/response/body")
    var got = masked(found, at: "/response/body")
    if answer.status >= 400 {
      wanted = Self.comparable(error: wanted)
      got = Self.comparable(error: got)
    } else if !recorded.path.contains("order=") {
      wanted = Self.sorted(wanted)
      got = Self.sorted(got)
    }
    return wanted == got ? [] : [difference]
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

  private static func sorted(_ value: JSONValue) -> JSONValue {
    guard case .array(let elements) = value else { return value }
    return .array(elements.sorted { $0.serialized() < $1.serialized() })
  }

  private func rows(_ found: JSONValue, _ wanted: JSONValue) -> [String] {
    if let total = wanted["tasks_total"]?.int64Value {
      let rows = found["tasks"]?.arrayValue ?? []
      let done = rows.count { $0["done"] == true }
      let wantedDone = wanted["tasks_done"]?.int64Value ?? 0
      guard Int64(rows.count) != total || Int64(done) != wantedDone else { return [] }
      return ["after: \(rows.count) tasks, \(done) done, recorded \(total), \(wantedDone)"]
    }
    return (wanted.objectValue ?? [:]).compactMap { table, rows in
      let want = masked(rows, at: "/after/\(table)")
      let got = masked(.array(Self.ordered(found[table]?.arrayValue ?? [], of: table)), at: "/after/\(table)")
      return want == got
        ? nil : "after, \(table): \(got.serialized().prefix(300)), recorded \(want.serialized().prefix(300))"
    }
  }

  /// The recordings' order: `samples` by id, the others by `created_at` and then id.
  private static func ordered(_ rows: [JSONValue], of table: String) -> [JSONValue] {
    rows.sorted { left, right in
      if let left = left["id"]?.int64Value, let right = right["id"]?.int64Value { return left < right }
      func key(_ row: JSONValue) -> String {
        let time = row["created_at"]?.stringValue ?? ""
        let fraction = time.dropFirst(20).prefix { $0.isNumber }
        return time.prefix(19) + "." + fraction + String(repeating: "0", count: max(0, 6 - fraction.count))
          + (row["id"]?.stringValue ?? "")
      }
      return key(left) < key(right)
    }
  }

  /// The value with its volatile places replaced by what kind of value stands there.
  private func masked(_ value: JSONValue, at pointer: String) -> JSONValue {
    if recorded.isVolatile(pointer) { return .string(Self.form(of: value)) }
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
    func matches(_ pattern: String) -> Bool { text.range(of: pattern, options: .regularExpression) != nil }
    if matches("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$") { return "<uuid>" }
    if matches(#"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?\+00:00$"#) { return "<time>" }
    return "<text>"
  }
}
