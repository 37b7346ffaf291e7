import Glibc

/// Takes a `multipart/form-data` body apart while it comes in (RFC 7578).
struct MultipartReader {
  /// What is known of a part when its bytes begin.
  struct Part: Equatable {
    let name: String
    /// `nil` for a field of the form, a text for a file, even an empty one.
    let filename: String?
    let contentType: String?
  }

  enum Event {
    case part(Part)
    case data(UnsafeRawBufferPointer)
    case end
  }

  /// The body is no such form.
  struct Malformed: Error {}

  private enum State {
    case preamble, delimiter, head, data, epilogue
  }

  private static let headBytesMax = 16 << 10
  private static let lineEnd: [UInt8] = [13, 10]

  private var state = State.preamble
  /// What was not taken apart yet.
  private var buffer: [UInt8] = MultipartReader.lineEnd
  private let delimiter: [UInt8]

  /// Whether the last delimiter was there.
  var isComplete: Bool { state == .epilogue }

  /// Reads the boundary out of a `Content-Type`; `nil` when the type is not `multipart/form-data`.
  init?(contentType: String) throws(Malformed) {
    let (type, parameters) = Self.parameters(contentType)
    guard type == "multipart/form-data" else { return nil }
    guard let boundary = parameters["boundary"], (1...200).contains(boundary.utf8.count) else { throw Malformed() }
    delimiter = Self.lineEnd + Array("--\(boundary)".utf8)
  }

  /// Takes the next piece and hands on what is in it.
  mutating func take(
    _ piece: UnsafeRawBufferPointer, _ hand: (Event) throws -> Void
  ) throws {
    if state == .epilogue { return }
    buffer.append(contentsOf: piece)
    var taken = buffer
    buffer = []
    let rest = try taken.withUnsafeBytes { try step(through: $0, hand) }
    taken.removeFirst(taken.count - rest)
    buffer = taken
  }

  /// Goes through what is there, and gives how many bytes at the end cannot be told yet.
  private mutating func step(
    through bytes: UnsafeRawBufferPointer, _ hand: (Event) throws -> Void
  ) throws -> Int {
    var place = 0
    while true {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[place...])
      switch state {
      case .preamble, .data:
        if let found = Self.find(delimiter, in: rest) {
          if state == .data {
            if found > 0 { try hand(.data(UnsafeRawBufferPointer(rebasing: rest[..<found]))) }
            try hand(.end)
          }
          place += found + delimiter.count
          state = .delimiter
        } else {
          // The beginning of a delimiter may be at the end.
          let sure = max(0, rest.count - delimiter.count + 1)
          if state == .data, sure > 0 { try hand(.data(UnsafeRawBufferPointer(rebasing: rest[..<sure]))) }
          return rest.count - sure
        }
      case .delimiter:
        guard rest.count >= 2 else { return rest.count }
        if rest[0] == UInt8(ascii: "-"), rest[1] == UInt8(ascii: "-") {
          state = .epilogue
          return 0
        }
        guard let end = Self.find(Self.lineEnd, in: rest) else {
          if rest.count > 256 { throw Malformed() }
          return rest.count
        }
        // The line end stays: a head without fields is the empty line alone.
        place += end
        state = .head
      case .head:
        guard let end = Self.find(Self.lineEnd + Self.lineEnd, in: rest) else {
          if rest.count > Self.headBytesMax { throw Malformed() }
          return rest.count
        }
        try hand(.part(Self.part(String(decoding: rest[..<end], as: UTF8.self))))
        place += end + 4
        state = .data
      case .epilogue: return 0
      }
    }
  }

  /// Where a text of at least one byte begins.
  private static func find(_ needle: [UInt8], in bytes: UnsafeRawBufferPointer) -> Int? {
    guard let start = bytes.baseAddress else { return nil }
    var place = 0
    while bytes.count - place >= needle.count {
      guard let found = memchr(start + place, Int32(needle[0]), bytes.count - place - needle.count + 1) else {
        return nil
      }
      place = UnsafeRawPointer(found) - start
      if memcmp(found, needle, needle.count) == 0 { return place }
      place += 1
    }
    return nil
  }

  private static func part(_ head: String) -> Part {
    var name = ""
    var filename: String?
    var contentType: String?
    for line in head.split(whereSeparator: \.isNewline) {
      guard let colon = line.firstIndex(of: ":") else { continue }
      let value = String(decoding: trimmedBytes(String(line[line.index(after: colon)...])), as: UTF8.self)
      if isSameFieldName(String(line[..<colon]), "Content-Type") { contentType = value }
      if isSameFieldName(String(line[..<colon]), "Content-Disposition") {
        let parameters = parameters(value).parameters
        name = parameters["name"] ?? ""
        filename = parameters["filename"]
      }
    }
    return Part(name: name, filename: filename, contentType: contentType)
  }

  /// The first word in lower case, and the parameters behind it with their quotes taken off.
  static func parameters(_ field: String) -> (word: String, parameters: [String: String]) {
    var parts: [String] = [""]
    var isQuoted = false
    var isEscaped = false
    for character in field {
      if isEscaped {
        parts[parts.count - 1].append(character)
        isEscaped = false
      } else if isQuoted, character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        isQuoted.toggle()
      } else if character == ";", !isQuoted {
        parts.append("")
      } else {
        parts[parts.count - 1].append(character)
      }
    }
    var found: [String: String] = [:]
    for part in parts.dropFirst() {
      guard let equals = part.firstIndex(of: "=") else { continue }
      let name = String(decoding: trimmedBytes(String(part[..<equals])), as: UTF8.self).lowercased()
      found[name] = String(part[part.index(after: equals)...])
    }
    return (String(decoding: trimmedBytes(parts[0]), as: UTF8.self).lowercased(), found)
  }
}
