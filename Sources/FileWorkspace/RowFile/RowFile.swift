import LosslessJSON

/// A file read as a row of its collection.
public struct RowFile: Sendable {
  /// How large a row's file may be.
  public static let bytesMax = 8 << 20

  /// The text, to be edited in place; nil for an empty file.
  public let document: JSONDocument?
  /// The values of the columns that the file mentions, in the file's order, without those of the key.
  ///
  /// A UUID is in lower case and a whole number in plain digits, so that values compare by meaning.
  public let values: JSONObject
  /// The values of the key's columns in the key's order; nil unless all of them stand in the file.
  public let key: [JSONValue]?
  /// The members whose names begin with `$`, which are the person's own.
  public let notes: JSONObject

  /// Whether the file has no bytes, or only white space: a new row that takes its title from its name.
  public var isEmpty: Bool { document == nil }

  /// Reads the bytes of a file.
  ///
  /// - Throws: `RowFileProblem` with the place of the first mistake.
  public static func read(_ bytes: [UInt8], _ collection: CollectionSettings) throws(RowFileProblem) -> RowFile {
    if bytes.count > bytesMax {
      throw RowFileProblem(wholeFile: "the file has \(bytes.count) bytes; expected at most \(bytesMax) (8 MiB)")
    }
    if isBlank(bytes) { return RowFile(document: nil, values: [:], key: nil, notes: [:]) }
    let document: JSONDocument
    do {
      document = try JSONDocument(parsing: bytes)
    } catch {
      if let place = ConflictMarkers.firstMarker(in: bytes) {
        let message = "a conflict marker stands here; take one version of what is between the markers, and remove them"
        throw RowFileProblem(JSONError(.unexpected, message, at: place, in: bytes))
      }
      throw RowFileProblem(error)
    }
    guard let object = document.value.objectValue else {
      throw RowFileProblem(document.error("found \(document.value.kindName); expected an object { … }", at: []))
    }
    var values: [(name: String, value: JSONValue)] = []
    var key = JSONObject()
    var notes = JSONObject()
    for (name, value) in object {
      if name.utf8.first == UInt8(ascii: "$") {
        notes[name] = value
        continue
      }
      guard let column = collection.column(name) else { throw unknown(name, document, collection) }
      let isKey = collection.isKey(name)
      if isKey, value.isNull { continue }
      let checked = try check(value, column, document)
      if isKey { key[name] = checked } else { values.append((name, checked)) }
    }
    let keyValues = collection.key.compactMap { key[$0] }
    return RowFile(
      document: document, values: JSONObject(values), key: keyValues.count == collection.key.count ? keyValues : nil,
      notes: notes)
  }

  /// Returns what an empty file says: the title that its name gives, in the column that names the files.
  public static func valuesOfEmptyFile(named fileName: String, _ collection: CollectionSettings) -> JSONObject {
    guard let column = collection.name, let title = FileNames.title(fromFileName: fileName) else { return [:] }
    return [column: .string(title)]
  }

  /// Checks that the values of a new row hold all that one needs.
  ///
  /// Only for a new row: in the file of one that exists an absent member says nothing.
  ///
  /// - Parameter values: The values to be inserted, those of an empty file among them.
  /// - Throws: `RowFileProblem` that names the first column that is missing.
  public func checkNew(_ values: JSONObject, _ collection: CollectionSettings) throws(RowFileProblem) {
    let missing = collection.columns.first {
      $0.isRequired && !$0.isReadOnly && !collection.isKey($0.name) && values[$0.name] == nil
    }
    guard let missing else { return }
    let message =
      "the member \(JSONError.quoted(missing.name)) is missing; expected \(Self.expectation(of: missing.type)) for a new row"
    guard let document else { throw RowFileProblem(wholeFile: message) }
    throw RowFileProblem(document.error(message, at: []))
  }

  private static func isBlank(_ bytes: [UInt8]) -> Bool {
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    return text.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) }
  }

  private static func unknown(
    _ name: String, _ document: JSONDocument, _ collection: CollectionSettings
  ) -> RowFileProblem {
    let known = collection.columns.map(\.name).joined(separator: ", ")
    return RowFileProblem(
      document.error(
        "unknown member \(JSONError.quoted(name)); expected one of \(known), or a name that begins with '$'",
        at: JSONPath([.name(name)]), .name))
  }
}
