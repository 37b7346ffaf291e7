import LosslessJSON

/// What a column holds, as far as a file has to know it.
public enum ColumnType: String, Sendable, Hashable, CaseIterable {
  /// A UUID in its text form; upper and lower case are the same.
  case uuid
  /// Text.
  case text
  /// `true` or `false`.
  case boolean
  /// A whole number of at most 64 bits.
  case integer
  /// A number of any size; its text is kept.
  case number
  /// A day: `2026-10-18`. Text that is never converted.
  case date
  /// A time of a day, with or without a zone: `2026-10-18T13:00:27.486123+00:00`. Text that is never converted.
  case timestamp
  /// Any JSON value.
  case json
}

/// A column that stands in the files of a collection.
public struct CollectionColumn: Sendable, Hashable {
  /// The column's name, which is the member's name.
  public var name: String
  /// What it holds.
  public var type: ColumnType
  /// Whether a new row needs it, and `null` is refused.
  public var isRequired: Bool
  /// Whether it is only shown.
  public var isReadOnly: Bool
  /// What happens where two people changed it to different values; `nil` where the collection's word holds.
  public var conflicts: ConflictPolicy?

  /// Makes a column.
  public init(
    _ name: String, _ type: ColumnType, isRequired: Bool = false, isReadOnly: Bool = false,
    conflicts: ConflictPolicy? = nil
  ) {
    self.name = name
    self.type = type
    self.isRequired = isRequired
    self.isReadOnly = isReadOnly
    self.conflicts = conflicts
  }

  /// Reads `"title text required"` or `{"name": "title", "type": "text", "required": true}`.
  init(_ node: SettingsNode) throws(SettingsError) {
    if let text = node.value.stringValue {
      try self.init(shortForm: text, node)
      return
    }
    guard node.value.objectValue != nil else {
      throw node.expected("a column such as \"title text required\" or an object { … }")
    }
    try node.requireObject(of: ["name", "type", "required", "readOnly", "conflicts"])
    self.init(
      try node.member("name", "the column's name").text("the column's name"),
      try ColumnType(try node.member("type", "the column's type")),
      isRequired: try node["required"]?.flag() ?? false, isReadOnly: try node["readOnly"]?.flag() ?? false)
    try check(node["name"] ?? node)
    if let policy = node["conflicts"] { conflicts = try ConflictPolicy.of(self, policy) }
  }

  private init(shortForm text: String, _ node: SettingsNode) throws(SettingsError) {
    let words = text.split(separator: " ").map(String.init)
    guard words.count >= 2 else {
      throw node.error("found \(JSONError.quoted(text)); expected a column's name and type, such as \"title text\"")
    }
    guard let type = ColumnType(rawValue: words[1]) else { throw ColumnType.unknown(words[1], node) }
    self.init(words[0], type)
    for word in words[2...] {
      switch word {
      case "required" where !isRequired: isRequired = true
      case "read-only" where !isReadOnly: isReadOnly = true
      default:
        throw node.error("found \(JSONError.quoted(word)) behind the type; expected 'required' or 'read-only', once")
      }
    }
    try check(node)
  }

  private func check(_ node: SettingsNode) throws(SettingsError) {
    if name.hasPrefix("$") {
      throw node.error("the column \(JSONError.quoted(name)) begins with '$'; such members are notes of the person")
    }
    if name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) {
      throw node.error("the column's name holds a control character")
    }
  }
}

extension ColumnType {
  fileprivate init(_ node: SettingsNode) throws(SettingsError) {
    let text = try node.text("the column's type")
    guard let type = ColumnType(rawValue: text) else { throw ColumnType.unknown(text, node) }
    self = type
  }

  fileprivate static func unknown(_ text: String, _ node: SettingsNode) -> SettingsError {
    let known = allCases.map(\.rawValue).joined(separator: ", ")
    return node.error("unknown type \(JSONError.quoted(text)); expected one of \(known)")
  }
}
