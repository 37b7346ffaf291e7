import LosslessJSON

/// What an upload says of its object.
public struct UploadOptions: Sendable, Hashable {
  /// The media type, such as `image/jpeg`.
  public var contentType: String
  /// How many seconds a copy stays good in caches on the way.
  public var cacheSeconds: Int
  /// Whether an object of that key is replaced; without it the server refuses.
  public var upsert: Bool
  /// What the owner keeps with the object; replaced as a whole by each upload.
  public var userMetadata: JSONObject

  /// Options; the defaults are those of the other clients.
  public init(
    contentType: String = "application/octet-stream", cacheSeconds: Int = 3_600, upsert: Bool = false,
    userMetadata: JSONObject = [:]
  ) {
    self.contentType = contentType
    self.cacheSeconds = cacheSeconds
    self.upsert = upsert
    self.userMetadata = userMetadata
  }
}

/// An object that was stored.
public struct UploadedObject: Sendable, Hashable {
  /// The object's id, where the server told it.
  public var id: String?
  /// The key in its bucket.
  public var path: String

  /// An object that was stored.
  public init(id: String?, path: String) {
    self.id = id
    self.path = path
  }
}

/// What the server knows of an object.
public struct ObjectInfo: Sendable, Hashable {
  /// The object's id, which a move leaves.
  public var id: String
  /// The key in its bucket.
  public var path: String
  /// Changes with every write; nil where the server does not tell.
  public var version: String?
  /// In bytes.
  public var sizeBytes: Int64
  /// The media type.
  public var contentType: String?
  /// How long copies stay good, as a header says it.
  public var cacheControl: String?
  /// Changes with every write of other bytes; with its quotes, and no checksum.
  public var etag: String?
  /// What the owner keeps with it.
  public var userMetadata: JSONObject
  /// As the server writes it, RFC 3339.
  public var lastModified: String?
  /// As the server writes it, RFC 3339.
  public var createdAt: String?

  init?(json: JSONValue) {
    guard let id = json["id"]?.stringValue, let path = json["name"]?.stringValue, let size = json["size"]?.int64Value
    else { return nil }
    self.id = id
    self.path = path
    sizeBytes = size
    version = json["version"]?.stringValue
    contentType = json["content_type"]?.stringValue
    cacheControl = json["cache_control"]?.stringValue
    etag = json["etag"]?.stringValue
    userMetadata = json["metadata"]?.objectValue ?? [:]
    lastModified = json["last_modified"]?.stringValue
    createdAt = json["created_at"]?.stringValue
  }
}

/// What a folder of a bucket is listed by.
public struct ListOptions: Sendable, Hashable {
  /// What entries are sorted by.
  public enum Column: String, Sendable, Hashable {
    case name
    case updatedAt = "updated_at"
    case createdAt = "created_at"
    case lastAccessedAt = "last_accessed_at"
  }

  /// The most entries; servers give no more than some hundreds at once.
  public var limit: Int
  /// How many entries are left out at the beginning; not stable while others write.
  public var offset: Int
  /// What entries are sorted by.
  public var column: Column
  /// Whether the order is turned round.
  public var isDescending: Bool
  /// What names in the folder begin with, whatever the case.
  public var search: String?

  /// Options; the defaults are those of the other clients.
  public init(
    limit: Int = 100, offset: Int = 0, column: Column = .name, isDescending: Bool = false, search: String? = nil
  ) {
    self.limit = limit
    self.offset = offset
    self.column = column
    self.isDescending = isDescending
    self.search = search
  }
}

/// An entry of a listed folder: an object, or a folder in it.
public struct ListedObject: Sendable, Hashable {
  /// The name in the folder, not the whole key.
  public var name: String
  /// The object's id; nil for a folder.
  public var id: String?
  /// As the server writes it, RFC 3339; nil for a folder.
  public var updatedAt: String?
  /// As the server writes it, RFC 3339; nil for a folder.
  public var createdAt: String?
  /// In bytes; nil for a folder.
  public var sizeBytes: Int64?
  /// The media type; nil for a folder.
  public var contentType: String?
  /// Changes with every write of other bytes; nil for a folder.
  public var etag: String?

  /// Whether it stands for everything deeper.
  public var isFolder: Bool { id == nil }

  init?(json: JSONValue) {
    guard let name = json["name"]?.stringValue else { return nil }
    self.name = name
    id = json["id"]?.stringValue
    updatedAt = json["updated_at"]?.stringValue
    createdAt = json["created_at"]?.stringValue
    let metadata = json["metadata"]
    sizeBytes = metadata?["size"]?.int64Value
    contentType = metadata?["mimetype"]?.stringValue
    etag = metadata?["eTag"]?.stringValue
  }
}

/// Another form of an image, made by the server when it is downloaded.
public struct ImageTransformation: Sendable, Hashable {
  /// How an image gets into a box of other proportions.
  public enum Resize: String, Sendable, Hashable {
    /// It fills the box, and what stands over is cut off.
    case cover
    /// It fits into the box whole.
    case contain
    /// It is stretched to the box.
    case fill
  }

  /// In pixels, up to 2,500.
  public var width: Int?
  /// In pixels, up to 2,500.
  public var height: Int?
  /// How it gets into the box.
  public var resize: Resize?
  /// From 20 to 100.
  public var quality: Int?
  /// `origin` keeps the image's own format, which the server may otherwise change to a smaller one.
  public var format: String?

  /// A transformation; what is nil is left to the server.
  public init(
    width: Int? = nil, height: Int? = nil, resize: Resize? = nil, quality: Int? = nil, format: String? = nil
  ) {
    self.width = width
    self.height = height
    self.resize = resize
    self.quality = quality
    self.format = format
  }

  /// The members in the order of the other clients.
  var members: [(name: String, value: JSONValue)] {
    var members: [(name: String, value: JSONValue)] = []
    if let width { members.append(("width", .integer(Int64(width)))) }
    if let height { members.append(("height", .integer(Int64(height)))) }
    if let resize { members.append(("resize", .string(resize.rawValue))) }
    if let quality { members.append(("quality", .integer(Int64(quality)))) }
    if let format { members.append(("format", .string(format))) }
    return members
  }
}

/// One of several paths that URLs were asked for.
public struct SignedPath: Sendable, Hashable {
  /// The key.
  public var path: String
  /// The URL, which opens the object for anybody until it expires; nil where it could not be made.
  public var url: String?
  /// Why there is none, in the server's words.
  public var error: String?
}

/// Leave to upload one object without an access token.
public struct SignedUpload: Sendable, Hashable {
  /// The key.
  public var path: String
  /// What opens the upload.
  public var token: Secret
  /// The URL that takes the upload.
  public var url: String
}
