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

  private let style: JSONStyle
  private(set) var output: [UInt8] = []

  init(style: JSONStyle) {
    self.style = style
  }

  /// Writes one value with everything in it.
  mutating func write(_ value: JSONValue) {
    var stack: [Open] = []
    writeScalar(or: value, opening: &stack)
    while var open = stack.popLast() {
      switch open.container {
      case .array(let elements):
        guard open.next < elements.count else {
          close(UInt8(ascii: "]"), depth: stack.count)
          continue
        }
        separate(isFirst: open.next == 0, depth: stack.count + 1)
        let element = elements[open.next]
        open.next += 1
        stack.append(open)
        writeScalar(or: element, opening: &stack)
      case .object(let object):
        guard open.next < object.count else {
          close(UInt8(ascii: "}"), depth: stack.count)
          continue
        }
        separate(isFirst: open.next == 0, depth: stack.count + 1)
        let member = object.members[open.next]
        open.next += 1
        stack.append(open)
        write(string: member.name)
        output.append(contentsOf: style.colon.utf8)
        writeScalar(or: member.value, opening: &stack)
      default:
        continue
      }
    }
  }

  /// Writes a value that has nothing inside, or opens one that has.
  private mutating func writeScalar(or value: JSONValue, opening stack: inout [Open]) {
    switch value {
    case .null: output.append(contentsOf: "null".utf8)
    case .bool(let flag): output.append(contentsOf: (flag ? "true" : "false").utf8)
    case .number(let number): output.append(contentsOf: number.text.utf8)
    case .string(let text): write(string: text)
    case .array(let elements):
      output.append(UInt8(ascii: "["))
      if elements.isEmpty { output.append(UInt8(ascii: "]")) } else { stack.append(Open(container: value, next: 0)) }
    case .object(let object):
      output.append(UInt8(ascii: "{"))
      if object.isEmpty { output.append(UInt8(ascii: "}")) } else { stack.append(Open(container: value, next: 0)) }
    }
  }

  /// Writes a string in quotes, escaping only quotes, backslashes and control characters.
  mutating func write(string: String) {
    output.append(UInt8(ascii: "\""))
    let done: Void? = string.utf8.withContiguousStorageIfAvailable { bytes in
      var start = 0
      for index in bytes.indices {
        guard let escape = JSONSerializer.escape(of: bytes[index]) else { continue }
        output.append(contentsOf: bytes[start..<index])
        output.append(contentsOf: escape)
        start = index + 1
      }
      output.append(contentsOf: bytes[start...])
    }
    if done == nil {
      for byte in string.utf8 { output.append(contentsOf: JSONSerializer.escape(of: byte) ?? [byte]) }
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

  /// Returns how a byte is written in a string, or nil where it stands for itself.
  private static func escape(of byte: UInt8) -> [UInt8]? {
    switch byte {
    case UInt8(ascii: "\""): return Array(#"\""#.utf8)
    case UInt8(ascii: "\\"): return Array(#"\\"#.utf8)
    case 0x20...: return nil
    case 0x08: return Array(#"\b"#.utf8)
    case 0x09: return Array(#"\t"#.utf8)
    case 0x0A: return Array(#"\n"#.utf8)
    case 0x0C: return Array(#"\f"#.utf8)
    case 0x0D: return Array(#"\r"#.utf8)
    default:
      let digits = Array("0123456789abcdef".utf8)
      return Array(#"\u00"#.utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
  }
}
