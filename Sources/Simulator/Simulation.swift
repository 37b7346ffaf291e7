import FileWorkspace
import LosslessJSON
import OfflineEngine

/// What a seed came to.
struct Outcome: Sendable {
  var seed: UInt64
  /// What is wrong, a sentence each; nothing when all is well.
  var complaints: [String]
  /// The digest of the trace: the same for the same seed, in every process and build.
  var digest: UInt64
  var lines: [String]
}

/// One day in a world: deeds, then peace, then the account.
final class Simulation {
  private let seed: UInt64
  private let world: World
  private let deeds: [Deed]
  private var random: SeededRandom
  private var devices: [Device] = []
  private var words = SavedWords()
  private var buffers = Buffers()
  private var users: [String] = []

  /// Longer than every wait of the program: a world in which nothing is stirred for so long is at rest.
  private static let restNanoseconds: Int64 = 70_000_000_000
  /// So many waits must be enough to come to rest.
  private static let restCountMax = 20

  /// How many deeds the day has.
  var deedCount: Int { deeds.count }

  /// - Parameters:
  ///   - kept: The indexes of the deeds that are done, for finding the shortest day that fails; all by default.
  ///   - keepsLines: Whether the trace is kept, not only its digest.
  init(seed: UInt64, kept: [Int]? = nil, keepsLines: Bool) throws {
    self.seed = seed
    var random = SeededRandom(seed: seed)
    let day = Day(&random)
    let planned = Deed.day(day, &random)
    deeds = kept.map { $0.filter(planned.indices.contains).map { planned[$0] } } ?? planned
    world = try World(day, &random, keepsLines: keepsLines)
    self.random = random
  }

  /// Lives the day.
  func run() throws -> Outcome {
    do {
      try begin()
      for deed in deeds {
        pass(nanoseconds: Int64(deed.pause) * 1_000_000)
        try act(deed)
      }
      try makePeace()
      world.trace("peace")
      comeToRest()
      // One's deletes may be held by another as rows that have vanished in large numbers.
      for _ in 0..<3 {
        confirmEverything()
        comeToRest()
      }
      try check()
    } catch {
      world.complain("a deed could not be done: \(error)")
    }
    end()
    return Outcome(seed: seed, complaints: world.complaints, digest: world.digest, lines: world.lines)
  }

  // MARK: Time

  private func pass(nanoseconds: Int64) { world.pass(nanoseconds: nanoseconds) { buryTheDead() } }

  private func buryTheDead() {
    for device in devices where device.run?.life.isOver == true { device.kill(losesPower: false) }
  }

  /// Lets the world come to rest: edits have stopped and faults have healed, so nothing may stir for ever.
  private func comeToRest() {
    for _ in 0..<Self.restCountMax {
      let stirs = world.stirs
      pass(nanoseconds: Self.restNanoseconds)
      if world.stirs == stirs { return }
    }
    world.complain("the world does not come to rest")
  }

  // MARK: The day

  private func begin() throws {
    let server = world.server
    for (index, count) in world.day.devices.enumerated() {
      let email = "person\(index + 1)@example.org"
      let user = try world.wait { try await server.signUp(email) }.user.id
      users.append(user)
      for number in 0..<world.day.rowsAtStart {
        server.insert([
          "id": .string(random.uuid()), "user_id": .string(user), "title": .string(newWord(over: nil)),
          "notes": number == 0 ? .null : .string(newWord(over: nil)),
        ])
      }
      for _ in 0..<count {
        let session = try world.wait { try await server.signIn(email) }
        let skew =
          world.day.skewSeconds == 0 ? 0 : random.number(below: 2 * world.day.skewSeconds) - world.day.skewSeconds
        let device = try Device(
          world, name: "d\(devices.count + 1)", email: email, session: session, skew: .seconds(skew), random.fork())
        device.change { mood in
          mood.weather = world.day.weather
          mood.eventDelayMilliseconds = world.day.eventDelayMilliseconds
          mood.overflow = world.day.overflow
        }
        devices.append(device)
        try device.start()
      }
    }
    pass(nanoseconds: 5_000_000_000)
  }

  private func newWord(over seen: String?) -> String {
    let word = words.new()
    words.save(word, over: seen)
    return word
  }

