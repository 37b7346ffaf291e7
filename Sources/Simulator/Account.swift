import FileWorkspace
import LosslessJSON

/// What must hold of a world at rest, in which nothing is wrong any more.
struct Account {
  let world: World
  let devices: [Device]
  let users: [String]

  func check() throws {
    var rows: [String: [String: JSONObject]] = [:]
    for user in users { rows[user] = world.server.rows(of: user) }
    var found: [String] = rows.values.flatMap { $0.values.map { JSONValue.object($0).serialized() } }
    for device in devices {
      for text in try faults(of: device, rows[device.user.id] ?? [:]) + stateFaults(of: device) {
        world.complain("\(device.name): \(text)")
      }
      found += device.keptTexts
      found += try device.storedTexts()
    }
    let words = world.words
    let within = found.reduce(into: Set<String>()) { $0.formUnion(SavedWords.words(in: $1)) }
    let lost = words.expected.subtracting(within)
    if !lost.isEmpty { world.complain("lost: \(lost.sorted())") }
    for word in words.saved.subtracting(words.copied).sorted() {
      let count = rows.values.reduce(0) { $0 + $1.values.count { $0["title"] == .string(word) } }
      if count > 1 { world.complain("\(word) is the title of \(count) rows") }
    }
  }

  /// Where the files do not equal the rows.
  private func faults(of device: Device, _ rows: [String: JSONObject]) throws -> [String] {
    var complaints: [String] = []
    let problems = Set(try device.texts("SELECT path AS text FROM problem"))
    var shown: [String: String] = [:]
    for file in device.rowNames where !problems.contains("tasks/\(file)") {
      guard let row = device.row(file), let id = row["id"]?.stringValue, let there = rows[id] else {
        complaints.append("\(file) is no row: \(device.text(file) ?? "")")
        continue
      }
      if let other = shown.updateValue(file, forKey: id) { complaints.append("\(file) and \(other) are \(id)") }
      for (column, value) in row where there[column] != value {
        complaints.append("\(file) says \(value) where the row says \(there[column] ?? .null)")
      }
    }
    // A file that cannot be taken stands for its row, and may be any of those that are missing, until a person mends it.
    let missing = rows.keys.filter { shown[$0] == nil }
    if problems.isEmpty, !missing.isEmpty { complaints.append("no file for \(missing.sorted())") }
    return complaints
  }

  /// Where the state does not fit the files, or itself.
  private func stateFaults(of device: Device) throws -> [String] {
    var complaints: [String] = []
    let waiting = try device.numbers("SELECT count(*) AS number FROM mutation WHERE list = 'queued'")
    if waiting != [0] { complaints.append("\(waiting) writes wait") }
    let counted = try device.texts(
      "SELECT list || ' ' || number AS text FROM mutation_count WHERE number > 0 ORDER BY 1")
    let listed = try device.texts("SELECT list || ' ' || count(*) AS text FROM mutation GROUP BY list ORDER BY 1")
    if counted != listed { complaints.append("the lists hold \(listed) and the counts say \(counted)") }
    let open = try device.texts("SELECT intent AS text FROM write_intent")
    if !open.isEmpty { complaints.append("\(open.count) write-backs are neither done nor undone") }
    let problems = Set(try device.texts("SELECT path AS text FROM problem"))
    let names = Set(device.names)
    // Whatever waits for a person stands beside its row's file.
    for key in try device.texts("SELECT DISTINCT key_values AS text FROM mutation WHERE list <> 'queued' ORDER BY 1") {
      let sides = try device.texts("SELECT path AS text FROM side_file WHERE key = '\(key)'")
      if sides.allSatisfy({ !names.contains(WorkspacePath.name(of: $0)) && !problems.contains($0) }) {
        complaints.append("nothing in the folder shows what waits of \(key)")
      }
    }
    let longest = try device.numbers(
      "SELECT count(*) AS number FROM earlier_base GROUP BY collection, key ORDER BY 1 DESC LIMIT 1")
    if let count = longest.first, count > Self.earlierMax {
      complaints.append("\(count) earlier texts of one row are kept")
    }
    return complaints
  }

  /// How many earlier texts of a path are kept (DESIGN section 6).
  private static let earlierMax = 8
}
