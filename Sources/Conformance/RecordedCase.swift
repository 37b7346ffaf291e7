import Foundation
import LosslessJSON
import StandInServer

/// One recorded request and the answer that a real PostgREST gave.
struct RecordedCase {
  /// Which set-up of the server it was recorded with.
  enum Variant: String, CaseIterable {
    case plain
    /// UPDATE and DELETE need a filter.
    case guarded
    /// `Prefer: tx=` is honoured.
    case rollback
  }

  let value: JSONValue
  /// The callers of the folder, by name.
  let tokens: JSONValue
  /// What signs the tokens that are not in the folder.
  let secret: [UInt8]

  var name: String { value["name"]?.stringValue ?? "?" }
  var needsPostgreSQL: Bool { value["needs"]?.stringValue == "postgresql" }
  var variant: Variant { value["server"]?.stringValue.flatMap(Variant.init) ?? .plain }

  var method: String { value["request"]?["method"]?.stringValue ?? "" }
  var path: String { value["request"]?["path"]?.stringValue ?? "" }
  var body: String? { value["request"]?["body"]?.stringValue }
  var response: JSONValue { value["response"] ?? .null }
  var after: JSONValue? { value["after"] }

  /// The request's fields in order, the caller's token first.
  var fields: [(String, String)] {
    var fields: [(String, String)] = []
    if let token { fields.append(("Authorization", "Bearer \(token)")) }
    for header in value["request"]?["headers"]?.arrayValue ?? [] {
      guard let pair = header.arrayValue, pair.count == 2 else { continue }
      fields.append((pair[0].stringValue ?? "", pair[1].stringValue ?? ""))
    }
    return fields
  }

  /// The caller's token; one whose times count from now is signed now.
  private var token: String? {
    guard let name = value["request"]?["as"]?.stringValue, let entry = tokens[name] else { return nil }
    if let token = entry["token"]?.stringValue { return token }
    let now = Int64(Date().timeIntervalSince1970)
    var claims = entry["claims"]?.objectValue ?? [:]
    for (claim, value) in claims {
      guard let text = value.stringValue, text.hasPrefix("now"), let offset = Int64(text.dropFirst(3)) else { continue }
      claims[claim] = .number(JSONNumber(now + offset))
    }
    return JSONWebToken.sign(claims, secret: secret)
  }

  /// The rows to lay out, those that a rule makes among them.
  var setup: JSONValue {
    var tables = value["setup"]?.objectValue ?? [:]
    if let rule = tables["generate"], let table = rule["table"]?.stringValue, let count = rule["count"]?.int64Value {
      tables["generate"] = nil
      var rows = tables[table]?.arrayValue ?? []
      for number in 0..<count { rows.append(Self.generated(table, number + 1, rule)) }
      tables[table] = .array(rows)
    }
    return .object(tables)
  }

  private static func generated(_ table: String, _ number: Int64, _ rule: JSONValue) -> JSONValue {
    let day = 1 + number / 86_400
    let time = number % 86_400
    let stamp = JSONValue.string(
      "2026-01-\(padded(day, 2))T\(padded(time / 3_600, 2)):\(padded(time / 60 % 60, 2)):\(padded(time % 60, 2))Z")
    var row: JSONObject = [
      "id": .string("\(table == "tasks" ? "b" : "d")0000000-0000-4000-8000-\(padded(number, 12))"),
      "user_id": rule["user_id"] ?? .null,
    ]
    if table == "tasks" {
      row["title"] = .string("task \(padded(number, 4))")
      row["done"] = false
    } else {
      row["task_id"] = rule["task_id"] ?? .null
      row["object_path"] = .string("photo \(padded(number, 4))")
    }
    row["created_at"] = stamp
    row["updated_at"] = stamp
    return .object(row)
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  /// Whether a value changes from run to run.
  func isVolatile(_ pointer: String) -> Bool {
    value["volatile"]?.arrayValue?.contains(.string(pointer)) ?? false
  }
}
