import LosslessJSON

/// JSON whose objects may name a member twice, where the last one counts, as PostgreSQL reads it.
///
/// `LosslessJSON` refuses such text on purpose. Here each repeated name is made unique first: the text is walked once,
/// and of two equal names in one object the earlier member is taken out.
enum LenientJSON {
  static func parse(_ bytes: [UInt8]) -> JSONValue? {
    var bytes = bytes
    // Each round takes one member out; a body with very many repeats is no honest request.
    for _ in 0..<1_000 {
      do {
        return try JSONValue(parsing: bytes)
      } catch {
        guard case .duplicateName(let name) = error.kind,
          let range = earlierMember(named: name, before: error.position.offset, in: bytes)
        else { return nil }
        bytes.removeSubrange(range)
      }
    }
    return nil
  }

  /// Where the earlier member of that name stands in the object around `offset`, its comma with it.
  private static func earlierMember(named name: String, before offset: Int, in bytes: [UInt8]) -> Range<Int>? {
    // Members of the objects that are open, each with the place where it begins.
    var open: [[(name: [UInt8], start: Int)]] = []
    var isName: [Bool] = []
    var place = 0
    while place < min(offset, bytes.count) {
      switch bytes[place] {
      case UInt8(ascii: "{"):
        open.append([])
        isName.append(true)
      case UInt8(ascii: "["):
        open.append([])
        isName.append(false)
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        _ = open.popLast()
        _ = isName.popLast()
      case UInt8(ascii: "\""):
        let start = place
        place += 1
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
          place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        if isName.last == true, isFollowedByColon(place + 1, bytes) {
          open[open.count - 1].append((Array(bytes[(start + 1)..<place]), start))
        }
      default: break
      }
      place += 1
    }
    guard let members = open.last, let index = members.firstIndex(where: { unescaped($0.name) == name }) else {
      return nil
    }
    let end = index + 1 < members.count ? members[index + 1].start : offset
    return members[index].start..<end
  }

  private static func isFollowedByColon(_ place: Int, _ bytes: [UInt8]) -> Bool {
    bytes[min(place, bytes.count)...].first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: ":")
  }

  private static func unescaped(_ name: [UInt8]) -> String? {
    try? JSONValue(parsing: [UInt8(ascii: "\"")] + name + [UInt8(ascii: "\"")]).stringValue
  }
}
