import LosslessJSON
import Randomness

/// Values and texts by chance, so that one number repeats one run.
extension SeededRandom {
  mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &self)]
  }

  mutating func text() -> String {
    let pieces = [
      "a", "B", "0", " ", "\"", "\\", "/", "\n", "\r\n", "\t", "\u{0}", "\u{1F}", "\u{7F}", "é", "e\u{301}", "ß", "日本",
      "👩‍👩‍👧", "\u{2028}", "\u{FEFF}", "\u{10FFFF}", "plain words that are long",
    ]
    return (0..<Int.random(in: 0...5, using: &self)).map { _ in pick(pieces) }.joined()
  }

  mutating func numberText() -> String {
    var text = Bool.random(using: &self) ? "-" : ""
    text += pick(["0", "1", "10", "7", "120", "999999999999999999999999", "5000"])
    if Bool.random(using: &self) { text += "." + pick(["0", "1", "10", "05", "999", "000000000000000000000001"]) }
    if Bool.random(using: &self) {
      text += pick(["e", "E"]) + pick(["", "+", "-"])
      text += pick(["0", "1", "01", "2", "400", "999999999999999999", "99999999999999999999999999"])
    }
    return text
  }

  mutating func value(levels: Int = 4) -> JSONValue {
    switch Int.random(in: 0..<(levels > 0 ? 8 : 5), using: &self) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &self))
    case 2: return JSONNumber(numberText()).map { .number($0) } ?? .null
    case 3, 4: return .string(text())
    case 5: return .array((0..<Int.random(in: 0...4, using: &self)).map { _ in value(levels: levels - 1) })
    default: return .object(object(levels: levels - 1))
    }
  }

  mutating func object(levels: Int = 3) -> JSONObject {
    let count = Int.random(in: 0..<20, using: &self) == 0 ? 40 : Int.random(in: 0...5, using: &self)
    return JSONObject((0..<count).map { _ in (name: text(), value: value(levels: levels)) })
  }

  /// Text that says `value`, with spaces and escapes put in at random.
  mutating func messy(_ value: JSONValue) -> String {
    switch value {
    case .null, .bool, .number: return space() + value.serialized() + space()
    case .string(let text): return space() + messy(text) + space()
    case .array(let elements): return space() + "[" + elements.map { messy($0) }.joined(separator: ",") + "]" + space()
    case .object(let object):
      let members = object.members.map { space() + messy($0.name) + space() + ":" + messy($0.value) }
      return space() + "{" + members.joined(separator: ",") + "}" + space()
    }
  }

  private mutating func space() -> String { pick(["", "", "", " ", "\n", "\r\n", "\t", "\r", "\n\n  "]) }

  private mutating func messy(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      let mustEscape = scalar == "\"" || scalar == "\\" || scalar.value < 0x20
      guard mustEscape || Int.random(in: 0..<4, using: &self) == 0 else {
        result.unicodeScalars.append(scalar)
        continue
      }
      for unit in String(scalar).utf16 {
        let digits = String(unit, radix: 16, uppercase: Bool.random(using: &self))
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
    return result + "\""
  }
}
