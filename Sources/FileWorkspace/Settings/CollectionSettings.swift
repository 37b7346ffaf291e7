import LosslessJSON

/// A table that is mirrored into a folder.
public struct CollectionSettings: Sendable, Hashable {
  /// Who makes the key of a new row.
  public enum KeyMaker: String, Sendable, Hashable, CaseIterable {
    /// The device, at once: a row inserted twice still exists once.
    case device
    /// Not this device: a new row's file must say its key, or the row is made elsewhere.
    case server
  }

  /// The folder, directly in the workspace.
  public var folder: String
  /// The table.
  public var table: String
  /// The columns of the key, in order.
  public var key: [String]
  /// Who makes the key of a new row.
  public var keyMadeBy: KeyMaker
  /// The column that changes with every write of a row; nil where the table has none, and then the last write wins.
  public var version: String?
  /// The column of a server time by which pulls page; nil where a pull reads all keys and versions.
  public var cursor: String?
  /// The column whose value names the files; nil names them by their keys.
  public var name: String?
  /// The columns that stand in the files, in order, the key's among them.
  public var columns: [CollectionColumn]
  /// Which rows belong here; empty for all that the user may see.
  public var conditions: [RowCondition]
  /// Where the rows' photos lie; nil where they have none.
  public var photos: PhotosSettings?
  /// What happens where two people changed the same column of a row, or one of them deleted it.
  public var conflicts: ConflictPolicy

  /// Makes a collection of parts that are known to fit.
  public init(
    folder: String, table: String, key: [String] = ["id"], keyMadeBy: KeyMaker = .device, version: String? = nil,
    cursor: String? = nil, name: String? = nil, columns: [CollectionColumn], conditions: [RowCondition] = [],
    photos: PhotosSettings? = nil, conflicts: ConflictPolicy = .hold
  ) {
    self.folder = folder
    self.table = table
    self.key = key
    self.keyMadeBy = keyMadeBy
    self.version = version
    self.cursor = cursor
    self.name = name
    self.columns = columns
    self.conditions = conditions
    self.photos = photos
    self.conflicts = conflicts
  }

  /// The column of a name, or nil where the files have none.
  public func column(_ name: String) -> CollectionColumn? {
    columns.first { $0.name.utf8.elementsEqual(name.utf8) }
  }

  /// Whether a column belongs to the key.
  public func isKey(_ name: String) -> Bool {
    key.contains { $0.utf8.elementsEqual(name.utf8) }
  }

  /// The columns of the key, in the key's order.
  public var keyColumns: [CollectionColumn] { key.compactMap { column($0) } }

  /// What happens where two people changed one column to different values.
  public func conflicts(in column: String) -> ConflictPolicy { self.column(column)?.conflicts ?? conflicts }

  /// The columns that a person edits: those that are neither the key's nor only shown.
  public var editableColumns: [CollectionColumn] { columns.filter { !$0.isReadOnly && !isKey($0.name) } }
}

extension CollectionSettings {
  private static let names = [
    "folder", "table", "key", "keyMadeBy", "version", "cursor", "name", "columns", "where", "photos", "conflicts",
  ]

  /// Reads one element of `collections`.
  ///
  /// - Parameter conflicts: What holds where the collection does not say.
  init(_ node: SettingsNode, conflicts standard: ConflictPolicy) throws(SettingsError) {
    try node.requireObject(of: Self.names)
    folder = try Self.folder(try node.member("folder", "the folder's name"))
    table = try node.member("table", "the table's name").text("the table's name")
    let columnsNode = try node.member("columns", "a list of columns such as [\"id uuid\", \"title text\"]")
    columns = try Self.columns(columnsNode)
    let keyNode = try node.member("key", "the column of the key, such as \"id\"")
    key = try Self.key(keyNode)
    keyMadeBy = .device
    version = try Self.optionalColumn(node["version"], "the version's column, or null")
    cursor = try Self.optionalColumn(node["cursor"], "the column of a server time, or null")
    name = try Self.optionalColumn(node["name"], "the column that names the files, or null")
    conditions = try node["where"].map(RowCondition.conditions) ?? []
    photos = try node["photos"].map(PhotosSettings.init)
    conflicts = try node["conflicts"].map(ConflictPolicy.general) ?? standard
    if let maker = node["keyMadeBy"] { keyMadeBy = try Self.keyMaker(maker) }
    try checkKey(keyNode)
    for (column, element) in zip(columns, try columnsNode.elements("a list of columns")) where isKey(column.name) {
      if let policy = element["conflicts"] { throw policy.error("the key is never in conflict; take this member out") }
    }
    try checkVersion(node["version"] ?? node)
    try checkName(node["name"] ?? node)
    if let cursor, let column = column(cursor), column.type != .timestamp {
      throw (node["cursor"] ?? node).error("the cursor \(JSONError.quoted(cursor)) is no timestamp; expected one")
    }
  }

