import Randomness

/// What kind of day it is: drawn by the seed, so that each run leans towards something else.
struct Day: Sendable {
  /// Devices of each user.
  var devices: [Int]
  var pullSeconds: Int
  /// What the settings say of conflicts.
  var conflicts: String
  var accessTokenSeconds: Int
  /// Whether changes are heard of as they are made.
  var isLive: Bool
  /// Whether one device is all there is: then nothing may ever be in conflict.
  var isLone: Bool
  /// The greatest distance of a device's clock from the true time, in seconds.
  var skewSeconds: Int
  var weather: Weather
  var eventDelayMilliseconds: Int
  var overflow: Int
  /// The longest pause between two things that people do, in milliseconds.
  var pauseMilliseconds: Int
  var rowsAtStart: Int
  /// Whether every program is started anew when peace is made, which has it look at everything.
  var restartsInPeace = true
  /// Whether there are photos, and people who see to them.
  var hasPhotos = false

  /// Things that people do on a day.
  static let deedCount = 20

  /// A day as it may be, and how likely each kind of deed is on it.
  static func drawn(_ random: inout SeededRandom) -> (day: Day, weights: [(weight: Int, choice: Deed.Kind)]) {
    let isLone = random.oneIn(6)
    let isCalm = random.oneIn(4)
    let day = Day(
      devices: isLone
        ? [1]
        : random.oneIn(4) ? [1 + random.draw(below: 3), 1 + random.draw(below: 2)] : [1 + random.draw(below: 3)],
      pullSeconds: random.pick([10, 30, 60]) ?? 30,
      conflicts: random.pick(weighted: [(4, "hold"), (1, "mine"), (1, "theirs")]),
      accessTokenSeconds: random.oneIn(3) ? 120 : 3_600,
      isLive: random.oneIn(2),
      isLone: isLone,
      skewSeconds: random.oneIn(3) ? 7_200 : 0,
      weather: Weather(
        delayMilliseconds: random.pick([5, 60, 900]) ?? 60, trouble: isCalm ? 0 : random.pick([10, 60, 200]) ?? 0),
      eventDelayMilliseconds: random.pick([2, 40, 600]) ?? 2,
      overflow: random.oneIn(3) ? 150 : 0,
      pauseMilliseconds: random.pick([30, 900, 20_000]) ?? 900,
      rowsAtStart: random.draw(below: 6))
    var weights = Deed.Kind.allCases.filter { !$0.isOfPhotos }.map { kind in
      // A calm day of a lone device is one on which no write may meet another.
      let isLeftOut = kind.isFault && isCalm || kind.isServers && isLone || kind.savesOlderText && isLone && isCalm
      return (weight: isLeftOut ? 0 : random.draw(below: kind.isFault ? 3 : 12), choice: kind)
    }
    weights.append((1, .edit))
    return (day, weights)
  }
}
