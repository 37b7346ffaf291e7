extension JSONValue {
  /// Reads UTF-8 text that holds one JSON value (RFC 8259); a byte-order mark in front is accepted.
  ///
  /// Costs one pass over the bytes. Arrays and objects may be nested 512 levels deep.
  ///
  /// - Throws: `JSONError` with the place of the first mistake.
  public init(parsing bytes: [UInt8]) throws(JSONError) {
    self = try bytes.withUnsafeBufferPointer { (buffer) throws(JSONError) in
      var parser = JSONParser(buffer)
      return try parser.parse()
    }
  }

  /// Reads text that holds one JSON value (RFC 8259).
  ///
  /// - Throws: `JSONError` with the place of the first mistake.
  public init(parsing text: String) throws(JSONError) {
    try self.init(parsing: Array(text.utf8))
  }
}
