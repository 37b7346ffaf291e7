/// Numbers that a seed decides, the same on every machine: SplitMix64 (Steele, Lea and Flood, 2014).
package struct SeededRandom: RandomNumberGenerator {
  /// All that decides what comes.
  package private(set) var state: UInt64

  /// The generator of a seed.
  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number from 0 to just below a bound; the small ones come a little more often, which no bound of ours lets be felt.
  package mutating func number(below bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
