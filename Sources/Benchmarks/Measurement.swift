import LosslessJSON

/// What a number counts.
enum Unit: String {
  case seconds = "s"
  case bytes = "B"

  /// A number with three digits, in a unit that suits it.
  func text(_ value: Double) -> String {
    switch self {
    case .seconds where value < 0.000_999_5: "\(Self.rounded(value * 1_000_000)) µs"
    case .seconds where value < 0.999_5: "\(Self.rounded(value * 1_000)) ms"
    case .seconds: "\(Self.rounded(value)) s"
    case .bytes: "\(Self.rounded(value / 1_000_000)) MB"
    }
  }

  private static func rounded(_ value: Double) -> String {
    let places = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
    let scale = [1.0, 10, 100][places]
    let number = Int((value * scale).rounded())
    guard places > 0 else { return String(number) }
    let fraction = String(number % Int(scale))
    return "\(number / Int(scale)).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
  }
}

/// Something that no program of this kind can beat, measured in the same run.
struct Limit {
  var name: String
  var value: Double
}

/// What one workload came to.
struct Measurement {
  var workload: String
  var size: Int
  /// What was measured, in words.
  var what: String
  var unit: Unit
  /// One value a repetition.
  var values: [Double]
  /// The first is what the ratio is to.
  var limits: [Limit]
  /// The load averages when it ended.
  var load: [Double] = []

  var median: Double { Self.quantile(values, 0.5) }

  static func quantile(_ values: [Double], _ share: Double) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return 0 }
    return sorted[min(sorted.count - 1, Int(Double(sorted.count - 1) * share + 0.5))]
  }

  var json: JSONObject {
    let number = { (value: Double) in JSONNumber("\(value)").map(JSONValue.number) ?? .null }
    let limits = limits.map { limit -> JSONValue in
      [
        "name": .string(limit.name), "value": number(limit.value),
        "ratio": limit.value > 0 ? number(median / limit.value) : .null,
      ]
    }
    return [
      "workload": .string(workload), "size": .number(JSONNumber(Int64(size))), "what": .string(what),
      "unit": .string(unit.rawValue), "median": number(median), "p95": number(Self.quantile(values, 0.95)),
      "values": .array(values.map(number)), "limits": .array(limits), "load": .array(load.map(number)),
    ]
  }

  /// The first row names the measurement; each limit has a row.
  var rows: [[String]] {
    var rows: [[String]] = []
    for (index, limit) in limits.enumerated() {
      let ratio = Self.ratio(median, limit.value)
      rows.append(
        index == 0
          ? [workload, String(size), unit.text(median), unit.text(limit.value), ratio, limit.name]
          : ["", "", "", unit.text(limit.value), ratio, limit.name])
    }
    return rows.isEmpty ? [[workload, String(size), unit.text(median), "", "", what]] : rows
  }

  private static func ratio(_ value: Double, _ limit: Double) -> String {
    guard limit > 0 else { return "" }
    return "\(Int((value / limit * 100).rounded()) / 100).\(twoDigits(Int((value / limit * 100).rounded()) % 100))×"
  }

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
}

/// Text in columns.
enum Columns {
  static let head = ["workload", "size", "measured", "limit", "ratio", "the limit is"]
  private static let widths = [18, 7, 10, 10, 9, 0]

  static func line(_ cells: [String]) -> String {
    var line = ""
    for (index, cell) in cells.enumerated() {
      let padding = String(repeating: " ", count: max(0, widths[index] - cell.count))
      line += index == 0 || index == cells.count - 1 ? cell + padding : padding + cell
      line += "  "
    }
    while line.last == " " { line.removeLast() }
    return line
  }
}
