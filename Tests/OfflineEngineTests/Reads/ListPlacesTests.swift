import Randomness
import Testing

@testable import OfflineEngine

@Suite struct ListPlacesTests {
  @Test func `new rows stand evenly between their neighbours, and beside the first and the last with room`() {
    let gap = ListPlaces.gap
    #expect(ListPlaces.filled([nil, nil]) == [0, gap])
    #expect(ListPlaces.filled([nil, 0, nil, nil]) == [-gap, 0, gap, 2 * gap])
    #expect(ListPlaces.filled([0, nil, nil, 90]) == [0, 30, 60, 90])
    #expect(ListPlaces.filled([]).isEmpty && ListPlaces.filled([7]) == [7])
    #expect(ListPlaces.between(1, 2, count: 1) == nil)
  }

  @Test(arguments: 0..<20) func `places stay in order, and few rows make room for one`(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var places = ListPlaces.filled(Array(repeating: nil, count: Int.random(in: 0...300, using: &random)))
    var moved = 0
    let spot = Int.random(in: 0...places.count, using: &random)
    for _ in 0..<500 {
      let isElsewhere = random.once(in: 4)
      let index = isElsewhere ? Int.random(in: 0...places.count, using: &random) : min(spot, places.count)
      var standing: [Int64?] = places
      standing.insert(contentsOf: Array(repeating: nil, count: Int.random(in: 1...3, using: &random)), at: index)
      let next = ListPlaces.filled(standing)
      for (place, successor) in zip(next, next.dropFirst()) { #expect(place < successor) }
      moved += zip(standing, next).count { $0 != nil && $0 != $1 }
      places = next
    }
    #expect(moved < 500 * 40, "\(moved) rows made room for 500")
  }

  @Test(arguments: 0..<20) func `rows that make room never meet on their way`(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    func sorted() -> [Int64] { Set((0..<40).map { _ in Int64.random(in: 0...120, using: &random) }).sorted() }
    let (one, other) = (sorted(), sorted())
    let moves = zip(one, other).map { (from: $0, to: $1) }
    var standing = Set(moves.map(\.from))
    for (from, to) in ListPlaces.inSafeOrder(moves) {
      #expect(standing.remove(from) != nil)
      #expect(standing.insert(to).inserted)
    }
    #expect(standing == Set(moves.map(\.to)))
  }
}

@Suite struct ListDifferenceTests {
  @Test(arguments: 0..<50) func `the most rows stay that can, and every row is found again`(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    let old = (0..<Int.random(in: 0...9, using: &random)).map { "\($0 % 7)" }
    var new = old.shuffled(using: &random).filter { _ in !random.once(in: 4) }
    if random.once(in: 2) { new.append("new") }
    let origins = ListDifference.matches(old, new)
    for (name, origin) in zip(new, origins) { #expect(origin.map { old[$0] } ?? "new" == name) }
    #expect(Set(origins.compactMap(\.self)).count == origins.count { $0 != nil })
    let stays = ListDifference.staying(origins)
    let staying = zip(origins, stays).compactMap { $1 ? $0 : nil }
    #expect(staying == staying.sorted() && Set(staying).count == staying.count)
    #expect(staying.count == Self.longestRun(origins.compactMap(\.self)))
  }

  /// The length of the longest rising run, found by trying them all.
  private static func longestRun(_ numbers: [Int]) -> Int {
    (0..<1 << numbers.count).map { choice in
      let run = numbers.indices.filter { choice >> $0 & 1 == 1 }.map { numbers[$0] }
      return run == run.sorted() && Set(run).count == run.count ? run.count : 0
    }.max() ?? 0
  }
}
