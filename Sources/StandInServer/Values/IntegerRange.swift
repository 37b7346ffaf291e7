/// A range of integers as PostgreSQL's `int4range` holds it: from a number up to but without another.
struct IntegerRange: Equatable {
  /// The first number, `nil` for no bound; the first number behind, `nil` for no bound.
  private let lower: Int64?
  private let upper: Int64?
  private let isEmpty: Bool

  /// What a text can be wrong in.
  enum Fault: Error {
    case malformed
    case order
    case outOfRange(String)
    case notANumber(String)
  }

  /// Reads `[1,5)`, `(,7]` or `empty`.
  init(_ text: String) throws(Fault) {
    let trimmed = String(decoding: trimmedBytes(text), as: UTF8.self)
    if trimmed.lowercased() == "empty" {
      (lower, upper, isEmpty) = (nil, nil, true)
      return
    }
    guard let open = trimmed.first, let close = trimmed.last, "[(".contains(open), "])".contains(close) else {
      throw .malformed
    }
    let parts = trimmed.dropFirst().dropLast().split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw .malformed }
    var lower = try Self.bound(parts[0])
    var upper = try Self.bound(parts[1])
    if let lower, let upper, lower > upper { throw .order }
    // An infinite bound is never part of the range.
    if open == "(" { lower = lower.map { $0 + 1 } }
    if close == "]" { upper = upper.map { $0 + 1 } }
    if let upper, upper > Int64(Int32.max) { throw .outOfRange(String(upper)) }
    isEmpty = lower.flatMap { lower in upper.map { lower >= $0 } } ?? false
    (self.lower, self.upper) = isEmpty ? (nil, nil) : (lower, upper)
  }

  private static func bound(_ text: Substring) throws(Fault) -> Int64? {
    let inner = text.first == "\"" && text.last == "\"" && text.count >= 2 ? text.dropFirst().dropLast() : text
    guard !inner.isEmpty else { return nil }
    guard let number = Int64(String(decoding: trimmedBytes(String(inner)), as: UTF8.self)) else {
      throw .notANumber(String(inner))
    }
    guard Int32(exactly: number) != nil else { throw .outOfRange(String(inner)) }
    return number
  }

  /// The canonical text: `[1,5)`.
  var text: String {
    guard !isEmpty else { return "empty" }
    return "\(lower == nil ? "(" : "[")\(lower.map(String.init) ?? ""),\(upper.map(String.init) ?? ""))"
  }

  /// Bytes whose order is PostgreSQL's: the empty range first, then by the lower and then the upper bound.
  var sortKey: [UInt8] {
    guard !isEmpty else { return [0] }
    func bytes(_ number: Int64) -> [UInt8] {
      let shifted = UInt64(bitPattern: number) ^ (1 << 63)
      return stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: shifted >> $0) }
    }
    return [1] + bytes(lower ?? .min) + bytes(upper ?? .max)
  }

  /// What an operator of PostgREST says of two ranges.
  func holds(_ name: String, _ other: IntegerRange) -> Bool {
    switch name {
    case "cs": return other.isEmpty || !isEmpty && first <= other.first && end >= other.end
    case "cd": return other.holds("cs", self)
    default: break
    }
    guard !isEmpty, !other.isEmpty else { return false }
    switch name {
    case "ov": return first < other.end && other.first < end
    case "sl": return end <= other.first
    case "sr": return first >= other.end
    case "nxr": return end <= other.end
    case "nxl": return first >= other.first
    case "adj": return end == other.first || first == other.end
    default: return false
    }
  }

  private var first: Int64 { lower ?? .min }
  private var end: Int64 { upper ?? .max }
}

/// PostgreSQL's `tsvector`, which the stand-in keeps and shows but does not search.
enum TextSearchVector {
  /// The text with its words in order, each once, with their positions; `nil` for a text that is none.
  static func normalised(_ text: String) -> String? {
    var rest = Array(text.unicodeScalars)[...]
    var words: [String: Set<String>] = [:]
    while true {
      while let scalar = rest.first, scalar.properties.isWhitespace { rest.removeFirst() }
      guard !rest.isEmpty else { break }
      guard let word = word(&rest) else { return nil }
      var positions = words[word] ?? []
      if rest.first == ":" {
        repeat {
          rest.removeFirst()
          let position = String(
            String.UnicodeScalarView(rest.prefix { $0.properties.isAlphabetic || $0.value < 58 && $0.value > 47 }))
          guard position.first?.isNumber == true else { return nil }
          rest = rest.dropFirst(position.unicodeScalars.count)
          // D is the weight of a word without one.
          positions.insert(position.uppercased().filter { $0 != "D" })
        } while rest.first == ","
      }
      words[word] = positions
    }
    return words.sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }.map { word, positions in
      let quoted = "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
      guard !positions.isEmpty else { return quoted }
      let sorted = positions.sorted {
        (Int($0.prefix(while: \.isNumber)) ?? 0) < (Int($1.prefix(while: \.isNumber)) ?? 0)
      }
      return "\(quoted):\(sorted.joined(separator: ","))"
    }.joined(separator: " ")
  }

  private static func word(_ rest: inout ArraySlice<Unicode.Scalar>) -> String? {
    var found = String.UnicodeScalarView()
    if rest.first == "'" {
      rest.removeFirst()
      while let scalar = rest.popFirst() {
        if scalar == "'" {
          guard rest.first == "'" else { return found.isEmpty ? nil : String(found) }
          rest.removeFirst()
        }
        found.append(scalar)
      }
      return nil
    }
    while let scalar = rest.first, !scalar.properties.isWhitespace, scalar != ":" { found.append(rest.removeFirst()) }
    return found.isEmpty ? nil : String(found)
  }
}
