/// JSON text that keeps every byte: byte-order mark, line ends, spaces, escapes and the text of numbers.
///
/// Editing replaces, inserts or removes one member of the top-level object and leaves every other byte as it was.
public struct JSONDocument: Sendable {
  /// A member of the top-level object and where it stands.
  public struct Member: Sendable {
    /// The name, unescaped.
    public var name: String
    /// The value.
    public var value: JSONValue
    /// Where the name's opening quote stands.
    public var namePosition: JSONPosition
    /// Where the value begins.
    public var valuePosition: JSONPosition
  }

  /// What the text says.
  public let value: JSONValue
  /// The text, every byte of it.
  public let bytes: [UInt8]

  /// Where the members of the top-level object stand, in order; empty for any other value.
  let spans: [JSONWalker.MemberSpan]
  /// Where the top-level value stands.
  let body: Range<Int>

  /// Reads UTF-8 text that holds one JSON value; a byte-order mark and CRLF are accepted and kept.
  ///
  /// - Throws: `JSONError` with the place of the first mistake.
  public init(parsing bytes: [UInt8]) throws(JSONError) {
    self.init(bytes: bytes, value: try JSONValue(parsing: bytes))
  }

  /// Reads text that holds one JSON value.
  ///
  /// - Throws: `JSONError` with the place of the first mistake.
  public init(parsing text: String) throws(JSONError) {
    try self.init(parsing: Array(text.utf8))
  }

  /// Makes a document of text that is known to say `value`.
  init(bytes: [UInt8], value: JSONValue) {
    self.bytes = bytes
    self.value = value
    (body, spans) = bytes.withUnsafeBufferPointer { buffer in
      var walker = JSONWalker(buffer)
      let start = walker.offset
      let spans = walker.byte == UInt8(ascii: "{") ? walker.members() : []
      if spans.isEmpty {
        walker = JSONWalker(buffer)
        return (walker.skipValue(), [])
      }
      return (start..<walker.offset, spans)
    }
  }

  /// The text.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The members of the top-level object in order, with their places; empty for any other value.
  ///
  /// - Complexity: One walk over the text; keep the result where it is used more than once.
  public var members: [Member] {
    guard let object = value.objectValue else { return [] }
    return bytes.withUnsafeBufferPointer { buffer in
      var finder = PositionFinder(buffer)
      return zip(object.members, spans).map { member, span in
        Member(
          name: member.name, value: member.value, namePosition: finder.position(of: span.name.lowerBound),
          valuePosition: finder.position(of: span.value.lowerBound))
      }
    }
  }

  /// Where the names and the values of the top-level object's members stand in `bytes`, in order; empty for any other value.
  public var memberRanges: [(name: Range<Int>, value: Range<Int>)] { spans.map { ($0.name, $0.value) } }

  /// The spelling of a top-level member's value as it stands in the text, or nil where there is no such member.
  public func source(of name: String) -> String? {
    span(of: name).map { String(decoding: bytes[$0.value], as: UTF8.self) }
  }

  func span(of name: String) -> JSONWalker.MemberSpan? {
    place(of: name).map { spans[$0] }
  }

  func place(of name: String) -> Int? {
    value.objectValue?.members.firstIndex { sameBytes($0.name, name) }
  }
}
