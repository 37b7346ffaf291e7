import LosslessJSON

/// The settings of a workspace, read from tidemark.json.
///
/// ```json
/// {
///   "server": {"url": "https://abcd.supabase.co", "key": "sb_publishable_…"},
///   "collections": [
///     {
///       "folder": "tasks",
///       "table": "tasks",
///       "key": "id",
///       "version": "updated_at",
///       "cursor": "updated_at",
///       "name": "title",
///       "columns": ["id uuid", "title text required", "notes text", {"name": "done", "type": "boolean"}],
///       "where": {"archived": false}
///     }
///   ],
///   "live": true,
///   "pullEvery": 2,
///   "settle": 50,
///   "deleteAfter": 10,
///   "conflicts": "hold",
///   "git": {"autocommit": true, "quiet": 10}
/// }
/// ```
///
/// In `server` each service may have an address of its own (`rest`, `auth`, `storage`, `realtime`), or `null` where it is not
/// there; a PostgREST alone needs `rest` and nothing else. `server` and `collections` are needed, and in a collection `folder`, `table`, `key` and `columns`. Members whose names
/// begin with `$` are a person's notes anywhere.
public struct WorkspaceSettings: Sendable, Hashable {
  /// The settings' file, directly in the workspace.
  public static let fileName = "tidemark.json"

  /// What `pullEvery` may be, in seconds.
  static let pullEveryBounds = 0.1...86_400
  /// What `settle` may be, in milliseconds.
  static let settleBounds = 1.0...60_000
  /// What `deleteAfter` may be, in seconds.
  static let deleteAfterBounds = 0.0...86_400
  /// What `quiet` of `git` may be, in seconds.
  static let quietBounds = 1.0...86_400

  /// The project.
  public var server: ServerSettings
  /// The tables and their folders, in order.
  public var collections: [CollectionSettings]
  /// Whether the server is asked to tell changes as they are made, where nobody has switched that by command.
  public var live: Bool
  /// How long to wait between two pulls.
  public var pullEvery: Duration
  /// How long a file must be left alone before it counts as saved.
  public var settle: Duration
  /// How long a file must be gone before its row is deleted.
  public var deleteAfter: Duration
  /// What happens where two people changed the same thing, in collections that do not say.
  public var conflicts: ConflictPolicy
  /// After how long a time without a change of files a watcher commits them to git; `nil` never.
  public var commitsAfter: Duration?

  /// Makes settings of parts that are known to fit.
  public init(
    server: ServerSettings, collections: [CollectionSettings], pullEvery: Duration = .seconds(2),
    settle: Duration = .milliseconds(50), deleteAfter: Duration = .seconds(10), conflicts: ConflictPolicy = .hold,
    live: Bool = true
  ) {
    self.server = server
    self.collections = collections
    self.pullEvery = pullEvery
    self.settle = settle
    self.deleteAfter = deleteAfter
    self.conflicts = conflicts
    self.live = live
  }

  /// Reads the bytes of tidemark.json.
  ///
  /// - Throws: `SettingsError` with the place of the first mistake.
  public init(parsing bytes: [UInt8]) throws(SettingsError) {
    let root = try SettingsNode(parsing: bytes)
    if root["mergeTool"] != nil {
      throw SettingsNode.name("mergeTool", in: root.document).error(
        "a merge tool cannot be named here: this file comes with every clone and must not choose what runs; name it in "
          + "~/.config/\(UserSettings.path), or in TIDEMARK_MERGETOOL", .name)
    }
    try root.requireObject(of: [
      "server", "collections", "pullEvery", "settle", "deleteAfter", "conflicts", "live", "git",
    ])
    self.init(server: try Self.server(try root.member("server", "an object with url and key")), collections: [])
    if let node = root["conflicts"] { conflicts = try ConflictPolicy.general(node) }
    collections = try Self.collections(try root.member("collections", "an array of collections"), conflicts)
    if let node = root["live"] { live = try node.flag() }
    if let node = root["git"] {
      try node.requireObject(of: ["autocommit", "quiet"])
      let quiet = try node["quiet"]?.duration(.seconds(1), in: Self.quietBounds, "seconds") ?? .seconds(10)
      if try node.member("autocommit", "true or false").flag() { commitsAfter = quiet }
    }
    if let node = root["pullEvery"] { pullEvery = try node.duration(.seconds(1), in: Self.pullEveryBounds, "seconds") }
    if let node = root["settle"] { settle = try node.duration(.milliseconds(1), in: Self.settleBounds, "milliseconds") }
    if let node = root["deleteAfter"] {
      deleteAfter = try node.duration(.seconds(1), in: Self.deleteAfterBounds, "seconds")
    }
  }

