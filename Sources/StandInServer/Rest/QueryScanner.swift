/// Walks over the characters of one query parameter and remembers how far it came, for the error message.
struct QueryScanner {
  private let what: String
  private let text: String
  private let scalars: [Unicode.Scalar]
  private(set) var place = 0

  /// - Parameters:
  ///   - what: What is read, as PostgREST's messages name it: "filter", "order", "logic tree".
  ///   - text: The decoded value.
  init(_ what: String, _ text: String) {
    self.what = what
    self.text = text
    scalars = Array(text.unicodeScalars)
  }

  var isAtEnd: Bool { place == scalars.count }

  var next: Unicode.Scalar? { place < scalars.count ? scalars[place] : nil }

  /// The error of finding something else than `expected` here.
  func failure(expecting expected: String) -> RestError {
    let found = next.map { "unexpected \"\($0)\"" } ?? "unexpected end of input"
    return .unreadable(what, text, at: place, details: "\(found) expecting \(expected)")
  }

  /// Steps over `word` if it is here.
  mutating func take(_ word: String) -> Bool {
    var ahead = place
    for scalar in word.unicodeScalars {
      guard ahead < scalars.count, scalars[ahead] == scalar else { return false }
      ahead += 1
    }
    place = ahead
    return true
  }

  mutating func expect(_ word: String, as expected: String? = nil) throws(RestError) {
    guard take(word) else { throw failure(expecting: expected ?? "\"\(word)\"") }
  }

  mutating func skipBlanks() {
    while let scalar = next, scalar == " " || scalar == "\t" || scalar == "\n" || scalar == "\r" { place += 1 }
  }

  /// The rest of the text.
  mutating func rest() -> String {
    defer { place = scalars.count }
    return string(scalars[place...])
  }

  /// The characters up to one of `stops` or the end.
  mutating func until(_ stops: Set<Unicode.Scalar>) -> String {
    let start = place
    while let scalar = next, !stops.contains(scalar) { place += 1 }
    return string(scalars[start..<place])
  }

  /// Runs `body`, and goes back to where it began when it returns `nil`.
  mutating func attempt<Value>(_ body: (inout QueryScanner) throws(RestError) -> Value?) throws(RestError) -> Value? {
    let start = place
    let value = try body(&self)
    if value == nil { place = start }
    return value
  }

  // MARK: Pieces of PostgREST's grammar

  /// `"quoted \" text"`, or `nil` when there is no complete one here.
  mutating func quotedText() -> String? {
    let start = place
    guard take("\"") else { return nil }
    // Nearly always nothing in it is escaped.
    let plainEnd = scalars[place...].firstIndex { $0 == "\"" || $0 == "\\" } ?? scalars.count
    var found = string(scalars[place..<plainEnd]).unicodeScalars
    place = plainEnd
    while let scalar = next {
      place += 1
      switch scalar {
      case "\"": return String(found)
      case "\\":
        guard let escaped = next else { break }
        found.append(escaped)
        place += 1
      default: found.append(scalar)
      }
    }
    place = start
    return nil
  }

  /// A quoted text that ends where a list's element ends.
  mutating func quotedElement() -> String? {
    let start = place
    guard let text = quotedText() else { return nil }
    if let scalar = next, scalar != ",", scalar != ")" {
      place = start
      return nil
    }
    return text
  }

  /// A name: quoted, or letters, digits, `_`, `$` and blanks, joined by hyphens that begin no arrow.
  mutating func fieldName() throws(RestError) -> String {
    if let quoted = quotedText() { return quoted }
    let start = place
    while let scalar = next {
      if scalar == "-" {
        let following = place + 1 < scalars.count ? scalars[place + 1] : nil
        guard let following, following != ">", isNamePart(following), place > start else { break }
      } else if !isNamePart(scalar) {
        break
      }
      place += 1
    }
    var name = scalars[start..<place]
    while name.first == " " { name.removeFirst() }
    while name.last == " " { name.removeLast() }
    guard place > start else { throw failure(expecting: "field name (* or [a..z0..9_$])") }
    return string(name)
  }

  /// `->a->>b`, or nothing.
  mutating func jsonPath() throws(RestError) -> (steps: [JSONPathStep], isText: Bool) {
    var steps: [JSONPathStep] = []
    var isText = false
    while take("->") {
      guard !isText else { throw failure(expecting: "end of the JSON path: nothing follows ->>") }
      isText = take(">")
      steps.append(try jsonStep())
    }
    return (steps, isText)
  }

  /// A name with an optional JSON path.
  mutating func field() throws(RestError) -> FieldReference {
    skipBlanks()
    let name = try fieldName()
    let (steps, isText) = try jsonPath()
    return FieldReference(column: name, path: steps, isText: isText)
  }

  private mutating func jsonStep() throws(RestError) -> JSONPathStep {
    let start = place
    if next == "-" { place += 1 }
    let digits = place
    while let scalar = next, scalar.value >= 48, scalar.value <= 57 { place += 1 }
    let endsHere = next.map { "-:.,)&=".unicodeScalars.contains($0) } ?? true
    if place > digits, endsHere, let index = Int(string(scalars[start..<place])) {
      return JSONPathStep(name: string(scalars[start..<place]), index: index)
    }
    place = start
    if let quoted = quotedText() { return JSONPathStep(name: quoted, index: nil) }
    while let scalar = next, !"(-:.,>)".unicodeScalars.contains(scalar) { place += 1 }
    // A hyphen within a name stays in it; "->" ends it.
    while next == "-", place + 1 < scalars.count, scalars[place + 1] != ">" {
      place += 1
      while let scalar = next, !"(-:.,>)".unicodeScalars.contains(scalar) { place += 1 }
    }
    guard place > start else { throw failure(expecting: "string key or number index of a JSON path") }
    return JSONPathStep(name: string(scalars[start..<place]), index: nil)
  }

  private func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_", " ", "$": true
    default: !scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
    }
  }

  private func string(_ slice: ArraySlice<Unicode.Scalar>) -> String {
    if slice.allSatisfy({ $0.isASCII }) {
      return String(unsafeUninitializedCapacity: slice.count) { buffer in
        for (index, scalar) in slice.enumerated() { buffer[index] = UInt8(truncatingIfNeeded: scalar.value) }
        return slice.count
      }
    }
    var view = String.UnicodeScalarView()
    view.append(contentsOf: slice)
    return String(view)
  }
}
