/// Which lines of two texts belong to each other, and which were taken out or put in.
///
/// Myers' algorithm in linear space ("An O(ND) Difference Algorithm and Its Variations", 1986). Of the shortest
/// differences it takes the one that git takes, so that a merge comes out as a person who knows git expects: lines
/// without a match are set aside first, with the frequent ones among them, and a change that could lie at several places
/// lies where the other text has one, else as far down as it can.
struct LineDiff: Sendable {
  /// One change: these lines of the old text became those of the new one.
  struct Change: Sendable, Hashable {
    var old: Range<Int>
    var new: Range<Int>
  }

  /// The changes in order; between two of them there is at least one line in both texts.
  let changes: [Change]

  /// Compares two texts, given as the numbers of their lines.
  init(_ old: [Int], _ new: [Int]) {
    var sides = [ChangedLines(old), ChangedLines(new)]
    Self.compare(&sides)
    sides[0].compact(beside: sides[1])
    sides[1].compact(beside: sides[0])
    changes = Self.changes(sides[0], sides[1])
  }

  private static func changes(_ old: ChangedLines, _ new: ChangedLines) -> [Change] {
    var changes: [Change] = []
    var (left, right) = (0, 0)
    while true {
      let (oldStart, newStart) = (left, right)
      while left < old.count, old.isChanged[left] { left += 1 }
      while right < new.count, new.isChanged[right] { right += 1 }
      if left > oldStart || right > newStart { changes.append(Change(old: oldStart..<left, new: newStart..<right)) }
      guard left < old.count, right < new.count else { return changes }
      left += 1
      right += 1
    }
  }

  // MARK: Which lines to compare

  /// Marks the lines that have no partner in the other text.
  private static func compare(_ sides: inout [ChangedLines]) {
    let (old, new) = (sides[0].numbers, sides[1].numbers)
    let least = min(old.count, new.count)
    var start = 0
    while start < least, old[start] == new[start] { start += 1 }
    var end = 0
    while end < least - start, old[old.count - 1 - end] == new[new.count - 1 - end] { end += 1 }
    let counts = [occurrences(old), occurrences(new)]
    var kept: [[Int]] = []
    for side in 0...1 {
      let inner = start..<sides[side].count - end
      let candidates = Candidates(sides[side].numbers, inner, occurrencesInOther: counts[1 - side])
      kept.append(candidates.kept)
      for line in candidates.dropped { sides[side].isChanged[line] = true }
    }
    var search = ShortestPath(kept[0].map { old[$0] }, kept[1].map { new[$0] })
    search.run()
    for line in search.oldChanged { sides[0].isChanged[kept[0][line]] = true }
    for line in search.newChanged { sides[1].isChanged[kept[1][line]] = true }
  }

  private static func occurrences(_ numbers: [Int]) -> [Int: Int] {
    var counts: [Int: Int] = [:]
    for number in numbers { counts[number, default: 0] += 1 }
    return counts
  }
}

/// Which lines of a text are worth comparing: those that the other text has, too.
///
/// Lines that it has very often, such as blank ones, say little: among many lines that it does not have they are left
/// out as well, so that a rewritten passage is one change and not torn at its blank lines.
private struct Candidates {
  var kept: [Int] = []
  var dropped: [Int] = []

  private enum Weight { case none, frequent, telling }

  /// How far around a frequent line its neighbours are looked at.
  private static let window = 100
  /// A frequent line goes when fewer than one in so many of its neighbours are frequent themselves.
  private static let share = 4

  init(_ numbers: [Int], _ inner: Range<Int>, occurrencesInOther: [Int: Int]) {
    // The square root, to a power of two.
    var limit = 1
    var rest = numbers.count
    while rest > 0 {
      limit <<= 1
      rest >>= 2
    }
    limit = min(limit, 1_024)
    let weights = inner.map { line -> Weight in
      let count = occurrencesInOther[numbers[line]] ?? 0
      return count == 0 ? .none : count >= limit ? .frequent : .telling
    }
    for (index, weight) in weights.enumerated() {
      let isKept = weight == .telling || weight == .frequent && !Self.isLost(index, weights)
      if isKept { kept.append(inner.lowerBound + index) } else { dropped.append(inner.lowerBound + index) }
    }
  }

  /// Whether a frequent line stands among lines without a match, before it and behind it.
  private static func isLost(_ index: Int, _ weights: [Weight]) -> Bool {
    let before = run(weights[max(0, index - window)..<index].reversed())
    guard before.none > 0 else { return false }
    let behind = run(weights[index + 1..<min(weights.count, index + 1 + window)])
    guard behind.none > 0 else { return false }
    let (frequent, none) = (before.frequent + behind.frequent + 2, before.none + behind.none)
    return frequent * share < frequent + none
  }

