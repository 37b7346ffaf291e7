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
      for text in try faults(of: device, rows[device.user.id] ?? [:]) + stateFaults(of: device)
        + statusFaults(of: device) + longLists(of: device)
      {
        world.complain("\(device.name): \(text)")
      }
      // Nothing that goes wrong here ends a session.
      if device.session.load() == nil { world.complain("\(device.name): nobody is signed in any more") }
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
    // Whatever waits for a person stands beside its row's file; beside one that cannot be taken it stands once a person has
    // mended that, and one of which nothing is known may be any row's.
    let unknown = try device.texts(
      "SELECT path AS text FROM problem WHERE path NOT IN (SELECT path FROM mirror WHERE path IS NOT NULL)")
    for key in try device.texts("SELECT DISTINCT key_values AS text FROM mutation WHERE list <> 'queued' ORDER BY 1") {
      let sides = try device.texts("SELECT path AS text FROM side_file WHERE key = '\(key)'")
      let own = try device.texts("SELECT path AS text FROM mirror WHERE key_values = '\(key)' AND path IS NOT NULL")
      let isShown = sides.contains { names.contains(WorkspacePath.name(of: $0)) }
      if !isShown, unknown.isEmpty, problems.isDisjoint(with: sides + own) {
        complaints.append("nothing in the folder shows what waits of \(key)")
      }
    }
    return complaints
  }

  /// Where a device says something else of itself than its state holds.
  private func statusFaults(of device: Device) throws -> [String] {
    guard let report = try device.status() else { return ["the program does not run"] }
    func count(_ list: String) throws -> Int {
      Int(try device.numbers("SELECT count(*) AS number FROM mutation WHERE list = '\(list)'").first ?? 0)
    }
    let told = ["pending": report.pending, "rejected": report.rejected, "conflicted": report.conflicted]
    let held = [
      "pending": try count("queued"), "rejected": try count("rejected"), "conflicted": try count("conflicted"),
    ]
    var complaints =
      told == held
      ? [] : ["status says \(told.sorted { $0.key < $1.key }) where the state has \(held.sorted { $0.key < $1.key })"]
    let problems = try device.texts(
      """
      SELECT path AS text FROM problem UNION ALL
      SELECT coalesce(path, last_path) FROM photo WHERE state IN ('failed', 'held') ORDER BY 1
      """)
    if report.problems.map(\.path).sorted() != problems {
      complaints.append("status tells of trouble with \(report.problems.map(\.path)) where the state has \(problems)")
    }
    let known = Set(try device.texts("SELECT path AS text FROM mirror WHERE path IS NOT NULL"))
    let files = device.rowNames.count { known.contains("tasks/\($0)") }
    for collection in report.collections where collection.files != files {
      complaints.append("status counts \(collection.files) files where \(files) lie")
    }
    return complaints
  }

  /// Lists that are longer than anybody needs them.
  private func longLists(of device: Device) throws -> [String] {
    try Self.bounds.compactMap { list in
      let count = try device.numbers(list.sql).max() ?? 0
      return count > list.countMax ? "\(count) \(list.what)" : nil
    }
  }

  private static let bounds: [(what: String, sql: String, countMax: Int64)] = [
    // DESIGN section 6.
    (
      "earlier texts of one row are kept",
      "SELECT count(*) AS number FROM earlier_base GROUP BY collection, key", 8
    ),
    ("syncs can be undone", "SELECT count(*) AS number FROM sync_round", 10),
    // One who is at rest has looked at everything.
    (
      "changes of rows with files are not looked at",
      """
      SELECT count(*) AS number FROM row_change JOIN mirror ON mirror.key = row_change.key
      WHERE path IS NOT NULL AND absent_since IS NULL AND path NOT IN (SELECT path FROM problem)
      """, 0
    ),
  ]
}
