extension JSONValue: Hashable {
  /// Compares by meaning: strings by UTF-8 bytes, numbers by value, objects whatever their members' order.
  public static func == (left: JSONValue, right: JSONValue) -> Bool {
    guard let same = sameUnlessContainers(left, right) else {
      return sameContainers(left, right)
    }
    return same
  }

  /// Hashes by meaning; what is nested deeper than three levels counts by its kind and size alone.
  public func hash(into hasher: inout Hasher) {
    hash(into: &hasher, levels: 3)
  }

  /// Answers for all but two arrays or two objects of one size, for which the answer lies deeper.
  private static func sameUnlessContainers(_ left: JSONValue, _ right: JSONValue) -> Bool? {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.string(let left), .string(let right)): sameBytes(left, right)
    case (.array(let left), .array(let right)): left.count == right.count ? (left.isEmpty ? true : nil) : false
    case (.object(let left), .object(let right)): left.count == right.count ? (left.isEmpty ? true : nil) : false
    default: false
    }
  }

  /// Compares containers with a list of pairs still to be looked at, so that depth costs memory and never stack.
  private static func sameContainers(_ left: JSONValue, _ right: JSONValue) -> Bool {
    var pending = [(left, right)]
    while let (left, right) = pending.popLast() {
      switch (left, right) {
      case (.array(let left), .array(let right)):
        for index in left.indices {
          guard let same = sameUnlessContainers(left[index], right[index]) else {
            pending.append((left[index], right[index]))
            continue
          }
          guard same else { return false }
        }
      case (.object(let left), .object(let right)):
        for index in 0..<left.count {
          let member = left.members[index]
          guard let other = right.value(of: member.name, near: index) else { return false }
          guard let same = sameUnlessContainers(member.value, other) else {
            pending.append((member.value, other))
            continue
          }
          guard same else { return false }
        }
      default:
        return false
      }
    }
    return true
  }

  private func hash(into hasher: inout Hasher, levels: Int) {
    switch self {
    case .null:
      hasher.combine(0)
    case .bool(let value):
      hasher.combine(1)
      hasher.combine(value)
    case .number(let value):
      hasher.combine(2)
      hasher.combine(value)
    case .string(let value):
      hasher.combine(3)
      hashBytes(of: value, into: &hasher)
    case .array(let elements):
      hasher.combine(4)
      hasher.combine(elements.count)
      guard levels > 0 else { return }
      for element in elements { element.hash(into: &hasher, levels: levels - 1) }
    case .object(let object):
      hasher.combine(5)
      hasher.combine(object.count)
      guard levels > 0 else { return }
      // Members are hashed apart and added up, since their order does not count.
      var sum = 0
      for (name, value) in object.members {
        var member = Hasher()
        hashBytes(of: name, into: &member)
        value.hash(into: &member, levels: levels - 1)
        sum &+= member.finalize()
      }
      hasher.combine(sum)
    }
  }
}
