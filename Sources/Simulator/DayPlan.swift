import Glibc
import LosslessJSON
import Randomness

/// All that decides how a day goes: drawn from a seed, or read from a file that was recorded when seeds meant other days.
struct DayPlan: Sendable {
  var seed: UInt64
  var day: Day
  var deeds: [Deed]
  /// What the world draws from, beside the deeds.
  var random: SeededRandom

  /// The day of a seed.
  ///
  /// - Parameter hasPhotos: Whether there are photos on it.
  init(seed: UInt64, hasPhotos: Bool = false) {
    self.seed = seed
    random = SeededRandom(seed: seed)
    let (day, weights) = Day.drawn(&random)
    self.day = day
    // A generator of its own: a day's other choices stay what they were.
    var late = SeededRandom(seed: ~seed)
    self.day.restartsInPeace = late.oneIn(2)
    deeds = Deed.drawn(day, weights, &random)
    if hasPhotos { PhotoDay.add(to: &self) }
  }

  /// The same day with only some of its deeds.
  func keeping(_ kept: [Int]) -> DayPlan {
    var plan = self
    plan.deeds = kept.filter(deeds.indices.contains).map { deeds[$0] }
    return plan
  }

  // MARK: As a file

  /// What is wrong with a recorded day.
  struct Unreadable: Error, CustomStringConvertible {
    let description: String
  }

  /// A day that was recorded.
  init(contentsOf path: String) throws {
    guard let file = fopen(path, "r") else { throw Unreadable(description: "\(path) cannot be read") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
    try self.init(JSONValue(parsing: bytes))
  }

  /// A day as `json` has it.
  init(_ json: JSONValue) throws {
    func member(_ name: String) throws -> JSONValue {
      guard let value = json[name] else { throw Unreadable(description: "'\(name)' is missing") }
      return value
    }
    func number(_ name: String) throws -> Int { try Self.integer(member(name)) }
    let weather = try Weather(
      delayMilliseconds: number("delayMilliseconds"), trouble: number("trouble"))
    seed = try Self.seed(member("seed"))
    random = SeededRandom(seed: try Self.seed(member("random")))
    day = try Day(
      devices: (member("devices").arrayValue ?? []).map(Self.integer), pullSeconds: number("pullSeconds"),
      conflicts: member("conflicts").stringValue ?? "hold", accessTokenSeconds: number("accessTokenSeconds"),
      isLive: member("live") == true, isLone: member("lone") == true, skewSeconds: number("skewSeconds"),
      weather: weather, eventDelayMilliseconds: number("eventDelayMilliseconds"), overflow: number("overflow"),
      pauseMilliseconds: number("pauseMilliseconds"), rowsAtStart: number("rowsAtStart"),
      restartsInPeace: json["restartsInPeace"] != false, hasPhotos: json["photos"] == true)
    deeds = try (member("deeds").arrayValue ?? []).map { deed in
      guard let parts = deed.arrayValue, parts.count == 4,
        let kind = parts[0].stringValue.flatMap(Deed.Kind.init)
      else { throw Unreadable(description: "no deed: \(deed.serialized())") }
      return try Deed(
        kind: kind, pause: Self.integer(parts[1]), device: Self.integer(parts[2]), seed: Self.seed(parts[3]))
    }
  }

  private static func integer(_ value: JSONValue) throws -> Int {
    guard let number = value.int64Value else { throw Unreadable(description: "no number: \(value.serialized())") }
    return Int(number)
  }

  private static func seed(_ value: JSONValue) throws -> UInt64 {
    guard let number = value.stringValue.flatMap({ UInt64($0) }) else {
      throw Unreadable(description: "no seed: \(value.serialized())")
    }
    return number
  }

  /// The day as a text that stays the same day whatever seeds come to mean.
  var text: String {
    let deeds = deeds.map { deed -> String in
      let value: JSONValue = [
        .string(deed.kind.rawValue), .integer(Int64(deed.pause)), .integer(Int64(deed.device)),
        .string(String(deed.seed)),
      ]
      return "    \(value.serialized())"
    }
    let head: JSONObject = [
      "seed": .string(String(seed)), "random": .string(String(random.state)),
      "devices": .array(day.devices.map { .integer(Int64($0)) }), "pullSeconds": .integer(Int64(day.pullSeconds)),
      "conflicts": .string(day.conflicts), "accessTokenSeconds": .integer(Int64(day.accessTokenSeconds)),
      "live": .bool(day.isLive), "lone": .bool(day.isLone), "skewSeconds": .integer(Int64(day.skewSeconds)),
      "delayMilliseconds": .integer(Int64(day.weather.delayMilliseconds)),
      "trouble": .integer(Int64(day.weather.trouble)),
      "eventDelayMilliseconds": .integer(Int64(day.eventDelayMilliseconds)), "overflow": .integer(Int64(day.overflow)),
      "pauseMilliseconds": .integer(Int64(day.pauseMilliseconds)), "rowsAtStart": .integer(Int64(day.rowsAtStart)),
      "restartsInPeace": .bool(day.restartsInPeace),
      "photos": .bool(day.hasPhotos),
    ]
    let members = head.members.map { "  \(JSONValue.string($0.name).serialized()): \($0.value.serialized())" }
    return "{\n\(members.joined(separator: ",\n")),\n  \"deeds\": [\n\(deeds.joined(separator: ",\n"))\n  ]\n}"
  }
}