  private func act(_ deed: Deed) throws {
    let device = devices[deed.device % devices.count]
    var random = SeededRandom(seed: deed.seed)
    world.trace("\(device.name): \(deed.kind)")
    switch deed.kind {
    case .serverUpdate, .serverInsert, .serverDelete: actOnServer(deed.kind, of: device.user.id, &random)
    case .cableOut: device.change { $0.weather.isConnected = false }
    case .cableIn: device.change { $0.weather.isConnected = true }
    case .calm: device.change { $0.weather.trouble = 0 }
    case .kill: device.kill(losesPower: false)
    case .losePower: device.kill(losesPower: true)
    case .killSoon: device.kill(afterEffects: random.number(below: 60))
    case .start: try device.start()
    case .stop: device.stop()
    case .clock: device.setClock(skew: .seconds(random.number(below: 20_000) - 10_000))
    case .diskFull: device.setDiskFull(true)
    case .diskFree: device.setDiskFull(false)
    case .confirm: if device.isRunning { confirm(device) }
    default:
      var person = Person(device: device, world: world, random: random)
      try person.act(deed.kind, &words, &buffers)
    }
    if !deed.kind.isFault, random.oneIn(3), !device.isRunning { try device.start() }
  }

  /// Somebody changes a row with the server's own tools, and sees what is there.
  private func actOnServer(_ kind: Deed.Kind, of user: String, _ random: inout SeededRandom) {
    let rows = world.server.rows(of: user)
    let id = random.pick(rows.keys.sorted())
    switch (kind, id) {
    case (.serverUpdate, let id?):
      let column = random.pick(["title", "notes"]) ?? "title"
      let word = newWord(over: rows[id]?[column]?.stringValue)
      world.trace("server: \(column) of \(id) is \(word)")
      world.server.update(id, [column: .string(word)])
    case (.serverDelete, let id?):
      world.trace("server: \(id) is deleted")
      words.save("", over: rows[id].map { JSONValue.object($0).serialized() })
      world.server.delete(id)
    case (.serverInsert, _):
      let word = newWord(over: nil)
      world.trace("server: a row \(word)")
      world.server.insert(["id": .string(random.uuid()), "user_id": .string(user), "title": .string(word)])
    default: break
    }
  }

  private func confirm(_ device: Device) {
    world.trace("\(device.name): person confirms")
    device.command { _ = try await $0.sync(isConfirmed: true, isWatching: true) }
  }

  // MARK: Peace

  /// Mends everything: networks, disks, clocks; signs in again who was signed out; starts what does not run.
  private func makePeace() throws {
    let server = world.server
    for device in devices {
      device.change { $0 = Surroundings.Mood() }
      device.setDiskFull(false)
      device.setClock(skew: .zero)
      let email = device.email
      device.session.save(try world.wait { try await server.signIn(email) })
      // A program that was killed is started again; one that was told that its session is over, too.
      device.stop()
    }
    pass(nanoseconds: 20_000_000_000)
    for device in devices {
      if device.isRunning { world.complain("\(device.name): does not end 20 s after it was asked to") }
      try device.start()
    }
  }

  /// Says yes to everything that waits for a yes.
  private func confirmEverything() {
    for device in devices where device.isRunning { confirm(device) }
  }

  private func end() {
    for device in devices { device.kill(losesPower: false) }
    while world.executor.runOne() {}
    _ = world.timeline.advance(upTo: .max)
    while world.executor.runOne() {}
  }

  // MARK: The account

  private func check() throws {
    var rows: [String: [String: JSONObject]] = [:]
    for user in users { rows[user] = world.server.rows(of: user) }
    var found: [String] = rows.values.flatMap { $0.values.map { JSONValue.object($0).serialized() } }
    for device in devices {
      for text in try faults(of: device, rows[device.user.id] ?? [:]) { world.complain("\(device.name): \(text)") }
      found += device.allTexts
      found += try device.storedTexts()
    }
    let within = found.reduce(into: Set<String>()) { $0.formUnion(SavedWords.words(in: $1)) }
    let lost = words.expected.subtracting(within)
    if !lost.isEmpty { world.complain("lost: \(lost.sorted())") }
    for word in words.saved.subtracting(words.copied).sorted() {
      let count = rows.values.reduce(0) { $0 + $1.values.count { $0["title"] == .string(word) } }
      if count > 1 { world.complain("\(word) is the title of \(count) rows") }
    }
  }

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
    // A file that cannot be taken stands for its row until a person mends it.
    let missing = rows.filter { shown[$0.key] == nil }
    if missing.count > problems.count { complaints.append("no file for \(missing.keys.sorted())") }
    let waiting = try device.read { try $0.counts().queued }
    if waiting > 0 { complaints.append("\(waiting) writes wait") }
    return complaints
  }
}
