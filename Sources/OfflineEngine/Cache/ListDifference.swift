/// What changes a list from one order of rows into another with the fewest rows moved.
enum ListDifference {
  /// Which rows of the new list are which of the old one.
  ///
  /// Rows are the same that have the same name; of several with one name the first is the first.
  ///
  /// - Returns: For each row of the new list its number in the old one; `nil` for one that was not there.
  static func matches(_ old: [String], _ new: [String]) -> [Int?] {
    var result: [Int?] = Array(repeating: nil, count: new.count)
    var start = 0
    while start < old.count, start < new.count, old[start] == new[start] {
      result[start] = start
      start += 1
    }
    var end = 0
    while end < min(old.count, new.count) - start, old[old.count - 1 - end] == new[new.count - 1 - end] {
      result[new.count - 1 - end] = old.count - 1 - end
      end += 1
    }
    var places: [String: [Int]] = [:]
    for index in (start..<old.count - end).reversed() { places[old[index], default: []].append(index) }
    for index in start..<new.count - end { result[index] = places[new[index]]?.popLast() }
    return result
  }

  /// The rows that keep their places: the most of them that are in the old order.
  ///
  /// - Parameter origins: For each row its number in the old order; `nil` for a new one.
  static func staying(_ origins: [Int?]) -> [Bool] {
    // Patience sorting: `tails[n]` ends the best run of n + 1 rows so far.
    var tails: [(origin: Int, index: Int)] = []
    var before: [Int?] = Array(repeating: nil, count: origins.count)
    for (index, origin) in origins.enumerated() {
      guard let origin else { continue }
      var (low, high) = (0, tails.count)
      if let last = tails.last, last.origin < origin { low = high }
      while low < high {
        let middle = (low + high) / 2
        if tails[middle].origin < origin { low = middle + 1 } else { high = middle }
      }
      before[index] = low > 0 ? tails[low - 1].index : nil
      if low == tails.count { tails.append((origin, index)) } else { tails[low] = (origin, index) }
    }
    var stays = Array(repeating: false, count: origins.count)
    var next = tails.last?.index
    while let index = next {
      stays[index] = true
      next = before[index]
    }
    return stays
  }
}
