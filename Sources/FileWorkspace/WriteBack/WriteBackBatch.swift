/// Write-backs that are done together, between two of their steps.
struct WriteBackBatch: Sendable {
  /// How each item has ended; `nil` while it is on its way.
  var outcomes: [WriteBackOutcome?]
  /// What is on its way.
  private(set) var steps: [SwapStep] = []
  /// Which item each of them is.
  private var places: [Int] = []
  /// What became of them on the disk.
  var settled: [SettledIntent] = []
  /// Why their names could not be made durable.
  var failure: WriteBackError?

  init(count: Int) { outcomes = Array(repeating: nil, count: count) }

  /// Puts an item on its way.
  mutating func add(_ step: SwapStep, at place: Int) {
    steps.append(step)
    places.append(place)
  }

  /// Ends what is on its way.
  mutating func end(_ ends: [WriteBackOutcome]) {
    for (place, outcome) in zip(places, ends) { outcomes[place] = outcome }
    steps = []
    places = []
  }
}