  private static func run(_ weights: some Sequence<Weight>) -> (none: Int, frequent: Int) {
    var counts = (none: 0, frequent: 0)
    for weight in weights {
      switch weight {
      case .none: counts.none += 1
      case .frequent: counts.frequent += 1
      case .telling: return counts
      }
    }
    return counts
  }
}

/// A shortest way from one sequence to the other, found from both ends at once.
private struct ShortestPath {
  /// A part of both sequences, still to be compared.
  private struct Box {
    var old: Range<Int>
    var new: Range<Int>
  }

  private let old: [Int]
  private let new: [Int]
  private(set) var oldChanged: [Int] = []
  private(set) var newChanged: [Int] = []
  /// How far along the old sequence each diagonal is reached: from the start, and from the end.
  private var forward: [Int]
  private var backward: [Int]
  /// What is added to a diagonal's number to find its place in the two.
  private let offset: Int
  /// From how many steps on a good way is taken for the shortest: it bounds the time for long, very different texts.
  private let stepsMax: Int

  /// About how many steps in all one comparison may cost.
  private static let effort = 1 << 24
  private static let stepsLeast = 64

  init(_ old: [Int], _ new: [Int]) {
    self.old = old
    self.new = new
    let count = old.count + new.count + 3
    forward = Array(repeating: 0, count: count)
    backward = Array(repeating: 0, count: count)
    offset = new.count + 1
    stepsMax = max(Self.stepsLeast, Self.effort / count)
  }

  mutating func run() {
    var boxes = [Box(old: 0..<old.count, new: 0..<new.count)]
    while let whole = boxes.popLast() {
      let box = trimmed(whole)
      if box.old.isEmpty {
        newChanged += box.new
      } else if box.new.isEmpty {
        oldChanged += box.old
      } else {
        let (left, right) = middle(of: box)
        boxes.append(Box(old: box.old.lowerBound..<left, new: box.new.lowerBound..<right))
        boxes.append(Box(old: left..<box.old.upperBound, new: right..<box.new.upperBound))
      }
    }
  }

  private func trimmed(_ box: Box) -> Box {
    var (left, right) = (box.old.lowerBound, box.new.lowerBound)
    var (leftEnd, rightEnd) = (box.old.upperBound, box.new.upperBound)
    while left < leftEnd, right < rightEnd, old[left] == new[right] {
      left += 1
      right += 1
    }
    while left < leftEnd, right < rightEnd, old[leftEnd - 1] == new[rightEnd - 1] {
      leftEnd -= 1
      rightEnd -= 1
    }
    return Box(old: left..<leftEnd, new: right..<rightEnd)
  }

  /// A point on a shortest way through a box of which neither side is empty.
  private mutating func middle(of box: Box) -> (old: Int, new: Int) {
    let least = box.old.lowerBound - box.new.upperBound
    let most = box.old.upperBound - box.new.lowerBound
    let start = box.old.lowerBound - box.new.lowerBound
    let end = box.old.upperBound - box.new.upperBound
    let isOdd = (start - end) & 1 != 0
    var (low, high) = (start, start)
    var (lowBack, highBack) = (end, end)
    forward[offset + start] = box.old.lowerBound
    backward[offset + end] = box.old.upperBound
    var steps = 0
    while true {
      steps += 1
      if low > least {
        low -= 1
        forward[offset + low - 1] = -1
      } else {
        low += 1
      }
      if high < most {
        high += 1
        forward[offset + high + 1] = -1
      } else {
        high -= 1
      }
      for diagonal in stride(from: high, through: low, by: -2) {
        let place = offset + diagonal
        var left = forward[place - 1] >= forward[place + 1] ? forward[place - 1] + 1 : forward[place + 1]
        while left < box.old.upperBound, left - diagonal < box.new.upperBound, old[left] == new[left - diagonal] {
          left += 1
        }
        forward[place] = left
        if isOdd, lowBack <= diagonal, diagonal <= highBack, backward[place] <= left { return (left, left - diagonal) }
      }
      if lowBack > least {
        lowBack -= 1
        backward[offset + lowBack - 1] = .max
      } else {
        lowBack += 1
      }
      if highBack < most {
        highBack += 1
        backward[offset + highBack + 1] = .max
      } else {
        highBack -= 1
      }
      for diagonal in stride(from: highBack, through: lowBack, by: -2) {
        let place = offset + diagonal
        var left = backward[place - 1] < backward[place + 1] ? backward[place - 1] : backward[place + 1] - 1
        while left > box.old.lowerBound, left - diagonal > box.new.lowerBound, old[left - 1] == new[left - diagonal - 1]
        {
          left -= 1
        }
        backward[place] = left
        if !isOdd, low <= diagonal, diagonal <= high, left <= forward[place] { return (left, left - diagonal) }
      }
      if steps >= stepsMax {
        return farthest(
          box, stride(from: high, through: low, by: -2), stride(from: highBack, through: lowBack, by: -2))
      }
    }
  }

