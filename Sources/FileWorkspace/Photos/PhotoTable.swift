import LosslessJSON
import OfflineEngine

/// The table with a row for each photo of a collection, as the template lays it out.
struct PhotoTable: Sendable, Hashable {
  let collection: Collection
  let settings: PhotosSettings
  /// The table's name.
  let name: String

  /// The photos' table of a collection; nil where its photos stay on this device.
  init?(_ collection: Collection) {
    guard let photos = collection.settings.photos, let table = photos.table else { return nil }
    self.collection = collection
    settings = photos
    name = table
  }

  /// The column that names a photo's object.
  static let objectColumn = Column.object

  private enum Column {
    static let object = "object_path"
    static let name = "name"
    static let contentType = "content_type"
    static let size = "size_bytes"
    static let width = "width"
    static let height = "height"
    static let takenAt = "taken_at"
    static let sha256 = "sha256"
    static let version = "updated_at"
  }

  /// What the engine has to know of the table.
  var description: TableDescription {
    TableDescription(
      name: name, versionColumn: Column.version, cursorColumn: Column.version,
      columns: [
        settings.row, Column.object, Column.name, Column.contentType, Column.size, Column.width, Column.height,
        Column.takenAt, Column.sha256,
      ])
  }

  /// What a row says; nil where it names no object or nobody that it belongs to.
  func row(_ values: JSONObject) -> PhotoRow? {
    guard let owner = values[settings.row]?.plainText, let object = values[Column.object]?.stringValue else {
      return nil
    }
    return PhotoRow(
      place: PhotoPlace(owner: owner, name: values[Column.name]?.stringValue ?? ""), object: object,
      sha256: values[Column.sha256]?.stringValue, size: values[Column.size]?.int64Value,
      contentType: values[Column.contentType]?.stringValue, takenAt: values[Column.takenAt]?.stringValue)
  }

  /// The columns that say where a photo belongs.
  func values(of place: PhotoPlace) -> JSONObject {
    let owner = collection.key(text: place.owner)?.values.first ?? .string(place.owner)
    return [settings.row: owner, Column.name: .string(place.name)]
  }

  /// The columns that say what a photo is.
  func values(of sent: PhotoObject, _ content: PhotoContent) -> JSONObject {
    [
      Column.object: .string(sent.key), Column.contentType: .string(content.contentType),
      Column.size: sent.size.map(JSONValue.integer) ?? .null,
      Column.width: content.width.map { .integer(Int64($0)) } ?? .null,
      Column.height: content.height.map { .integer(Int64($0)) } ?? .null,
      Column.takenAt: content.takenAt.map(JSONValue.string) ?? .null,
      Column.sha256: sent.sha256.map(JSONValue.string) ?? .null,
    ]
  }

  /// Whether a conflict over these columns is one over what the photo is.
  static func isContent(_ column: String) -> Bool {
    [Column.object, Column.contentType, Column.size, Column.width, Column.height, Column.takenAt, Column.sha256]
      .contains(column)
  }
}

/// What a photo's row says.
struct PhotoRow: Sendable, Hashable {
  var place: PhotoPlace
  /// The key of its object.
  var object: String
  /// Of the object's bytes, where they are known.
  var sha256: String?
  var size: Int64?
  var contentType: String?
  /// RFC 3339.
  var takenAt: String?
}

/// What this device knows of a photo's row.
struct PhotoRowState: Sendable, Hashable {
  /// The row as the server has it, with what is queued laid over it.
  var row: PhotoRow?
  /// The values and the version that an update is guarded by.
  var base: WriteBase?
  /// Whether a write to it waits in the queue.
  var isPending: Bool
  /// Whether the server showed it once and does not any more.
  var isGone: Bool

  init(_ table: PhotoTable, _ id: String, _ transaction: EngineTransaction) throws {
    let overlaid = try transaction.row(table.name, RowKey(id))
    row = overlaid.values.flatMap(table.row)
    isPending = !overlaid.pending.isEmpty
    isGone = overlaid.isGone
    let version = overlaid.pending.first.map { $0.write.base?.version } ?? overlaid.server?.version
    base = overlaid.values.map { WriteBase(values: $0, version: version) }
  }
}
