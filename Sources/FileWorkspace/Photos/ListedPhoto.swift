import LosslessJSON
import OfflineEngine

/// One photo, as a list shows it.
public struct ListedPhoto: Sendable, Hashable {
  /// Where it stands between file and server.
  public enum State: String, Sendable, Hashable {
    /// File, bucket and row agree, as far as this device knows.
    case same
    /// The file is here and is still to be sent, or its row is.
    case waiting
    /// The file is being sent.
    case uploading
    /// It is on the server, and nothing asks for it here.
    case server
    /// It is on the server and is to come down.
    case expected
    /// It is being fetched.
    case downloading
    /// It cannot be sent or fetched before somebody does something.
    case failed
    /// Its folder belongs to no row.
    case held
    /// What lies there is no photo's file, or not at a photo's place.
    case problem
  }

  /// Where its file lies, or would lie.
  public var path: String
  /// The key of its row; `nil` for a file that nobody has looked at.
  public var id: String?
  /// The file of the row that it belongs to.
  public var row: String?
  /// Where it stands.
  public var state: State
  /// Why it waits, failed or is held.
  public var reason: String?
  /// How much of the transfer at hand has passed, from 0 to 100.
  public var percent: Int?
  /// In bytes, where that is known.
  public var size: Int64?
  /// The media type.
  public var contentType: String?
  /// In pixels.
  public var width: Int?
  /// In pixels.
  public var height: Int?
  /// RFC 3339.
  public var takenAt: String?
  /// The bucket, and the key of its object there; `nil` where none is known.
  public var object: ObjectPlace?

  /// Where an object is.
  public struct ObjectPlace: Sendable, Hashable {
    /// The bucket.
    public var bucket: String
    /// The key in it.
    public var key: String
  }

  init(path: String, state: State, reason: String? = nil) {
    self.path = path
    self.state = state
    self.reason = reason
  }

  /// The photo as `tidemark photos list --json` prints it.
  public var json: JSONObject {
    var json: JSONObject = [
      "path": .string(path), "id": id.map(JSONValue.string) ?? .null, "row": row.map(JSONValue.string) ?? .null,
      "state": .string(state.rawValue), "reason": reason.map(JSONValue.string) ?? .null,
      "bytes": size.map(JSONValue.integer) ?? .null, "type": contentType.map(JSONValue.string) ?? .null,
      "width": width.map { .integer(Int64($0)) } ?? .null, "height": height.map { .integer(Int64($0)) } ?? .null,
      "takenAt": takenAt.map(JSONValue.string) ?? .null,
    ]
    if let percent { json["percent"] = .integer(Int64(percent)) }
    return json
  }

  /// Tells of the transfer at hand.
  ///
  /// - Parameters:
  ///   - path: Of this or of another photo.
  ///   - percent: How much has passed.
  public mutating func noteTransfer(of path: String, percent: Int) {
    guard PathKey(path) == PathKey(self.path) else { return }
    switch state {
    case .waiting: state = .uploading
    case .expected, .server: state = .downloading
    default: return
    }
    self.percent = percent
  }
}

/// The photos of a workspace, those too whose files nobody has looked at.
public struct PhotoList {
  let transaction: EngineTransaction
  let settings: WorkspaceSettings
  let files: any FileSystem

  /// A list over one look at the state and the files.
  public init(_ transaction: EngineTransaction, _ settings: WorkspaceSettings, files: any FileSystem) {
    self.transaction = transaction
    self.settings = settings
    self.files = files
  }

  /// The photos in the order of their paths.
  public func photos() throws -> [ListedPhoto] {
    try settings.collections.compactMap { PhotoTable(Collection(settings: $0)) }.flatMap(photos)
      .sorted { PathKey($0.path) < PathKey($1.path) }
  }

  private func photos(of table: PhotoTable) throws -> [ListedPhoto] {
    let records = try PhotoRecords(transaction).all(table.collection.folder)
    // A photo whose delete waits for its proof or its answer is none any more to the person who removed it.
    var listed = try records.filter { $0.absentSince == nil }.map { try photo($0, table) }
    let known = Set(records.compactMap { $0.path.map(PathKey.init) })
    guard let listing = try? PhotoListing(table, in: files) else { return listed }
    for file in listing.files where !known.contains(PathKey(file.path)) {
      var photo = ListedPhoto(path: file.path, state: .waiting, reason: "nobody has looked at it yet")
      photo.size = file.status.size
      listed.append(photo)
    }
    return listed + listing.problems.map { ListedPhoto(path: $0.path, state: .problem, reason: $0.message) }
  }

  private func photo(_ record: PhotoRecord, _ table: PhotoTable) throws -> ListedPhoto {
    let row = try PhotoRowState(table, record.id, transaction).row
    var photo = ListedPhoto(path: record.path ?? record.lastPath, state: state(record), reason: reason(record))
    photo.id = record.id
    photo.row = try (record.owner ?? row?.place.owner).flatMap { try rowFile($0, table.collection) }
    photo.size = record.content?.size ?? row?.size ?? record.seen?.stamp.size
    photo.contentType = record.content?.contentType ?? row?.contentType
    (photo.width, photo.height) = (record.content?.width, record.content?.height)
    photo.takenAt = record.content?.takenAt ?? row?.takenAt
    photo.object = (row?.object ?? record.object?.key).map { .init(bucket: table.settings.bucket, key: $0) }
    return photo
  }

  private func rowFile(_ owner: String, _ collection: Collection) throws -> String? {
    guard let entry = try Mirror(transaction).entry(collection.folder, keyText: owner) else { return nil }
    return entry.path ?? entry.lastPath
  }

  private func state(_ record: PhotoRecord) -> ListedPhoto.State {
    switch record.state {
    case .unread, .waiting, .sent: .waiting
    case .stored: .same
    case .remote: record.isWanted ? .expected : .server
    case .failed: .failed
    case .held: .held
    }
  }

  private func reason(_ record: PhotoRecord) -> String? {
    if let reason = record.reason { return reason }
    return switch record.state {
    case .sent: "its row is still to be sent"
    case .held: "its folder belongs to no row"
    default: nil
    }
  }
}
