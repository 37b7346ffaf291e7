import LosslessJSON

/// Where the photos of a collection's rows lie, on this device and on the server.
///
/// ```json
/// "photos": {
///   "folder": "photos", "table": "task_photos", "bucket": "photos", "row": "task_id",
///   "download": {"newest": 200}, "newFolders": "hold",
///   "prepare": {"stripLocation": true, "longestEdge": 2560, "heicToJPEG": true},
///   "ignore": ["*.txt"]
/// }
/// ```
///
/// Without a table nothing is sent or fetched: the folders only follow their rows' files.
public struct PhotosSettings: Sendable, Hashable {
  /// Which of the photos that are on the server come down by themselves.
  public enum Download: Sendable, Hashable {
    /// All of them.
    case all
    /// None: each is fetched when somebody asks for it.
    case none
    /// So many of the newest of each row.
    case newest(Int)
    /// Those of at most so many bytes.
    case upTo(bytes: Int64)
  }

  /// What a folder means that belongs to no row's file.
  public enum NewFolders: String, Sendable, Hashable, CaseIterable {
    /// Its photos wait, and `status` says so.
    case hold
    /// A row of that name is made.
    case add
  }

  /// What is done to a copy of a photo before it is sent; the file itself is never altered.
  public struct Preparation: Sendable, Hashable {
    /// Whether what the camera wrote about the place is left out.
    public var stripLocation: Bool
    /// The longest edge in pixels, to which a larger image is made smaller; `nil` leaves it as it is.
    public var longestEdge: Int?
    /// Whether HEIC goes as JPEG, which every browser shows.
    public var heicToJPEG: Bool

    /// What is done; nothing by default.
    public init(stripLocation: Bool = false, longestEdge: Int? = nil, heicToJPEG: Bool = false) {
      self.stripLocation = stripLocation
      self.longestEdge = longestEdge
      self.heicToJPEG = heicToJPEG
    }

    /// Whether photos go as they are.
    public var isNothing: Bool { self == Preparation() }
  }

  /// A folder directly in the workspace; the photos of `tasks/a.json` lie in its subfolder `a`.
  public var folder: String
  /// The table with a row for each photo; `nil` where photos are neither sent nor fetched.
  public var table: String?
  /// The bucket of the photos' bytes.
  public var bucket: String
  /// The column of `table` with the key of the row that a photo belongs to.
  public var row: String
  /// Which photos come down.
  public var download: Download
  /// What a folder means that belongs to no row's file.
  public var newFolders: NewFolders
  /// What is done to a copy before it is sent.
  public var prepare: Preparation
  /// Names that are no photos, with `*` for any characters and `?` for one.
  public var ignore: [String]

  /// What `longestEdge` may be, in pixels.
  static let longestEdgeBounds: ClosedRange<Int64> = 64...65_535
  /// What `newest` may be.
  static let newestBounds: ClosedRange<Int64> = 1...1_000_000
  /// What `upTo` may be, in bytes.
  static let upToBounds: ClosedRange<Int64> = 1...(1 << 50)

  /// The bucket of who names none.
  static let standardBucket = "photos"
  /// The column of who names none.
  static let standardRow = "task_id"

  /// Photos in a folder.
  public init(
    folder: String, table: String? = nil, bucket: String = "photos", row: String = "task_id",
    download: Download = .all, newFolders: NewFolders = .hold, prepare: Preparation = Preparation(),
    ignore: [String] = []
  ) {
    self.folder = folder
    self.table = table
    self.bucket = bucket
    self.row = row
    self.download = download
    self.newFolders = newFolders
    self.prepare = prepare
    self.ignore = ignore
  }

  /// Whether a path lies in the photos' folder.
  func holds(_ path: String) -> Bool { path.utf8.starts(with: "\(folder)/".utf8) }

  /// The name in the photos' folder under which a path lies; `nil` for one elsewhere.
  func entry(of path: String) -> String? {
    guard holds(path) else { return nil }
    let rest = path.utf8.dropFirst(folder.utf8.count + 1)
    return String(decoding: rest.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self)
  }

  /// The folder of the photos that belong to the row's file of this name.
  func path(forFileNamed name: String) -> String {
    WorkspacePath.joined(folder, name.hasSuffix(".json") ? String(name.dropLast(5)) : name)
  }
}

extension PhotosSettings {
  static let names = ["folder", "table", "bucket", "row", "download", "newFolders", "prepare", "ignore"]

  init(_ node: SettingsNode) throws(SettingsError) {
    try node.requireObject(of: Self.names)
    self.init(folder: try CollectionSettings.folder(try node.member("folder", "the photos' folder")))
    guard let table = node["table"] else {
      for name in Self.names.dropFirst(2) {
        if let idle = node[name] {
          throw idle.error("this says nothing without a table; expected the member 'table' beside it", .name)
        }
      }
      return
    }
    self.table = try table.text("the table with a row for each photo")
    if let node = node["bucket"] { bucket = try Self.bucket(node) }
    if let node = node["row"] { row = try node.text("the column with the key of a photo's row, such as \"task_id\"") }
    if let node = node["download"] { download = try Self.download(node) }
    if let node = node["newFolders"] { newFolders = try Self.newFolders(node) }
    if let node = node["prepare"] { prepare = try Preparation(node) }
    if let node = node["ignore"] {
      let what = "patterns such as [\"*.txt\"]"
      ignore = []
      for element in try node.elements(what) { ignore.append(try element.text("a pattern such as \"*.txt\"")) }
    }
  }

  private static func bucket(_ node: SettingsNode) throws(SettingsError) -> String {
    let bucket = try node.text("the bucket's name")
    guard !bucket.contains("/"), bucket != ".", bucket != ".." else {
      throw node.error("\(JSONError.quoted(bucket)) names no bucket; expected a name without slashes")
    }
    return bucket
  }

  private static func download(_ node: SettingsNode) throws(SettingsError) -> Download {
    let what = "\"all\", \"none\", {\"newest\": 100} or {\"upTo\": 5000000}"
    if let word = node.value.stringValue {
      switch word {
      case "all": return .all
      case "none": return .none
      default: throw node.error("unknown word \(JSONError.quoted(word)); expected \(what)")
      }
    }
    guard node.value.objectValue != nil else { throw node.expected(what) }
    try node.requireObject(of: ["newest", "upTo"])
    switch (node["newest"], node["upTo"]) {
    case (let newest?, nil): return .newest(Int(try newest.wholeNumber(in: newestBounds, "of photos")))
    case (nil, let bytes?): return .upTo(bytes: try bytes.wholeNumber(in: upToBounds, "of bytes"))
    default: throw node.error("expected one of \(what)")
    }
  }

  private static func newFolders(_ node: SettingsNode) throws(SettingsError) -> NewFolders {
    let what = "\"hold\" or \"add\""
    guard let word = NewFolders(rawValue: try node.text(what)) else { throw node.error("expected \(what)") }
    return word
  }
}

extension PhotosSettings.Preparation {
  fileprivate init(_ node: SettingsNode) throws(SettingsError) {
    try node.requireObject(of: ["stripLocation", "longestEdge", "heicToJPEG"])
    self.init()
    if let node = node["stripLocation"] { stripLocation = try node.flag() }
    if let node = node["longestEdge"] {
      longestEdge = Int(try node.wholeNumber(in: PhotosSettings.longestEdgeBounds, "of pixels"))
    }
    if let node = node["heicToJPEG"] { heicToJPEG = try node.flag() }
  }
}
