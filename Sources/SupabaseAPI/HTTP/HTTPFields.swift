/// The header fields of a request or an answer, in order, with names that ignore case.
///
/// Its description shows names only: values may be keys and tokens.
public struct HTTPFields: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  /// One header line.
  public struct Field: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The name as it was written.
    public var name: String
    /// The value without blanks around it.
    public var value: String

    /// Makes one header line.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }

    /// The name only.
    public var description: String { "\(name): …" }
    /// Shows the name only, so that no dump holds a token.
    public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
  }

  /// All lines, in order.
  public private(set) var fields: [Field] = []

  /// Makes an empty list.
  public init() {}

  /// Makes a list in the order of the literal; a repeated name stays repeated.
  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { Field(name: $0.0, value: $0.1) }
  }

  /// The first value under a name; setting replaces every line of that name, and nil removes them.
  public subscript(name: String) -> String? {
    get { fields.first { Self.isSame($0.name, name) }?.value }
    set {
      let place = fields.firstIndex { Self.isSame($0.name, name) }
      fields.removeAll { Self.isSame($0.name, name) }
      guard let newValue else { return }
      fields.insert(Field(name: name, value: newValue), at: place ?? fields.endIndex)
    }
  }

  /// Adds a line at the end, beside lines of the same name.
  public mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Every value under a name, in order.
  public func all(_ name: String) -> [String] {
    fields.filter { Self.isSame($0.name, name) }.map(\.value)
  }

  private static func isSame(_ one: String, _ other: String) -> Bool {
    one.utf8.count == other.utf8.count
      && zip(one.utf8, other.utf8).allSatisfy { ASCII.lowercased($0) == ASCII.lowercased($1) }
  }
}

extension HTTPFields: CustomStringConvertible {
  /// The names, without any value.
  public var description: String { "[" + fields.map(\.name).joined(separator: ", ") + "]" }
}
