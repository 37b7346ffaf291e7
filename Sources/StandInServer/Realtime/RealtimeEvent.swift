import LosslessJSON
import SQLite

/// A change as one subscriber is told it: the member `data` of the event (protocol sheet realtime, section 5).
struct RealtimeEvent {
  let change: RowChange

  /// A change that is longer is told without its long values.
  static let changeBytesMax = 1 << 20
  /// The longest values that are then left.
  private static let shortValueBytesMax = 64
  /// From about this length on PostgreSQL keeps a value beside the row, and leaves it out of an update that does not
  /// change it.
  private static let outOfLineBytesMin = 2_000

  /// The data for a subscriber, or `nil` where the policy hides the row from them.
  ///
  /// - Parameter select: The columns that were asked for; `nil` for all.
  func data(for caller: Caller, select: Set<String>?) -> [UInt8]? {
    // Nothing is left of a deleted row for a policy to judge: whoever listens hears its key.
    if change.kind != .delete {
      guard change.table.grants.contains(caller.role) else { return refused("Error 401: Unauthorized") }
      guard !change.table.primaryKey.isEmpty else { return refused("Error 400: Bad Request, no primary key") }
      if let new = change.new, !caller.sees(new, of: change.table) { return nil }
    }
    let shown = change.table.columns.indices.filter { select?.contains(change.table.columns[$0].name) ?? true }
    let isTooLong = bytes > Self.changeBytesMax
    var text = head
    text.append(contentsOf: #","columns":["#.utf8)
    for (count, place) in shown.enumerated() {
      if count > 0 { text.append(UInt8(ascii: ",")) }
      text.append(contentsOf: #"{"name":"#.utf8)
      JSONText.append(change.table.columns[place].name, to: &text)
      text.append(contentsOf: #","type":"\#(change.table.columns[place].type.catalogName)"}"#.utf8)
    }
    text.append(contentsOf: "]".utf8)
    if let new = change.new {
      text.append(contentsOf: #","record":"#.utf8)
      let places = shown.filter { !isLeftOut($0, of: new) }
      append(new, places, shortOnly: isTooLong, to: &text)
    }
    if let old = change.old {
      text.append(contentsOf: #","old_record":"#.utf8)
      append(old, change.table.primaryKey.compactMap(change.table.index), shortOnly: isTooLong, to: &text)
    }
    text.append(contentsOf: (isTooLong ? #","errors":["Error 413: Payload Too Large"]}"# : #","errors":null}"#).utf8)
    return text
  }

  private var head: [UInt8] {
    var text = Array(#"{"schema":"public","table":"#.utf8)
    JSONText.append(change.table.name, to: &text)
    let time = change.committedAt.authText.dropLast(4)  // Six digits and the Z, of which three stay.
    text.append(contentsOf: #","type":"\#(change.kind.rawValue)","commit_timestamp":"\#(time)Z""#.utf8)
    return text
  }

  private func refused(_ reason: String) -> [UInt8] {
    var text = Array(#"{"schema":"public","table":"#.utf8)
    JSONText.append(change.table.name, to: &text)
    text.append(
      contentsOf:
        #","type":"\#(change.kind.rawValue)","commit_timestamp":null,"columns":[],"record":{},"old_record":{},"#.utf8)
    text.append(contentsOf: #""errors":["\#(reason)"]}"#.utf8)
    return text
  }

  /// The length of the change's values.
  private var bytes: Int {
    (change.new ?? change.old ?? []).reduce(0) { sum, value in
      if case .text(let text) = value { sum + text.utf8.count } else { sum + 8 }
    }
  }

  private func isLeftOut(_ place: Int, of new: [SQLiteValue]) -> Bool {
    guard let old = change.old, old[place] == new[place], case .text(let text) = new[place] else { return false }
    return text.utf8.count > Self.outOfLineBytesMin
  }

  private func append(_ values: [SQLiteValue], _ places: [Int], shortOnly: Bool, to text: inout [UInt8]) {
    text.append(UInt8(ascii: "{"))
    var isFirst = true
    for place in places {
      let type = change.table.columns[place].type
      if shortOnly, (type.postgresText(values[place]) ?? "").utf8.count > Self.shortValueBytesMax { continue }
      if !isFirst { text.append(UInt8(ascii: ",")) }
      isFirst = false
      JSONText.append(change.table.columns[place].name, to: &text)
      text.append(UInt8(ascii: ":"))
      type.appendJSONB(values[place], to: &text)
    }
    text.append(UInt8(ascii: "}"))
  }
}

extension ColumnType {
  /// The name in PostgreSQL's catalogue, where an array's begins with an underscore.
  fileprivate var catalogName: String {
    switch self {
    case .uuid: "uuid"
    case .text: "text"
    case .boolean: "bool"
    case .int2: "int2"
    case .int4: "int4"
    case .int8: "int8"
    case .numeric: "numeric"
    case .float8: "float8"
    case .date: "date"
    case .timestamptz: "timestamptz"
    case .json: "json"
    case .jsonb: "jsonb"
    case .textArray: "_text"
    case .int4Array: "_int4"
    case .int4Range: "int4range"
    case .tsvector: "tsvector"
    }
  }
}
