/// Finds a short part of a day that still fails.
struct Shrinking {
  /// How many deeds the day has.
  let count: Int
  /// Whether a day of only these deeds fails.
  let fails: (_ kept: [Int]) throws -> Bool

  init(count: Int, fails: @escaping (_ kept: [Int]) throws -> Bool) {
    self.count = count
    self.fails = fails
  }

  /// Of a planned day.
  init(_ plan: DayPlan) {
    count = plan.deeds.count
    fails = { kept in !(try Simulation(plan.keeping(kept), keepsLines: false).run().complaints.isEmpty) }
  }

  /// The indexes of the deeds that are left: none of them can go without the day going well.
  func shortest() throws -> [Int] {
    var kept = Array(0..<count)
    var size = max(count / 2, 1)
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
}
