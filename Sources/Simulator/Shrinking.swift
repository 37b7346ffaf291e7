/// Finds a short part of a day that still fails.
struct Shrinking {
  let seed: UInt64

  /// The indexes of the deeds that are left: none of them can go without the day going well.
  func shortest() throws -> [Int] {
    var kept: [Int] = []
    _ = try Simulation(seed: seed, deeds: { kept = Array($0.indices); return [] }, keepsLines: false)
    var size = max(kept.count / 2, 1)
    while true {
      var start = 0
      var hasShrunk = false
      while start < kept.count {
        let without = Array(kept[..<start] + kept[min(start + size, kept.count)...])
        if try fails(without) {
          kept = without
          hasShrunk = true
        } else {
          start += size
        }
      }
      if size == 1, !hasShrunk { return kept }
      if !hasShrunk { size = max(size / 2, 1) }
    }
  }

  private func fails(_ kept: [Int]) throws -> Bool {
    let outcome = try Simulation(seed: seed, deeds: { deeds in kept.map { deeds[$0] } }, keepsLines: false).run()
    return !outcome.complaints.isEmpty
  }
}
