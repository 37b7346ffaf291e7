import LosslessJSON
import SupabaseAPI

/// A write as its caller built it, kept with the queue so that a replay sends the same (spec 1, "Upserts and ids").
public struct WriteRequest: Sendable, Hashable {
  /// The rows of an insert or upsert of a list; `nil` for a single row or an update, whose columns are the write's values.
  public var rows: [JSONObject]?
  /// All conditions of an update or delete, the key's among them.
  public var conditions: [Filter] = []
  /// The columns that decide which rows an upsert finds; empty for the primary key.
  public var conflictColumns: [String] = []
  /// Whether an upsert leaves the rows that it finds as they are.
  public var ignoresDuplicates = false
  /// Whether a column that a row of a list leaves out takes its default, rather than null.
  public var takesDefaults = false
  /// The columns asked back, in PostgREST's words; `nil` when no row is asked back.
  public var selection: String?
  /// Whether exactly one row must be written.
  public var isSingle = false
  /// The keys of the rows that are known to be touched.
  public var rowKeys: [RowKey] = []

  /// Whether all of the write is still here: a later program's request, or a body too large for a list, is not.
  public var isWhole = true

  /// A request with nothing of its own.
  public init() {}
}

// MARK: The stored form

extension WriteRequest {
  /// The request as JSON, without what is as usual.
  var json: JSONObject {
    var json = JSONObject()
    if let rows { json["rows"] = .array(rows.map { .object($0) }) }
    if !conditions.isEmpty { json["conditions"] = .array(conditions.map(\.json)) }
    if !conflictColumns.isEmpty { json["onConflict"] = .array(conflictColumns.map { .string($0) }) }
    if ignoresDuplicates { json["ignoreDuplicates"] = true }
    if takesDefaults { json["missingDefault"] = true }
    if let selection { json["select"] = .string(selection) }
    if isSingle { json["single"] = true }
    if !isWhole { json["whole"] = false }
    if !rowKeys.isEmpty { json["keys"] = .array(rowKeys.map { .array($0.values) }) }
    return json
  }

  /// Reads the stored form.
  ///
  /// `nil` when a part of it is not understood, so that nothing else than what was made is sent.
  init?(_ json: JSONObject) {
    if let rows = json["rows"]?.arrayValue { self.rows = rows.compactMap(\.objectValue) }
    for condition in json["conditions"]?.arrayValue ?? [] {
      guard let filter = Filter(json: condition) else { return nil }
      conditions.append(filter)
    }
    conflictColumns = json["onConflict"]?.arrayValue?.compactMap(\.stringValue) ?? []
    ignoresDuplicates = json["ignoreDuplicates"]?.boolValue ?? false
    takesDefaults = json["missingDefault"]?.boolValue ?? false
    selection = json["select"]?.stringValue
    isSingle = json["single"]?.boolValue ?? false
    isWhole = json["whole"]?.boolValue ?? true
    rowKeys = json["keys"]?.arrayValue?.compactMap(\.arrayValue).map(RowKey.init) ?? []
  }
}

extension Filter {
  /// The condition as JSON: `[column, operator, operand]` with a fourth part for a path, or
  /// `{"group": "or", "conditions": […]}`.
  ///
  /// No condition is without a form, since a write that lost one would reach other rows.
  fileprivate var json: JSONValue {
    switch self {
    case .column(let name, let comparison): return .array([.string(name)] + comparison.json)
    case .path(let path, let comparison): return .array([.string(path)] + comparison.json + ["path"])
    case .group(let junction, let filters, let isNegated):
      var json: JSONObject = ["group": .string(junction.rawValue), "conditions": .array(filters.map(\.json))]
      if isNegated { json["negated"] = true }
      return .object(json)
    }
  }

  fileprivate init?(json: JSONValue) {
    if let group = json.objectValue {
      guard let junction = group["group"]?.stringValue.flatMap(Junction.init),
        let members = group["conditions"]?.arrayValue
      else { return nil }
      let filters = members.compactMap { Filter(json: $0) }
      guard filters.count == members.count else { return nil }
      self = .group(junction, filters, isNegated: group["negated"]?.boolValue ?? false)
      return
    }
    guard let parts = json.arrayValue, (3...4).contains(parts.count), let name = parts[0].stringValue,
      let comparison = parts[1].stringValue.flatMap({ Comparison($0, parts[2]) })
    else { return nil }
    self = parts.count == 4 ? .path(name, comparison) : .column(name, comparison)
  }
}

extension Filter.Comparison {
  fileprivate var json: [JSONValue] {
    switch self {
    case .value(let operation, let value): [.string(operation.rawValue), value]
    case .oneOf(let values): ["in", .array(values)]
    case .identity(let identity): ["is", .string(identity.rawValue)]
    case .written(let operation, let operand): ["written", .array([.string(operation), .string(operand)])]
    case .not(let other): ["not", .array(other.json)]
    }
  }

  fileprivate init?(_ word: String, _ operand: JSONValue) {
    switch word {
    case "in":
      guard let values = operand.arrayValue else { return nil }
      self = .oneOf(values)
    case "is":
      guard let identity = operand.stringValue.flatMap(Filter.Identity.init) else { return nil }
      self = .identity(identity)
    case "written":
      guard let texts = operand.arrayValue?.compactMap(\.stringValue), texts.count == 2 else { return nil }
      self = .written(operator: texts[0], operand: texts[1])
    case "not":
      guard let parts = operand.arrayValue, parts.count == 2,
        let other = parts[0].stringValue.flatMap({ Filter.Comparison($0, parts[1]) })
      else { return nil }
      self = .not(other)
    default:
      guard let operation = Filter.Operator(rawValue: word) else { return nil }
      self = .value(operation, operand)
    }
  }
}
