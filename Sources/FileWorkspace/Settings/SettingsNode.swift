import LosslessJSON

/// A value in tidemark.json that knows its place, so that every mistake can be reported where it stands.
struct SettingsNode {
  let document: JSONDocument
  let path: JSONPath
  let value: JSONValue

  /// Reads a file of settings.
  ///
  /// - Throws: `SettingsError` where it is no JSON.
  init(parsing bytes: [UInt8]) throws(SettingsError) {
    do { self.init(try JSONDocument(parsing: bytes)) } catch { throw SettingsError(error) }
  }

  init(_ document: JSONDocument) {
    self.document = document
    path = []
    value = document.value
  }

  private init(_ document: JSONDocument, _ path: JSONPath, _ value: JSONValue) {
    self.document = document
    self.path = path
    self.value = value
  }

  /// The top-level member of a name, to make an error about it.
  static func name(_ name: String, in document: JSONDocument) -> SettingsNode {
    SettingsNode(document, [.name(name)], .null)
  }

  /// Makes an error about this value, or about its name where it has one.
  func error(_ message: String, _ part: JSONDocument.Part = .value) -> SettingsError {
    let start = JSONPosition(line: 1, column: 1, offset: 0)
    return SettingsError(message, at: document.position(at: path, part) ?? start)
  }

  /// Checks that the value is an object with no other members than these; names that begin with `$` are free.
  func requireObject(of names: [String]) throws(SettingsError) {
    guard let object = value.objectValue else { throw expected("an object { … }") }
    for name in object.names where !name.hasPrefix("$") && !names.contains(name) {
      let known = names.joined(separator: ", ")
      throw SettingsNode(document, path.appending(name), .null)
        .error("unknown member \(JSONError.quoted(name)); expected one of \(known)", .name)
    }
  }

  /// The member of a name, or nil where it is absent.
  subscript(name: String) -> SettingsNode? {
    value[name].map { SettingsNode(document, path.appending(name), $0) }
  }

  /// The member of a name; it must be there.
  func member(_ name: String, _ what: String) throws(SettingsError) -> SettingsNode {
    guard let member = self[name] else { throw error("the member '\(name)' is missing; expected \(what)") }
    return member
  }

  /// The elements; the value must be an array.
  func elements(_ what: String) throws(SettingsError) -> [SettingsNode] {
    guard let elements = value.arrayValue else { throw expected(what) }
    return elements.enumerated().map { SettingsNode(document, path.appending($0.offset), $0.element) }
  }

  /// The members of an object in order, those aside whose names begin with `$`.
  func members(_ what: String) throws(SettingsError) -> [(name: String, node: SettingsNode)] {
    guard let object = value.objectValue else { throw expected(what) }
    return object.members.filter { !$0.name.hasPrefix("$") }
      .map { ($0.name, SettingsNode(document, path.appending($0.name), $0.value)) }
  }

  /// The text; the value must be a string that is not blank.
  func text(_ what: String) throws(SettingsError) -> String {
    guard let text = value.stringValue else { throw expected(what) }
    if text.allSatisfy(\.isWhitespace) { throw error("this text is blank; expected \(what)") }
    return text
  }

  /// The Boolean; the value must be one.
  func flag() throws(SettingsError) -> Bool {
    guard let flag = value.boolValue else { throw expected("true or false") }
    return flag
  }

  /// The whole number within bounds.
  func wholeNumber(in bounds: ClosedRange<Int64>, _ what: String) throws(SettingsError) -> Int64 {
    let what = "a whole number \(what) from \(bounds.lowerBound) to \(bounds.upperBound)"
    guard let number = value.numberValue else { throw expected(what) }
    guard let whole = value.int64Value, bounds.contains(whole) else {
      throw error("\(number.text) is none such; expected \(what)")
    }
    return whole
  }

  /// The number as a duration in units of `unit`, within bounds counted in the same unit.
  func duration(_ unit: Duration, in bounds: ClosedRange<Double>, _ name: String) throws(SettingsError) -> Duration {
    let what = "a number of \(name) from \(Self.text(bounds.lowerBound)) to \(Self.text(bounds.upperBound))"
    guard let number = value.numberValue else { throw expected(what) }
    guard bounds.contains(number.double) else { throw error("\(number.text) is out of range; expected \(what)") }
    return unit * number.double
  }

  /// Makes an error that says what kind of value was found.
  func expected(_ what: String) -> SettingsError {
    error("found \(value.kindName); expected \(what)")
  }

  private static func text(_ bound: Double) -> String {
    bound.rounded() == bound ? String(Int(bound)) : String(bound)
  }
}
