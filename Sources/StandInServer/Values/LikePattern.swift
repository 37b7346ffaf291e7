/// A pattern of SQL's LIKE: `%` is any text, `_` one character, a backslash takes the next character as it is.
struct LikePattern {
  private enum Part: Equatable {
    case anyText
    case anyCharacter
    case character(Unicode.Scalar)
  }

  private let parts: [Part]
  private let ignoringCase: Bool

  /// Whether the pattern ends with a backslash that escapes nothing, which PostgreSQL refuses.
  let endsWithEscape: Bool

  init(_ pattern: String, ignoringCase: Bool) {
    self.ignoringCase = ignoringCase
    var parts: [Part] = []
    var isEscaped = false
    for scalar in pattern.unicodeScalars {
      if isEscaped {
        parts.append(.character(ignoringCase ? Self.folded(scalar) : scalar))
        isEscaped = false
        continue
      }
      switch scalar {
      case "\\": isEscaped = true
      case "%": if parts.last != .anyText { parts.append(.anyText) }
      case "_": parts.append(.anyCharacter)
      default: parts.append(.character(ignoringCase ? Self.folded(scalar) : scalar))
      }
    }
    self.parts = parts
    endsWithEscape = isEscaped
  }

  /// Whether the whole text fits.
  ///
  /// Goes back to the last `%` only, so the cost is at most text times pattern.
  func matches(_ text: String) -> Bool {
    let scalars = Array(text.unicodeScalars)
    var place = 0
    var part = 0
    var retry: (place: Int, part: Int)?
    while place < scalars.count {
      if part < parts.count, parts[part] == .anyText {
        retry = (place, part + 1)
        part += 1
      } else if part < parts.count, fits(parts[part], scalars[place]) {
        place += 1
        part += 1
      } else if let last = retry {
        retry = (last.place + 1, last.part)
        place = last.place + 1
        part = last.part
      } else {
        return false
      }
    }
    return parts[part...].allSatisfy { $0 == .anyText }
  }

  private func fits(_ part: Part, _ scalar: Unicode.Scalar) -> Bool {
    switch part {
    case .anyText: false
    case .anyCharacter: true
    case .character(let wanted): wanted == (ignoringCase ? Self.folded(scalar) : scalar)
    }
  }

  private static func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    let lower = scalar.properties.lowercaseMapping.unicodeScalars
    return lower.count == 1 ? lower[lower.startIndex] : scalar
  }
}
