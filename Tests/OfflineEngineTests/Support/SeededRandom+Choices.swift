import Randomness

extension SeededRandom {
  mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &self)]
  }

  /// Whether something happens that does so once in `number` times.
  mutating func once(in number: Int) -> Bool { Int.random(in: 0..<number, using: &self) == 0 }
}
