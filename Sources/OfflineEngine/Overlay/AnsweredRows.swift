import LosslessJSON

extension Write {
  /// The keys of the rows that the write touches; `nil` where only the rows themselves tell.
  ///
  /// A row without one was given its key by the server, which did not give it back: it is new to every list.
  func touchedKeys(_ returned: [JSONObject]?, _ table: TableDescription) -> [String?]? {
    switch operation {
    case .update, .delete:
      return isPinned && returned?.count ?? 1 <= 1 ? [key.identity] : nil
    case .insert, .upsert:
      let conflictColumns = operation == .upsert ? request?.conflictColumns ?? [] : []
      guard conflictColumns.isEmpty || Set(conflictColumns) == Set(table.keyColumns) else { return nil }
      return answeredRows(returned, table).map { sent, answer in
        table.key(of: answer.map(sent.merging) ?? sent)?.identity
      }
    }
  }

  /// The rows of an insert or upsert as the server takes them, each with what the server gave back of it.
  ///
  /// A column that only other rows of a list name is null, unless it takes its default.
  func answeredRows(_ returned: [JSONObject]?, _ table: TableDescription) -> [(sent: JSONObject, answer: JSONObject?)] {
    let sent = filledRows
    guard let returned, !returned.isEmpty else { return sent.map { ($0, nil) } }
    var byKey: [String: JSONObject] = [:]
    for row in returned { if let key = table.key(of: row) { byKey[key.identity] = row } }
    let isInOrder = returned.count == sent.count
    return sent.enumerated().map { index, row in
      if let key = table.key(of: row), !byKey.isEmpty { return (row, byKey[key.identity]) }
      return (row, isInOrder ? returned[index] : nil)
    }
  }

  /// The members of a row that the server gave back which are columns under their own names.
  func columns(_ returned: JSONObject) -> JSONObject {
    guard let computed = request?.selection.map(Selection.init(text:))?.computed, !computed.isEmpty else {
      return returned
    }
    return JSONObject(returned.members.filter { !computed.contains($0.name) })
  }

  /// Whether a row that the server gave back has every column: a replay asks for fewer than the caller did.
  func isWhole(_ returned: JSONObject, _ table: TableDescription) -> Bool {
    guard request?.selection.map(Selection.init(text:))?.isAll ?? false else { return false }
    let asked = Set(table.readColumns + values.names + (request?.rows ?? []).flatMap(\.names))
    return returned.names.contains { !asked.contains($0) }
  }

  private var filledRows: [JSONObject] {
    guard let rows = request?.rows, !(request?.takesDefaults ?? false) else { return self.rows }
    let names = distinct(rows.flatMap(\.names))
    return rows.map { row in
      var row = row
      for name in names where row[name] == nil { row[name] = .null }
      return row
    }
  }
}