  static func folder(_ node: SettingsNode) throws(SettingsError) -> String {
    let folder = try node.text("the folder's name")
    if folder.contains("/") || folder.contains("\\") {
      throw node.error("the folder \(JSONError.quoted(folder)) has a slash; expected one directly in the workspace")
    }
    if folder.hasPrefix(".") || folder.hasPrefix("#") {
      throw node.error("the folder \(JSONError.quoted(folder)) begins with '\(folder.prefix(1))'; expected a letter")
    }
    guard FileNames.isSafe(folder), !FileNames.isIgnored(folder) else {
      throw node.error("\(JSONError.quoted(folder)) is not a folder's name on every system; expected a plain word")
    }
    return folder
  }

  private static func columns(_ node: SettingsNode) throws(SettingsError) -> [CollectionColumn] {
    var columns: [CollectionColumn] = []
    for element in try node.elements("a list of columns such as [\"id uuid\", \"title text\"]") {
      let column = try CollectionColumn(element)
      if columns.contains(where: { $0.name.utf8.elementsEqual(column.name.utf8) }) {
        throw element.error("the column \(JSONError.quoted(column.name)) stands in the list twice")
      }
      columns.append(column)
    }
    if columns.isEmpty { throw node.error("no columns; expected at least the key's") }
    return columns
  }

  private static func key(_ node: SettingsNode) throws(SettingsError) -> [String] {
    let what = "the key's column such as \"id\", or an array of columns"
    if node.value.stringValue != nil { return [try node.text(what)] }
    var key: [String] = []
    for element in try node.elements(what) {
      let name = try element.text("a column of the key")
      if key.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
        throw element.error("the column \(JSONError.quoted(name)) stands in the key twice")
      }
      key.append(name)
    }
    if key.isEmpty { throw node.error("no columns; expected \(what)") }
    return key
  }

  private static func keyMaker(_ node: SettingsNode) throws(SettingsError) -> KeyMaker {
    let what = "\"device\" or \"server\""
    guard let maker = KeyMaker(rawValue: try node.text(what)) else { throw node.error("expected \(what)") }
    return maker
  }

  private static func optionalColumn(_ node: SettingsNode?, _ what: String) throws(SettingsError) -> String? {
    guard let node, !node.value.isNull else { return nil }
    return try node.text(what)
  }

  private func checkKey(_ node: SettingsNode) throws(SettingsError) {
    for name in key {
      guard let column = column(name) else { throw missing(name, node) }
      switch column.type {
      case .uuid, .text: continue
      case .integer where key.count > 1 || keyMadeBy == .server: continue
      case .integer:
        throw node.error("a whole number as key is made by the server; expected \"keyMadeBy\": \"server\" beside it")
      case .date where key.count > 1: continue
      case .timestamp where key.count > 1: continue
      default:
        throw node.error("a column of the type \(column.type.rawValue) cannot be a key; expected uuid, text or integer")
      }
    }
  }

  private func checkVersion(_ node: SettingsNode) throws(SettingsError) {
    guard let version, let column = column(version) else { return }
    if isKey(version) { throw node.error("the key cannot be the version; expected a column that every write changes") }
    guard column.isReadOnly else {
      throw node.error(
        "the version \(JSONError.quoted(version)) is among the columns that a person edits; take it out of the columns, "
          + "or show it read-only")
    }
  }

  private func checkName(_ node: SettingsNode) throws(SettingsError) {
    guard let name else { return }
    guard let column = column(name) else { throw missing(name, node) }
    guard column.type == .text else {
      throw node.error("the column \(JSONError.quoted(name)) holds no text; expected one that does, to name the files")
    }
  }

  private func missing(_ name: String, _ node: SettingsNode) -> SettingsError {
    let known = columns.map(\.name).joined(separator: ", ")
    return node.error("the column \(JSONError.quoted(name)) is not among the columns: \(known)")
  }
}
