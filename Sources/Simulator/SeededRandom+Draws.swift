import Randomness

extension SeededRandom {
  /// A generator of its own, so that what one part of the world draws does not move what another draws.
  mutating func fork() -> SeededRandom { SeededRandom(seed: next()) }

  /// A number from 0 to just below a bound, drawn as days were recorded.
  mutating func draw(below bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  /// True once in so many times.
  mutating func oneIn(_ count: Int) -> Bool { draw(below: count) == 0 }

  mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &self) }

  /// One of the choices, each as likely as its weight says.
  mutating func pick<Choice>(weighted choices: [(weight: Int, choice: Choice)]) -> Choice {
    var rest = draw(below: max(choices.reduce(0) { $0 + $1.weight }, 1))
    for (weight, choice) in choices {
      rest -= weight
      if rest < 0 { return choice }
    }
    return choices[choices.count - 1].choice
  }
}
