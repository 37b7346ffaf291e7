import LosslessJSON

extension RowFile {
  /// Which columns that a file does not mention are put into it.
  public enum Adding: Sendable, Hashable {
    /// None: a member that is absent says nothing.
    case nothing
    /// The key's.
    case key
    /// All that the row has.
    case all
  }

  /// Returns the text of a new file: the collection's columns in order, two spaces, LF, a line end at the end.
  ///
  /// The same values give the same bytes on every replica. A column that the row does not have is left out, and what the
  /// row has beyond the collection's columns too.
  public static func render(_ values: JSONObject, _ collection: CollectionSettings) -> [UInt8] {
    let members = collection.columns.compactMap { column in values[column.name].map { (name: column.name, value: $0) } }
    return JSONValue.object(JSONObject(members)).serializedBytes(.pretty) + [UInt8(ascii: "\n")]
  }

  /// Returns a person's text with a row's values in it: only those are replaced whose meaning differs.
  ///
  /// Everything else stays byte for byte: spaces, line ends, byte-order mark, order, spelling, `$` members, and members of
  /// columns that `values` does not have. Doing it twice changes nothing the second time.
  ///
  /// - Parameters:
  ///   - document: The text of the file.
  ///   - values: The row's values, the key's among them.
  ///   - collection: The file's collection.
  ///   - adding: Which columns that the file does not mention are put into it, each behind its neighbour in the
  ///     collection's order.
  public static func updated(
    _ document: JSONDocument, to values: JSONObject, _ collection: CollectionSettings, adding: Adding = .nothing
  ) -> [UInt8] {
    guard let object = document.value.objectValue else { return document.bytes }
    // A note in front, such as "$schema", stays in front.
    var previous = object.names.prefix { $0.utf8.first == UInt8(ascii: "$") }.last
    var result = document
    for column in collection.columns {
      let present = object[column.name]
      if let value = values[column.name] {
        if let present {
          if !isSame(present, value, column.type) { result = result.setting(column.name, to: value) }
        } else if adding == .all || (adding == .key && collection.isKey(column.name)) {
          result = result.setting(column.name, to: value, after: previous)
          previous = column.name
        }
      }
      if present != nil { previous = column.name }
    }
    return result.bytes
  }

  /// Returns the columns in which a file differs from what it last agreed on, with the file's values: a person's edit.
  ///
  /// A column that the file does not mention is not among them, nor is one that is only shown.
  public func changes(from base: JSONObject, _ collection: CollectionSettings) -> JSONObject {
    JSONObject(
      values.members.filter { member in
        guard let column = collection.column(member.name), !column.isReadOnly else { return false }
        return base[member.name].map { !Self.isSame(member.value, $0, column.type) } ?? true
      })
  }

  /// Returns the columns that are only shown and that a person has changed nevertheless.
  public func readOnlyChanges(from base: JSONObject, _ collection: CollectionSettings) -> [String] {
    values.members.compactMap { member in
      guard let column = collection.column(member.name), column.isReadOnly else { return nil }
      return base[member.name].map { !Self.isSame(member.value, $0, column.type) } ?? false ? member.name : nil
    }
  }
}