  /// The point that is farthest on the way from either end.
  private func farthest(
    _ box: Box, _ forwardDiagonals: StrideThrough<Int>, _ backwardDiagonals: StrideThrough<Int>
  ) -> (old: Int, new: Int) {
    var ahead = (old: box.old.lowerBound, new: box.new.lowerBound)
    for diagonal in forwardDiagonals {
      var left = min(forward[offset + diagonal], box.old.upperBound)
      if left - diagonal > box.new.upperBound { left = box.new.upperBound + diagonal }
      if left + left - diagonal > ahead.old + ahead.new { ahead = (left, left - diagonal) }
    }
    var behind = (old: box.old.upperBound, new: box.new.upperBound)
    for diagonal in backwardDiagonals {
      var left = max(backward[offset + diagonal], box.old.lowerBound)
      if left - diagonal < box.new.lowerBound { left = box.new.lowerBound + diagonal }
      if left + left - diagonal < behind.old + behind.new { behind = (left, left - diagonal) }
    }
    let isAhead =
      ahead.old + ahead.new - box.old.lowerBound - box.new.lowerBound
      > box.old.upperBound + box.new.upperBound - behind.old - behind.new
    return isAhead ? ahead : behind
  }
}

/// The lines of one text, and which of them have no partner in the other.
private struct ChangedLines {
  let numbers: [Int]
  var isChanged: [Bool]

  var count: Int { numbers.count }

  init(_ numbers: [Int]) {
    self.numbers = numbers
    isChanged = Array(repeating: false, count: numbers.count)
  }

  /// A run of changed lines between two that are not; the n-th of one text lies at the n-th of the other.
  struct Group {
    var start: Int
    var end: Int
    var isEmpty: Bool { start == end }
  }

  func firstGroup() -> Group { group(from: 0) }

  private func group(from start: Int) -> Group {
    var end = start
    while end < count, isChanged[end] { end += 1 }
    return Group(start: start, end: end)
  }

  func next(after group: Group) -> Group? { group.end < count ? self.group(from: group.end + 1) : nil }

  func previous(before group: Group) -> Group? {
    guard group.start > 0 else { return nil }
    let end = group.start - 1
    var start = end
    while start > 0, isChanged[start - 1] { start -= 1 }
    return Group(start: start, end: end)
  }

  /// Moves a group one line up, where that makes no difference, and joins it with one that it meets.
  private mutating func slideUp(_ group: inout Group) -> Bool {
    guard group.start > 0, numbers[group.start - 1] == numbers[group.end - 1] else { return false }
    group.start -= 1
    group.end -= 1
    isChanged[group.start] = true
    isChanged[group.end] = false
    while group.start > 0, isChanged[group.start - 1] { group.start -= 1 }
    return true
  }

  /// Moves a group one line down, where that makes no difference, and joins it with one that it meets.
  private mutating func slideDown(_ group: inout Group) -> Bool {
    guard group.end < count, numbers[group.start] == numbers[group.end] else { return false }
    isChanged[group.start] = false
    isChanged[group.end] = true
    group.start += 1
    group.end += 1
    while group.end < count, isChanged[group.end] { group.end += 1 }
    return true
  }

  /// Puts every group where the other text has one, if it can lie there, else as far down as it can.
  mutating func compact(beside other: ChangedLines) {
    var current: Group? = firstGroup()
    var beside: Group? = other.firstGroup()
    while var group = current, var otherGroup = beside {
      if !group.isEmpty { place(&group, &otherGroup, other) }
      current = next(after: group)
      beside = other.next(after: otherGroup)
    }
  }

  private mutating func place(_ group: inout Group, _ otherGroup: inout Group, _ other: ChangedLines) {
    var highest: Int
    var matching: Int?
    var size: Int
    repeat {
      size = group.end - group.start
      while slideUp(&group) { otherGroup = other.previous(before: otherGroup) ?? otherGroup }
      highest = group.end
      matching = otherGroup.isEmpty ? nil : group.end
      while slideDown(&group) {
        otherGroup = other.next(after: otherGroup) ?? otherGroup
        if !otherGroup.isEmpty { matching = group.end }
      }
    } while size != group.end - group.start
    guard highest != group.end, matching != nil else { return }
    while otherGroup.isEmpty, slideUp(&group) { otherGroup = other.previous(before: otherGroup) ?? otherGroup }
  }
}
