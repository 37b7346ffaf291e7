import LosslessJSON
import SupabaseAPI

/// How two rows of a list stand to one another, as the server would order them.
struct ListOrder {
  private let order: [Order]

  init(_ order: [Order]) { self.order = order }

  /// Whether anything says where a row belongs.
  var isEmpty: Bool { order.isEmpty }

  /// Below, at or above zero; `nil` where only the server knows, also where a row lacks a column of the order.
  func compare(_ left: JSONObject, _ right: JSONObject) -> Int? {
    for part in order {
      guard let one = left[part.column], let other = right[part.column],
        let result = Self.compare(one, other, part)
      else { return nil }
      if result != 0 { return result }
    }
    return 0
  }

  /// Whether a row stands where it stood when its values become others.
  func isKept(_ before: JSONObject, _ after: JSONObject) -> Bool {
    order.allSatisfy { before[$0.column] == after[$0.column] }
  }

  private static func compare(_ left: JSONValue, _ right: JSONValue, _ part: Order) -> Int? {
    if left == right { return 0 }
    let isDescending = part.direction == .descending
    if left.isNull || right.isNull {
      // Without a word about them, rows without a value stand as if it were the greatest.
      let areFirst = part.nulls.map { $0 == .first } ?? isDescending
      return left.isNull == areFirst ? -1 : 1
    }
    return (ValueOrder.compare(left, right) ?? compareIdentifiers(left, right)).map { isDescending ? -$0 : $0 }
  }

  /// The order of two UUIDs as the server writes them, which every collation keeps: the same places are letters.
  private static func compareIdentifiers(_ left: JSONValue, _ right: JSONValue) -> Int? {
    guard let one = left.stringValue, let other = right.stringValue, isIdentifier(one), isIdentifier(other) else {
      return nil
    }
    return one < other ? -1 : one > other ? 1 : 0
  }

  private static func isIdentifier(_ text: String) -> Bool {
    let bytes = text.utf8
    guard bytes.count == 36 else { return false }
    return bytes.enumerated().allSatisfy { index, byte in
      [8, 13, 18, 23].contains(index)
        ? byte == UInt8(ascii: "-")
        : (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
          || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
  }
}
