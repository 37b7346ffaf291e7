import Randomness

/// Changes bytes a little, as its seed decides: what a fuzzer does that is not led by coverage.
struct Mutator {
  private var random: SeededRandom
  private let corpus: [[UInt8]]
  /// The longest that anything grows.
  private static let bytesMax = 4_096

  /// A mutator over a corpus.
  init(seed: UInt64, _ corpus: [[UInt8]]) {
    random = SeededRandom(seed: seed)
    self.corpus = corpus
  }

  /// The next input: one of the corpus after a few changes.
  mutating func next() -> [UInt8] {
    var bytes = corpus[number(below: corpus.count)]
    for _ in 0...number(below: 6) { change(&bytes) }
    return Array(bytes.prefix(Self.bytesMax))
  }

  private mutating func change(_ bytes: inout [UInt8]) {
    let place = number(below: bytes.count + 1)
    let end = min(place + 1 + number(below: 12), bytes.count)
    switch number(below: 8) {
    case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(number(below: 8))
    case 1 where place < bytes.count: bytes[place] = UInt8(number(below: 256))
    case 2: bytes.insert(UInt8(number(below: 256)), at: place)
    case 3 where place < end: bytes.removeSubrange(place..<end)
    case 4 where place < end: bytes.insert(contentsOf: bytes[place..<end], at: number(below: bytes.count + 1))
    case 5:
      let other = corpus[number(below: corpus.count)]
      let from = number(below: other.count + 1)
      bytes.replaceSubrange(place..., with: other[from...])
    case 6: bytes.insert(contentsOf: Self.pieces[number(below: Self.pieces.count)].utf8, at: place)
    default: bytes = Array(bytes[..<place])
    }
  }

  private static let pieces = [
    "{", "}", "[", "]", ",", ":", "\"", "\\u0000", "\\ud800", "null", "-", "e400", "(", ")", ".", "eq.", "%", "%00",
    "%ff", "*", "not.", "and(", "&", "=", "->>", "::", "\u{FEFF}", "é", "👩‍👩‍👧", "99999999999999999999", "..", "/", "\0",
    "\n",
  ]

  private mutating func number(below bound: Int) -> Int { random.number(below: bound) }
}
