import LosslessJSON
import Randomness

/// Rows that look like what people write, the same for the same seed on every machine.
struct SampleTasks {
  private static let verbs = ["Buy", "Call", "Repair", "Write to", "Paint", "Order", "Return", "Plan", "Clean", "Ask"]
  private static let things = [
    "oat milk", "the plumber", "the kitchen door", "Grandmother", "the fence", "winter tyres", "library books",
    "the crossing to Föhr", "the gutter", "the neighbour about the key",
  ]
  private static let words = [
    "before", "Thursday", "the", "blue", "one", "with", "two", "boxes", "not", "urgent", "ask", "first", "größer",
    "and",
    "cheaper", "than", "last", "year",
  ]

  var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func number(below bound: Int) -> Int { random.number(below: bound) }

  mutating func title() -> String {
    "\(Self.verbs[number(below: Self.verbs.count)]) \(Self.things[number(below: Self.things.count)]) "
      + String(number(below: 1_000_000))
  }

  mutating func notes() -> String {
    (0..<(4 + number(below: 16))).map { _ in Self.words[number(below: Self.words.count)] }.joined(separator: " ")
  }

  mutating func id() -> String {
    let digits = (hex(random.next()) + hex(random.next())).map { $0 }
    let text = String(digits)
    let part = { (from: Int, to: Int) in
      String(text.dropFirst(from).prefix(to - from))
    }
    return "\(part(0, 8))-\(part(8, 12))-4\(part(13, 16))-8\(part(17, 20))-\(part(20, 32))"
  }

  private func hex(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// A row with its key.
  mutating func row() -> JSONObject {
    [
      "id": .string(id()), "title": .string(title()), "notes": .string(notes()),
      "done": .bool(number(below: 4) == 0),
    ]
  }

  /// The text of a new file, without a key.
  mutating func newFile() -> String {
    let row: JSONObject = ["title": .string(title()), "notes": .string(notes())]
    return JSONValue.object(row).serialized(.pretty) + "\n"
  }
}
