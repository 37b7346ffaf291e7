/// The members of a JSON object in their order, with names unique by their UTF-8 bytes.
///
/// Equality ignores the order. Looking a name up costs O(1) in an object of more than 24 members, and a walk over the
/// names in a smaller one, which is faster there.
public struct JSONObject: Sendable {
  /// From this many members on, an index is kept.
  private static let indexedFrom = 25

  /// The members in order.
  public private(set) var members: [(name: String, value: JSONValue)]
  private var index: [NameKey: Int]?

  /// Makes an object without members.
  public init() {
    members = []
  }

  /// Makes an object of members in their order; a later duplicate replaces the value of the earlier one.
  public init(_ members: [(name: String, value: JSONValue)]) {
    self.members = []
    self.members.reserveCapacity(members.count)
    for (name, value) in members { self[name] = value }
  }

  /// Takes over members whose names are known to differ.
  init(unique members: [(name: String, value: JSONValue)]) {
    self.members = members
    if members.count >= JSONObject.indexedFrom { buildIndex() }
  }

  /// The names in order.
  public var names: [String] { members.map(\.name) }

  /// How many members there are.
  public var count: Int { members.count }

  /// Whether there are no members.
  public var isEmpty: Bool { members.isEmpty }

  /// The value of a member, nil where there is none.
  ///
  /// Setting a value keeps the member's place, or puts a new name at the end; setting nil removes the member.
  public subscript(name: String) -> JSONValue? {
    get {
      position(of: name).map { members[$0].value }
    }
    set {
      guard let place = position(of: name) else {
        guard let newValue else { return }
        members.append((name, newValue))
        if index != nil {
          index?[NameKey(text: name)] = members.count - 1
        } else if members.count >= JSONObject.indexedFrom {
          buildIndex()
        }
        return
      }
      if let newValue {
        members[place].value = newValue
      } else {
        members.remove(at: place)
        if index != nil { buildIndex() }
      }
    }
  }

  /// Puts a member at a place among the others; a member of that name is moved there.
  ///
  /// - Parameters:
  ///   - value: The member's value.
  ///   - name: The member's name.
  ///   - place: The place it has afterwards; anything beyond the end means the end.
  public mutating func insert(_ value: JSONValue, named name: String, at place: Int) {
    self[name] = nil
    members.insert((name, value), at: Swift.max(0, Swift.min(place, members.count)))
    if members.count >= JSONObject.indexedFrom { buildIndex() }
  }

  /// Returns the value of a name, trying one place first: two rows of one table have their names in one order.
  func value(of name: String, near place: Int) -> JSONValue? {
    if place < members.count, sameBytes(members[place].name, name) { return members[place].value }
    return self[name]
  }

  private func position(of name: String) -> Int? {
    if let index { return index[NameKey(text: name)] }
    return members.firstIndex { sameBytes($0.name, name) }
  }

  private mutating func buildIndex() {
    var index: [NameKey: Int] = [:]
    index.reserveCapacity(members.count)
    for (place, member) in members.enumerated() { index[NameKey(text: member.name)] = place }
    self.index = index
  }
}

extension JSONObject: Hashable {
  /// Compares names and values, whatever their order.
  public static func == (left: JSONObject, right: JSONObject) -> Bool {
    JSONValue.object(left) == JSONValue.object(right)
  }

  /// Hashes names and values, whatever their order.
  public func hash(into hasher: inout Hasher) {
    JSONValue.object(self).hash(into: &hasher)
  }
}

extension JSONObject: Sequence {
  /// Returns the members one after another, in order.
  public func makeIterator() -> Array<(name: String, value: JSONValue)>.Iterator { members.makeIterator() }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  /// Makes an object, its members in the order written; a later duplicate replaces the value of the earlier one.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self.init(elements.map { (name: $0.0, value: $0.1) })
  }
}

extension JSONObject: CustomStringConvertible {
  /// The object as compact JSON text.
  public var description: String { JSONValue.object(self).serialized() }
}
