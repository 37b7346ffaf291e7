/// Numbers that order the rows of a list, with room between them for rows to come.
enum ListPlaces {
  /// The room beside a row that comes last or first.
  static let gap: Int64 = 1 << 20
  /// The room that rows get when they must make some.
  static let roomy: Int64 = 1 << 8

  /// Places for as many rows between two others, evenly spaced.
  ///
  /// - Parameters:
  ///   - low: The place before them; `nil` for none.
  ///   - high: The place behind them; `nil` for none.
  ///   - step: The least room between two places.
  /// - Returns: `nil` where there is not that much room.
  static func between(_ low: Int64?, _ high: Int64?, count: Int, step: Int64 = 1) -> [Int64]? {
    let count = Int64(count)
    switch (low, high) {
    case (nil, nil): return (0..<count).map { $0 * gap }
    case (let low?, nil): return (0..<count).map { low + ($0 + 1) * gap }
    case (nil, let high?): return (0..<count).map { high - (count - $0) * gap }
    case (let low?, let high?):
      let room = (high - low) / (count + 1)
      return room < step ? nil : (0..<count).map { low + ($0 + 1) * room }
    }
  }

  /// Gives places to those that have none, in order with the others.
  ///
  /// Where there is no room the neighbours make some, as few of them as will do.
  static func filled(_ places: [Int64?]) -> [Int64] {
    var result: [Int64?] = places
    var index = 0
    while index < result.count {
      guard result[index] == nil else {
        index += 1
        continue
      }
      let end = result[index...].firstIndex { $0 != nil } ?? result.count
      var (start, stop, step) = (index, end, Int64(1))
      while true {
        let low = start > 0 ? result[start - 1] : nil
        let high = stop < result.count ? result[stop] : nil
        if let found = between(low, high, count: stop - start, step: step) {
          for (offset, place) in found.enumerated() { result[start + offset] = place }
          break
        }
        // As much again on both sides: the rows that make room are few against those that come before it is gone.
        let more = max(8, stop - start)
        start = max(0, start - more)
        while stop < result.count, stop < end + more || result[stop] == nil { stop += 1 }
        step = roomy
      }
      index = max(end, index + 1)
    }
    return result.map { $0 ?? 0 }
  }

  /// The order in which places can be changed one by one without two rows ever standing at one.
  ///
  /// - Parameter moves: Where each row stands and is to stand, in the list's order, which stays.
  static func inSafeOrder(_ moves: [(from: Int64, to: Int64)]) -> [(from: Int64, to: Int64)] {
    moves.filter { $0.to < $0.from } + moves.filter { $0.to > $0.from }.reversed()
  }
}