  private static func server(_ node: SettingsNode) throws(SettingsError) -> ServerSettings {
    try node.requireObject(of: ["url", "key"] + ServerSettings.Service.allCases.map(\.rawValue))
    // A PostgREST alone has neither a project's address nor its key.
    let isAlone = node["url"] == nil && node["rest"] != nil
    let url = isAlone ? nil : try node.member("url", "the project's address")
    let key = isAlone ? node["key"] : try node.member("key", "the project's publishable key")
    let urlText = try url?.text("the project's address")
    let keyText = try key?.text("the project's publishable key")
    var places: [ServerSettings.Service: String?] = [:]
    for service in ServerSettings.Service.allCases {
      guard let place = node[service.rawValue] else { continue }
      places[service] = .some(place.value.isNull ? nil : try place.text("the service's address, or null for none"))
    }
    do {
      return try ServerSettings(url: urlText, key: keyText, places: places)
    } catch {
      switch error {
      case .url(let reason): throw (url ?? node).error(reason)
      case .key(let reason): throw (key ?? node).error(reason)
      case .service(let service, let reason): throw (node[service.rawValue] ?? node).error(reason)
      }
    }
  }

  private static func collections(_ node: SettingsNode, _ conflicts: ConflictPolicy) throws(SettingsError)
    -> [CollectionSettings]
  {
    var collections: [CollectionSettings] = []
    let elements = try node.elements("an array of collections")
    for element in elements {
      let collection = try CollectionSettings(element, conflicts: conflicts)
      let folder = FileNames.folded(collection.folder)
      if let other = collections.first(where: { FileNames.folded($0.folder) == folder }) {
        let taken = "\(JSONError.quoted(collection.folder)) is taken by the table \(JSONError.quoted(other.table))"
        throw (element["folder"] ?? element).error("the folder \(taken); expected a folder of its own for each table")
      }
      if let other = collections.first(where: { $0.table.utf8.elementsEqual(collection.table.utf8) }) {
        let what = "the table \(JSONError.quoted(collection.table)) is mirrored into \(JSONError.quoted(other.folder))"
        throw (element["table"] ?? element).error("\(what) already; expected each table once")
      }
      collections.append(collection)
    }
    if collections.isEmpty { throw node.error("no collections; expected at least one") }
    try checkPhotos(collections, elements)
    return collections
  }

  /// Photos lie in a folder of their own: one collection's file names must not be another's photos.
  private static func checkPhotos(_ collections: [CollectionSettings], _ nodes: [SettingsNode]) throws(SettingsError) {
    var taken = Set(collections.map { FileNames.folded($0.folder) })
    var tables = Set(collections.map(\.table))
    for (collection, node) in zip(collections, nodes) {
      guard let photos = collection.photos, let place = node["photos"] else { continue }
      guard taken.insert(FileNames.folded(photos.folder)).inserted else {
        throw place.error(
          "the folder \(JSONError.quoted(photos.folder)) is taken already; expected a folder of its own for these photos"
        )
      }
      guard let table = photos.table else { continue }
      guard tables.insert(table).inserted else {
        throw (place["table"] ?? place).error(
          "the table \(JSONError.quoted(table)) is mirrored already; expected a table of its own for these photos")
      }
      guard collection.key.count == 1 else {
        throw (place["table"] ?? place).error(
          "a photo names its row in one column; expected a collection whose key is one column")
      }
    }
  }

  /// The collection of a folder, or nil where the folder is none's.
  public func collection(folder: String) -> CollectionSettings? {
    collections.first { $0.folder.utf8.elementsEqual(folder.utf8) }
  }
}
