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
    if !conditions.isEmpty { json["conditions"] = .array(conditions.map(\.storedForm)) }
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
      guard let filter = Filter(storedForm: condition) else { return nil }
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
