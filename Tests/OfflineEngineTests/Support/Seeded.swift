extension Seeded {
  /// Whether something happens that does so once in `number` times.
  mutating func once(in number: Int) -> Bool { Int.random(in: 0..<number, using: &self) == 0 }
}
