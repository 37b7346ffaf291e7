import LosslessJSON
import OfflineEngine

extension RowFile {
  /// Whether a text that cannot be read as a row's file shows a row's key all the same: the name of each key column, and
  /// right behind it the value.
  static func shows(_ key: RowKey, in bytes: [UInt8], _ collection: CollectionSettings) -> Bool {
    guard !key.values.isEmpty, key.values.count == collection.key.count else { return false }
    return zip(collection.key, key.values).allSatisfy { name, value in
      Self.shows(Array(JSONValue.string(name).serialized().utf8), Array(value.serialized().utf8), in: bytes)
    }
  }

  private static func shows(_ name: [UInt8], _ value: [UInt8], in bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while let found = rest.firstRange(of: name) {
      rest = rest[found.upperBound...]
      var behind = rest.drop(while: isSpace)
      guard behind.first == UInt8(ascii: ":") else { continue }
      behind = behind.dropFirst().drop(while: isSpace)
      guard behind.starts(with: value) else { continue }
      // A number goes on with its next digit.
      let next = behind.dropFirst(value.count).first
      if next.map({ isSpace($0) || [UInt8(ascii: ","), UInt8(ascii: "}")].contains($0) }) ?? true { return true }
    }
    return false
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
}
