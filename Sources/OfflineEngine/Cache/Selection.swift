import LosslessJSON
import SupabaseAPI

/// The columns that a read asks for, as far as this device can follow them.
struct Selection: Sendable, Hashable {
  /// Whether all of the table's columns are asked for.
  private(set) var isAll = false
  /// The columns asked for by name and shown under it, in order.
  private(set) var columns: [String] = []
  /// The names of members that are no plain columns: renamed, cast, embedded or counted.
  private(set) var computed: Set<String> = []

  /// Whether every member is a column of the table under its own name.
  var isExact: Bool { computed.isEmpty }

  /// The selection of named columns; `nil` for all.
  init(columns: [String]?) {
    guard let columns, columns != ["*"] else {
      isAll = true
      return
    }
    self.columns = distinct(columns)
  }

  /// Reads a selection in PostgREST's words.
  init(text: String) {
    for item in Self.items(text) {
      if item == "*" {
        isAll = true
      } else if let column = Self.column(item) {
        if !columns.contains(column) { columns.append(column) }
      } else {
        computed.formUnion(Self.names(item))
      }
    }
    if isAll { columns = [] }
    columns.removeAll(where: computed.contains)
  }

  /// The selection that a request asks for.
  init(_ request: TableRequest) {
    if let text = request.selection { self.init(text: text) } else { self.init(columns: request.columns) }
  }

  /// Whether a member of that name is the table's column.
  func shows(_ column: String) -> Bool { !computed.contains(column) && (isAll || columns.contains(column)) }

  /// The part of a row that the selection shows of plain columns.
  func picking(_ row: JSONObject) -> JSONObject {
    if !isAll { return row.picking(columns) }
    guard !isExact else { return row }
    return JSONObject(row.members.filter { !computed.contains($0.name) })
  }

  /// Whether rows of `other` hold every column that this selection shows.
  func isCovered(by other: Selection) -> Bool {
    isExact && (isAll ? other.isAll && other.isExact : columns.allSatisfy(other.shows))
  }

  // MARK: Reading the text

  /// The parts between the commas that stand outside of brackets and quotes.
  private static func items(_ text: String) -> [String] {
    var items: [String] = []
    var item = ""
    var depth = 0
    var isQuoted = false
    for character in text {
      switch character {
      case "\"": isQuoted.toggle()
      case "(" where !isQuoted: depth += 1
      case ")" where !isQuoted: depth -= 1
      case "," where !isQuoted && depth == 0:
        items.append(item)
        item = ""
        continue
      case _ where character.isWhitespace && !isQuoted: continue
      default: break
      }
      item.append(character)
    }
    items.append(item)
    return items.filter { !$0.isEmpty }
  }

  /// The column that an item names and nothing more.
  private static func column(_ item: String) -> String? {
    if item.count > 2, item.hasPrefix("\""), item.hasSuffix("\"") {
      let inner = item.dropFirst().dropLast()
      return inner.contains("\"") || inner.contains("\\") ? nil : String(inner)
    }
    return item.contains(where: { ":().!->\"*".contains($0) }) ? nil : item
  }

  /// The names under which an item may show something: its alias, and the column or table behind it.
  private static func names(_ item: String) -> [String] {
    let head = item.prefix { $0 != "(" }
    return head.split(whereSeparator: { ":.!->\"".contains($0) }).map(String.init) + (head.isEmpty ? [item] : [])
  }
}
