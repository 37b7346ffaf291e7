import LosslessJSON

/// One PostgREST request on a table, as a value.
///
/// Its description names the table, the columns and the operators, never a value.
public struct TableRequest: Sendable, Hashable {
  /// What the request does.
  public enum Action: Sendable, Hashable {
    /// Reads rows.
    case select
    /// Counts rows and reads none.
    case count
    /// Inserts one row, with an object as body.
    case insertOne(JSONObject)
    /// Inserts rows, with an array as body and the union of their columns named.
    case insertMany([JSONObject])
    /// Changes the rows that match.
    case update(JSONObject)
    /// Deletes the rows that match.
    case delete
  }

  /// What an insert does with rows whose key is there already.
  public enum Duplicates: String, Sendable, Hashable {
    /// Leaves the row that is there alone and leaves it out of the answer.
    case ignore = "ignore-duplicates"
    /// Changes the row that is there.
    case merge = "merge-duplicates"
  }

  /// The table or view.
  public var table: String
  /// The schema that it is in.
  public var schema = "public"
  /// What the request does.
  public var action: Action
  /// The columns to read, for reads and for writes that give rows back; nil for all.
  public var columns: [String]?
  /// The columns in PostgREST's own words, which may rename, cast and embed; it wins over `columns`.
  public var selection: String?
  /// Whether a write gives the rows back; without it the answer has no body.
  public var returnsRows: Bool
  /// The conditions, all of which must hold.
  public var filters: [Filter] = []
  /// The order of the rows.
  public var order: [Order] = []
  /// The most rows to read.
  public var limit: Int?
  /// How many rows to skip.
  public var offset: Int?
  /// Whether and how to count all rows that match.
  public var count: Count?
  /// What happens to rows that are there already; nil makes them an error.
  public var duplicates: Duplicates?
  /// The unique columns that decide which rows are there already; empty for the primary key.
  public var conflictColumns: [String] = []
  /// Whether a column that a row leaves out takes the column's default; otherwise it becomes null in an array.
  public var takesDefaults = false
  /// Whether exactly one row is asked for: none or several are an error, and a write of them is taken back.
  public var isSingle = false
  /// Whether members without a value are left out of the rows that are given back.
  public var stripsNulls = false
  /// Whether the server is asked to take the write back, which it does only where the project allows it.
  public var isDryRun = false

  /// Reads rows.
  ///
  /// A hosted project cuts every answer at 1,000 rows without saying so: page by key, and end at an empty page.
  public static func select(
    _ table: String,
    columns: [String]? = nil,
    filters: [Filter] = [],
    order: [Order] = [],
    limit: Int? = nil,
    offset: Int? = nil,
    count: Count? = nil
  ) -> TableRequest {
    var request = TableRequest(table: table, action: .select, columns: columns, returnsRows: true)
    request.filters = filters
    request.order = order
    request.limit = limit
    request.offset = offset
    request.count = count
    return request
  }

  /// Counts the rows that match, without reading any.
  public static func count(_ table: String, filters: [Filter] = [], count: Count = .exact) -> TableRequest {
    var request = TableRequest(table: table, action: .count, columns: nil, returnsRows: false)
    request.filters = filters
    request.count = count
    return request
  }

  /// Inserts one row.
  ///
  /// - Parameter returning: The columns of the row to give back, an empty list for all, nil for no body.
  public static func insert(_ table: String, row: JSONObject, returning: [String]? = nil) -> TableRequest {
    .writing(table, .insertOne(row), returning: returning)
  }

  /// Inserts rows in one statement: all of them or none.
  ///
  /// - Parameters:
  ///   - missingDefault: Whether a column that a row leaves out takes its default, rather than null.
  ///   - returning: The columns of the rows to give back, an empty list for all, nil for no body.
  public static func insert(
    _ table: String, rows: [JSONObject], missingDefault: Bool = true, returning: [String]? = nil
  ) -> TableRequest {
    var request = writing(table, .insertMany(rows), returning: returning)
    request.takesDefaults = missingDefault
    return request
  }

  /// Inserts rows, or does something else with those that are there already.
  ///
  /// - Parameters:
  ///   - onConflict: The unique columns that decide which are there; empty for the primary key.
  ///   - ignoreDuplicates: Leaves rows that are there alone and out of the answer, rather than changing them.
  ///   - missingDefault: Whether a column that a row leaves out takes its default, rather than null.
  ///   - returning: The columns of the rows to give back, an empty list for all, nil for no body.
  public static func upsert(
    _ table: String,
    rows: [JSONObject],
    onConflict: [String] = [],
    ignoreDuplicates: Bool = false,
    missingDefault: Bool = true,
    returning: [String]? = nil
  ) -> TableRequest {
    var request = insert(table, rows: rows, missingDefault: missingDefault, returning: returning)
    request.duplicates = ignoreDuplicates ? .ignore : .merge
    request.conflictColumns = onConflict
    return request
  }

  /// Changes every row that matches; matching none is no error.
  ///
  /// - Parameter returning: The columns of the rows to give back, an empty list for all, nil for no body.
  public static func update(
    _ table: String, set values: JSONObject, filters: [Filter], returning: [String]? = nil
  ) -> TableRequest {
    var request = writing(table, .update(values), returning: returning)
    request.filters = filters
    return request
  }

  /// Deletes every row that matches; matching none is no error.
  ///
  /// - Parameter returning: The columns of the rows to give back, an empty list for all, nil for no body.
  public static func delete(_ table: String, filters: [Filter], returning: [String]? = nil) -> TableRequest {
    var request = writing(table, .delete, returning: returning)
    request.filters = filters
    return request
  }

  private static func writing(_ table: String, _ action: Action, returning: [String]?) -> TableRequest {
    let columns = returning.flatMap { $0.isEmpty ? nil : $0 }
    return TableRequest(table: table, action: action, columns: columns, returnsRows: returning != nil)
  }

  private init(table: String, action: Action, columns: [String]?, returnsRows: Bool) {
    self.table = table
    self.action = action
    self.columns = columns
    self.returnsRows = returnsRows
  }
}

extension TableRequest: CustomStringConvertible, CustomReflectable {
  /// The action, the table and the conditions without their values.
  public var description: String {
    let words =
      switch action {
      case .select: "read"
      case .count: "count"
      case .insertOne: "insert 1 row into"
      case .insertMany(let rows): "insert \(rows.count) rows into"
      case .update(let values): "set \(values.names.joined(separator: ", ")) in"
      case .delete: "delete from"
      }
    let conditions = filters.isEmpty ? "" : " where " + filters.map(\.description).joined(separator: " and ")
    return "\(words) '\(table)'\(conditions)"
  }

  /// Shows what the description shows, so that no dump holds a row or a value.
  public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
