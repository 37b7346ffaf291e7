/// Names that are nearly alike, for hints.
enum Similarity {
  /// The most similar of some names, or `nil` when none is similar.
  static func best(_ name: String, among others: [String]) -> String? {
    others.map { (name: $0, score: score($0, name)) }.filter { $0.score > 0.5 }.max { $0.score < $1.score }?.name
  }

  /// How many pairs of neighbouring letters two names share, from 0 to 1.
  private static func score(_ left: String, _ right: String) -> Double {
    var pairs = pairs(of: left)
    let others = self.pairs(of: right)
    let total = pairs.count + others.count
    var shared = 0
    for pair in others {
      guard let index = pairs.firstIndex(where: { $0 == pair }) else { continue }
      pairs.remove(at: index)
      shared += 1
    }
    return total == 0 ? 0 : 2 * Double(shared) / Double(total)
  }

  private static func pairs(of name: String) -> [[UInt8]] {
    let bytes = [UInt8(ascii: "-")] + name.lowercased().utf8.prefix(100) + [UInt8(ascii: "-")]
    return zip(bytes, bytes.dropFirst()).map { [$0, $1] }
  }
}
