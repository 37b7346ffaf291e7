extension JSONValue {
  /// Returns the value as JSON text: numbers as they were written, no character escaped that need not be.
  public func serialized(_ style: JSONStyle = .compact) -> String {
    String(decoding: serializedBytes(style), as: UTF8.self)
  }

  /// Returns the value as the UTF-8 bytes of its JSON text.
  public func serializedBytes(_ style: JSONStyle = .compact) -> [UInt8] {
    var serializer = JSONSerializer(style: style)
    serializer.write(self)
    return serializer.output
  }
}

/// Writes values as text, with a stack of its own instead of recursion.
struct JSONSerializer {
  /// A container that has been opened, and how far it has been written.
  private struct Open {
    var container: JSONValue
    var next: Int
  }

  /// Room for a row, so that writing one allocates once.
  private static let usualBytes = 512

  private let style: JSONStyle
  private(set) var output: [UInt8] = []

  init(style: JSONStyle) {
    self.style = style
    output.reserveCapacity(Self.usualBytes)
  }

  /// Writes one value with everything in it.
  mutating func write(_ value: JSONValue) {
    guard !writeWhole(value) else { return }
    var stack = [Open(container: value, next: 0)]
    while let top = stack.popLast() {
      let inner =
        switch top.container {
        case .array(let elements): writeElements(elements, from: top.next, depth: stack.count)
        case .object(let object): writeMembers(object.members, from: top.next, depth: stack.count)
        default: Inner?.none
        }
      guard let inner else { continue }
      stack.append(Open(container: top.container, next: inner.next))
      stack.append(Open(container: inner.container, next: 0))
    }
  }

  /// A container that has to be written before the one around it can go on.
  private struct Inner {
    var container: JSONValue
    var next: Int
  }

  private mutating func writeElements(_ elements: [JSONValue], from first: Int, depth: Int) -> Inner? {
    for index in first..<elements.count {
      separate(isFirst: index == 0, depth: depth + 1)
      if !writeWhole(elements[index]) { return Inner(container: elements[index], next: index + 1) }
    }
    close(UInt8(ascii: "]"), depth: depth)
    return nil
  }

  private mutating func writeMembers(
    _ members: [(name: String, value: JSONValue)], from first: Int, depth: Int
  ) -> Inner? {
    for index in first..<members.count {
      separate(isFirst: index == 0, depth: depth + 1)
      write(string: members[index].name)
      output.append(contentsOf: style.colon.utf8)
      if !writeWhole(members[index].value) { return Inner(container: members[index].value, next: index + 1) }
    }
    close(UInt8(ascii: "}"), depth: depth)
    return nil
  }

  /// Writes a value that has nothing inside and returns true; or the opening bracket of one that has.
  private mutating func writeWhole(_ value: JSONValue) -> Bool {
    switch value {
    case .null: output.append(contentsOf: "null".utf8)
    case .bool(let flag): output.append(contentsOf: (flag ? "true" : "false").utf8)
    case .number(let number): output.append(contentsOf: number.text.utf8)
    case .string(let text): write(string: text)
    case .array(let elements):
      output.append(UInt8(ascii: "["))
      guard elements.isEmpty else { return false }
      output.append(UInt8(ascii: "]"))
    case .object(let object):
      output.append(UInt8(ascii: "{"))
      guard object.isEmpty else { return false }
      output.append(UInt8(ascii: "}"))
    }
    return true
  }

  /// Writes a string in quotes, escaping only quotes, backslashes and control characters.
  mutating func write(string: String) {
    output.append(UInt8(ascii: "\""))
    let done: Void? = string.utf8.withContiguousStorageIfAvailable { bytes in
      var start = 0
      for index in bytes.indices {
        guard JSONSerializer.needsEscape(bytes[index]) else { continue }
        output.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<index]))
        writeEscape(of: bytes[index])
        start = index + 1
      }
      output.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start...]))
    }
    if done == nil {
      for byte in string.utf8 {
        if JSONSerializer.needsEscape(byte) { writeEscape(of: byte) } else { output.append(byte) }
      }
    }
    output.append(UInt8(ascii: "\""))
  }

  private mutating func separate(isFirst: Bool, depth: Int) {
    guard style.indent != nil else {
      if !isFirst { output.append(contentsOf: style.comma.utf8) }
      return
    }
    if !isFirst { output.append(UInt8(ascii: ",")) }
    startLine(depth: depth)
  }

  private mutating func close(_ bracket: UInt8, depth: Int) {
    if style.indent != nil { startLine(depth: depth) }
    output.append(bracket)
  }

  private mutating func startLine(depth: Int) {
    output.append(contentsOf: style.lineEnd.utf8)
    output.append(contentsOf: style.margin.utf8)
    guard let indent = style.indent else { return }
    for _ in 0..<depth { output.append(contentsOf: indent.utf8) }
  }

  private static func needsEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  /// Writes a byte that does not stand for itself in a string; byte by byte, since a text of JSON is full of quotes.
  private mutating func writeEscape(of byte: UInt8) {
    output.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.append(byte)
    case 0x08: output.append(UInt8(ascii: "b"))
    case 0x09: output.append(UInt8(ascii: "t"))
    case 0x0A: output.append(UInt8(ascii: "n"))
    case 0x0C: output.append(UInt8(ascii: "f"))
    case 0x0D: output.append(UInt8(ascii: "r"))
    default:
      output.append(contentsOf: "u00".utf8)
      for digit in [byte >> 4, byte & 15] { output.append(digit < 10 ? 0x30 + digit : 0x57 + digit) }
    }
  }
}
