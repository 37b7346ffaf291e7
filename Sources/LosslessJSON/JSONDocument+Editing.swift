extension JSONDocument {
  /// Returns the document with one top-level member set, every other byte as it was.
  ///
  /// A member that already has this value keeps its spelling. A missing member is inserted in the file's own style:
  /// its indentation, line ends, spaces around the colon and between members, and one line where the object has one.
  /// A document whose value is not an object comes back unchanged.
  ///
  /// - Parameters:
  ///   - name: The member's name.
  ///   - value: Its new value.
  ///   - previous: The member behind which a missing one is inserted; nil means first, an unknown name means last.
  public func setting(_ name: String, to value: JSONValue, after previous: String? = nil) -> JSONDocument {
    guard var object = self.value.objectValue else { return self }
    if let place = place(of: name) {
      guard object.members[place].value != value else { return self }
      object[name] = value
      return replacing(spans[place].value, with: render(value, inPlaceOf: spans[place].value), value: .object(object))
    }
    let member = renderMember(name, value)
    let place: Int
    if let previous {
      place = self.place(of: previous).map { $0 + 1 } ?? spans.count
    } else {
      place = 0
    }
    object.insert(value, named: name, at: place)
    if spans.isEmpty {
      return replacing(
        (body.lowerBound + 1)..<(body.upperBound - 1), with: firstMember(member), value: .object(object))
    }
    if place == 0 {
      let start = spans[0].name.lowerBound
      return replacing(start..<start, with: member + separator(after: 0), value: .object(object))
    }
    let end = spans[place - 1].value.upperBound
    return replacing(end..<end, with: separator(after: place - 1) + member, value: .object(object))
  }

  /// Returns the document without one top-level member and the comma that went with it.
  ///
  /// A document without that member, or whose value is not an object, comes back unchanged.
  public func removing(_ name: String) -> JSONDocument {
    guard var object = value.objectValue, let place = place(of: name) else { return self }
    object[name] = nil
    let gone: Range<Int>
    if spans.count == 1 {
      gone = (body.lowerBound + 1)..<(body.upperBound - 1)
    } else if place == 0 {
      gone = spans[0].name.lowerBound..<spans[1].name.lowerBound
    } else {
      gone = spans[place - 1].value.upperBound..<spans[place].value.upperBound
    }
    return replacing(gone, with: [], value: .object(object))
  }

  private func replacing(_ range: Range<Int>, with text: [UInt8], value: JSONValue) -> JSONDocument {
    var bytes = bytes
    bytes.replaceSubrange(range, with: text)
    return JSONDocument(bytes: bytes, value: value)
  }
}

/// How the file is laid out, read from the space between its members.
extension JSONDocument {
  /// The space before the first member, or before the closing bracket where there is none.
  private var lead: ArraySlice<UInt8> {
    let start = body.lowerBound + 1
    return bytes[start..<(spans.first?.name.lowerBound ?? max(start, body.upperBound - 1))]
  }

  /// Whether members stand on lines of their own.
  private var isMultiline: Bool {
    if JSONDocument.hasLineEnd(lead) { return true }
    guard spans.count > 1 else { return false }
    return JSONDocument.hasLineEnd(bytes[spans[0].value.upperBound..<spans[1].name.lowerBound])
  }

  private var lineEnd: String {
    guard let feed = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
      return bytes.contains(UInt8(ascii: "\r")) ? "\r" : "\n"
    }
    return feed > 0 && bytes[feed - 1] == UInt8(ascii: "\r") ? "\r\n" : "\n"
  }

  /// What the members are indented by.
  private var margin: [UInt8] {
    if JSONDocument.hasLineEnd(lead) { return JSONDocument.indentation(in: lead) }
    guard spans.count > 1 else { return [] }
    return JSONDocument.indentation(in: bytes[spans[0].value.upperBound..<spans[1].name.lowerBound])
  }

  /// What stands between a name and its value; a line end in there is no style to copy.
  private var colon: [UInt8] {
    guard let span = spans.first else { return Array(": ".utf8) }
    let text = bytes[span.name.upperBound..<span.value.lowerBound]
    return JSONDocument.hasLineEnd(text) ? Array(": ".utf8) : Array(text)
  }

  /// Whether the text is written without any space, as machines do.
  private var isDense: Bool {
    !isMultiline && lead.isEmpty && !spans.isEmpty && colon.count == 1
      && (spans.count < 2 || spans[1].name.lowerBound - spans[0].value.upperBound == 1)
  }

  /// The text that goes between a member and one inserted behind it: that of its neighbours, blank lines left out.
  private func separator(after place: Int) -> [UInt8] {
    guard spans.count > 1 else {
      if isMultiline { return [UInt8(ascii: ",")] + Array(lineEnd.utf8) + margin }
      return isDense ? [UInt8(ascii: ",")] : Array(", ".utf8)
    }
    let left = min(place, spans.count - 2)
    let text = bytes[spans[left].value.upperBound..<spans[left + 1].name.lowerBound]
    guard let comma = text.firstIndex(of: UInt8(ascii: ",")) else { return Array(", ".utf8) }
    return squeezed(text[..<comma]) + [UInt8(ascii: ",")] + squeezed(text[(comma + 1)...])
  }

  /// Space with at most one line end.
  private func squeezed(_ space: ArraySlice<UInt8>) -> [UInt8] {
    JSONDocument.hasLineEnd(space) ? Array(lineEnd.utf8) + JSONDocument.indentation(in: space) : Array(space)
  }

  /// What stands inside the brackets when an empty object gets its first member.
  private func firstMember(_ member: [UInt8]) -> [UInt8] {
    guard JSONDocument.hasLineEnd(lead) else {
      return lead.isEmpty ? member : Array(" ".utf8) + member + Array(" ".utf8)
    }
    let closing = JSONDocument.indentation(in: lead)
    let end = Array(lineEnd.utf8)
    return end + closing + Array("  ".utf8) + member + end + closing
  }

  private func renderMember(_ name: String, _ value: JSONValue) -> [UInt8] {
    JSONValue.string(name).serializedBytes() + colon + value.serializedBytes(style(onOneLine: !isMultiline))
  }

  /// Writes a new value, laid out as the one that it replaces.
  private func render(_ value: JSONValue, inPlaceOf old: Range<Int>) -> [UInt8] {
    let first = bytes[old.lowerBound]
    let wasContainer = old.count > 2 && (first == UInt8(ascii: "{") || first == UInt8(ascii: "["))
    let onOneLine = wasContainer ? !JSONDocument.hasLineEnd(bytes[old]) : !isMultiline
    return value.serializedBytes(style(onOneLine: onOneLine))
  }

  private func style(onOneLine: Bool) -> JSONStyle {
    if onOneLine { return isDense ? .compact : .oneLine }
    let margin = String(decoding: margin, as: UTF8.self)
    let indent = margin.isEmpty ? "  " : margin
    return JSONStyle(indent: indent, lineEnd: lineEnd, colon: String(decoding: colon, as: UTF8.self), margin: margin)
  }

  private static func hasLineEnd(_ text: ArraySlice<UInt8>) -> Bool {
    text.contains { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
  }

  /// The spaces and tabs behind the last line end; some people put the comma behind them.
  private static func indentation(in space: ArraySlice<UInt8>) -> [UInt8] {
    let end = space.lastIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    return end.map { Array(space[($0 + 1)...].prefix { $0 == 0x20 || $0 == 0x09 }) } ?? []
  }
}
