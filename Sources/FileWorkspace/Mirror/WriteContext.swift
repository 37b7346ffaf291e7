import LosslessJSON
import OfflineEngine

/// What a write-back is for, kept with its intent: enough to finish the bookkeeping in another run.
enum WriteContext: Sendable, Hashable {
  /// The file of a row: these values at this version will be its base.
  case row(collection: String, FileBase)
  /// A side file.
  case side(path: String)
  /// The file of a row that is gone goes to the trash.
  case goneRow(collection: String, key: RowKey)
  /// A side file that is settled goes to the trash.
  case settledSide(path: String)

  var text: String {
    let json: JSONObject =
      switch self {
      case .row(let collection, let base):
        [
          "kind": "row", "collection": .string(collection), "key": .array(base.key.values),
          "values": .object(base.values),
          "version": base.version.map(JSONValue.string) ?? .null,
          "written_key": base.writtenKey.map { .array($0.values) } ?? .null,
        ]
      case .side(let path): ["kind": "side", "path": .string(path)]
      case .goneRow(let collection, let key):
        ["kind": "gone", "collection": .string(collection), "key": .array(key.values)]
      case .settledSide(let path): ["kind": "settled", "path": .string(path)]
      }
    return JSONValue.object(json).serialized()
  }

  /// Whether the text is a side file's; of the many rows' texts none is parsed for that.
  static func isSide(text: String) -> Bool {
    guard text.utf8.starts(with: sideBeginning.utf8), case .side? = WriteContext(text: text) else { return false }
    return true
  }

  /// What no row's text begins with: the kind comes first.
  private static let sideBeginning = #"{"kind":"side""#

  init?(text: String) {
    guard let json = try? JSONValue(parsing: text), let kind = json["kind"]?.stringValue else { return nil }
    let key = json["key"]?.arrayValue.map(RowKey.init)
    switch (kind, json["collection"]?.stringValue, key, json["path"]?.stringValue) {
    case ("row", let collection?, let key?, _):
      self = .row(
        collection: collection,
        FileBase(
          key: key, values: json["values"]?.objectValue ?? [:], version: json["version"]?.stringValue,
          writtenKey: json["written_key"]?.arrayValue.map(RowKey.init)))
    case ("gone", let collection?, let key?, _): self = .goneRow(collection: collection, key: key)
    case ("side", _, _, let path?): self = .side(path: path)
    case ("settled", _, _, let path?): self = .settledSide(path: path)
    default: return nil
    }
  }
}
