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
  /// The greatest distance of a device's clock from the true time, in seconds.
  var skewSeconds: Int
  var weather: Weather
  var eventDelayMilliseconds: Int
  var overflow: Int
  /// The longest pause between two things that people do, in milliseconds.
  var pauseMilliseconds: Int
  var rowsAtStart: Int
  var weights: [(weight: Int, choice: Deed.Kind)]

  /// Things that people do on a day.
  static let deedCount = 20

  init(_ random: inout SeededRandom) {
    devices =
      random.oneIn(4) ? [1 + random.number(below: 3), 1 + random.number(below: 2)] : [1 + random.number(below: 3)]
    pullSeconds = random.pick([10, 30, 60]) ?? 30
    conflicts = random.pick(weighted: [(4, "hold"), (1, "mine"), (1, "theirs")])
    isLive = random.oneIn(2)
    accessTokenSeconds = random.oneIn(3) ? 120 : 3_600
    skewSeconds = random.oneIn(3) ? 7_200 : 0
    let isCalm = random.oneIn(4)
    weather = Weather(
      delayMilliseconds: random.pick([5, 60, 900]) ?? 60, trouble: isCalm ? 0 : random.pick([10, 60, 200]) ?? 0)
    eventDelayMilliseconds = random.pick([2, 40, 600]) ?? 2
    overflow = random.oneIn(3) ? 150 : 0
    pauseMilliseconds = random.pick([30, 900, 20_000]) ?? 900
    rowsAtStart = random.number(below: 6)
    weights = Deed.Kind.allCases.map { kind in
      if kind.isFault, isCalm { return (0, kind) }
      return (random.number(below: kind.isFault ? 3 : 12), kind)
    }
    weights.append((1, .edit))
  }
}

/// One thing that happens on a day; what it draws, it draws from a seed of its own, so that a day without it is the same.
struct Deed: Sendable {
  enum Kind: String, Sendable, CaseIterable {
    // People.
    case edit, editSlowly, editOldBuffer, openEverything, add, addWithKey, addEmpty, remove, rename, renameOver, swap
    case copy, reformat, settle, changeMany, confirm
    // Another writer, straight on the server.
    case serverUpdate, serverInsert, serverDelete
    // What goes wrong.
    case cableOut, cableIn, kill, killSoon, losePower, start, stop, clock, diskFull, diskFree, calm

    var isFault: Bool {
      switch self {
      case .cableOut, .cableIn, .kill, .killSoon, .losePower, .start, .stop, .clock, .diskFull, .diskFree, .calm: true
      default: false
      }
    }
  }

  var kind: Kind
  /// Milliseconds after the one before.
  var pause: Int
  /// Which device, counted round.
  var device: Int
  var seed: UInt64

  /// A day's deeds.
  static func day(_ day: Day, _ random: inout SeededRandom) -> [Deed] {
    var deeds: [Deed] = []
    var people = 0
    while people < Day.deedCount {
      let kind = random.pick(weighted: day.weights)
      if !kind.isFault { people += 1 }
      deeds.append(
        Deed(
          kind: kind, pause: random.number(below: day.pauseMilliseconds), device: random.number(below: 64),
          seed: random.next()))
    }
    return deeds
  }
}
