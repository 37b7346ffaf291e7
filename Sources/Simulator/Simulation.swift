import FileWorkspace
import LosslessJSON
import OfflineEngine
import Randomness

/// What a seed came to.
struct Outcome: Sendable {
  var seed: UInt64
  var hasPhotos: Bool
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
  private var users: [String] = []

  /// Longer than every wait of the program: a world in which nothing is stirred for so long is at rest.
  private var restNanoseconds: Int64 {
    // A key waits for 30 s; while changes are told as they are made, the server is asked once a minute.
    let longest = max(world.day.pullSeconds, world.day.isLive ? 60 : 30)
    // A program that goes on from before the peace may still wait 30 s for an answer that never comes, and a minute before
    // it tries again; so do photos, each for itself.
    let maySulk = !world.day.restartsInPeace && (world.day.hasPhotos || !devices.allSatisfy(\.hasRead))
    return Int64(longest + (maySulk ? 100 : 10)) * 1_000_000_000
  }
  /// So long must be enough to come to rest.
  private static let unrestNanosecondsMax: Int64 = 1_400_000_000_000

  /// - Parameter keepsLines: Whether the trace is kept, not only its digest.
  init(_ plan: DayPlan, keepsLines: Bool) throws {
    seed = plan.seed
    deeds = plan.deeds
    var random = plan.random
    world = try World(plan, &random, keepsLines: keepsLines)
    self.random = random
  }

  /// Lives the day.
  func run() throws -> Outcome {
    do {
      try begin()
      for deed in deeds {
        pass(nanoseconds: Int64(deed.pause) * 1_000_000)
        try act(deed)
        if world.day.isLone { try checkLone() }
        if world.day.hasPhotos { photoAccount.checkNothingLost() }
      }
      try makePeace()
      world.trace("peace")
      comeToRest()
      // One's deletes may be held by another as rows that have vanished in large numbers.
      for _ in 0..<3 where try devices.contains(where: { try $0.holdsSomething() }) {
        confirmEverything()
        comeToRest()
      }
      if world.day.hasPhotos { try finishPhotos() }
      if world.day.isLone { try checkLone() }
      try Account(world: world, devices: devices, users: users).check()
      if world.day.hasPhotos { try photoAccount.check() }
    } catch {
      world.complain("a deed could not be done: \(error)")
    }
    end()
    return Outcome(
      seed: seed, hasPhotos: world.day.hasPhotos, complaints: world.complaints, digest: world.digest, lines: world.lines
    )
  }

  // MARK: Time

  private func pass(nanoseconds: Int64) { world.pass(nanoseconds: nanoseconds) { buryTheDead() } }

  private func buryTheDead() {
    for device in devices where device.run?.life.isOver == true { device.kill(losesPower: false) }
  }

  /// Lets the world come to rest: edits have stopped and faults have healed, so nothing may stir for ever.
  private func comeToRest() {
    let start = world.timeline.now
    var lastStir = start
    while world.timeline.now - start < Self.unrestNanosecondsMax {
      let stirs = world.stirs
      pass(nanoseconds: 2_000_000_000)
      if world.stirs != stirs { lastStir = world.timeline.now }
      if world.timeline.now - lastStir >= restNanoseconds { return }
    }
    world.complain("the world does not come to rest")
  }

  private var photoAccount: PhotoAccount { PhotoAccount(world: world, devices: devices, users: users) }

  // MARK: The day

  private func begin() throws {
    let server = world.server
    for (index, count) in world.day.devices.enumerated() {
      let email = "person\(index + 1)@example.org"
      var session = try server.signIn(email)
      let user = session.user.id
      users.append(user)
      for number in 0..<world.day.rowsAtStart {
        server.insert([
          "id": .string(random.uuid()), "user_id": .string(user), "title": .string(newWord(over: nil)),
          "notes": number == 0 ? .null : .string(newWord(over: nil)),
        ])
      }
      for number in 0..<count {
        if number > 0 { session = try server.signIn(email) }
        let skew =
          world.day.skewSeconds == 0 ? 0 : random.draw(below: 2 * world.day.skewSeconds) - world.day.skewSeconds
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
    let word = world.words.new()
    world.words.save(word, over: seen)
    return word
  }

  private func act(_ deed: Deed) throws {
    let device = devices[deed.device % devices.count]
    var random = SeededRandom(seed: deed.seed)
    world.trace("\(device.name): \(deed.kind)")
    switch deed.kind {
    case .serverUpdate, .serverInsert, .serverDelete: actOnServer(deed.kind, of: device.user.id, &random)
    case .serverPhotoDelete, .serverPhotoRename, .serverPhotoMove:
      var owner = PhotoOwner(world: world, user: device.user.id, random: random)
      owner.act(deed.kind)
    case .cableOut, .cableIn:
      device.change { $0.weather.isConnected = deed.kind == .cableIn }
      // What the kernel says of it may never come.
      if !random.oneIn(3) { device.tell(deed.kind == .cableIn ? .online : .offline) }
    case .serverRestart: world.server.restart(after: Int64(random.draw(below: 40_000)) * 1_000_000)
    case .rumour: device.tell(random.pick([.online, .offline, .unknown]) ?? .unknown)
    case .wake: device.wake(after: .seconds(1 + random.draw(below: 3_600)))
    case .calm: device.change { $0.weather.trouble = 0 }
    case .kill: device.kill(losesPower: false)
    case .losePower: device.kill(losesPower: true)
    case .killSoon: device.kill(afterEffects: random.draw(below: 60))
    case .start: try device.start()
    case .stop: device.stop()
    case .clock: device.setClock(skew: .seconds(random.draw(below: 20_000) - 10_000))
    case .diskFull: device.setDiskFull(true)
    case .diskFree: device.setDiskFull(false)
    case .unmount:
      try device.unmount(for: Int64(1 + random.draw(below: 90)) * 1_000_000_000)
      // Who is asked whether all is really gone may say yes without a look.
      if random.oneIn(2), !world.buffers.isWriting(on: device) {
        world.timeline.schedule(after: 5_000_000_000) { if !device.isMounted { device.confirm() } }
      }
    // Nobody says that missing files are really gone while one is being saved.
    case .confirm: if device.isRunning, !world.buffers.isWriting(on: device) { device.confirm() }
    default:
      guard device.isMounted else { break }
      if deed.kind.isOfPhotos {
        var photographer = Photographer(device: device, world: world, random: random)
        try photographer.act(deed.kind)
      } else {
        var person = Person(device: device, world: world, random: random)
        try person.act(deed.kind)
      }
    }
    if !deed.kind.isFault, random.oneIn(3), !device.isRunning { try device.start() }
  }

  /// Somebody changes a row with the server's own tools, and sees what is there.
  private func actOnServer(_ kind: Deed.Kind, of user: String, _ random: inout SeededRandom) {
    if kind == .serverInsert { world.noteNewRows(of: user) }
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
      world.words.save("", over: rows[id].map { JSONValue.object($0).serialized() })
      world.server.delete(id)
    case (.serverInsert, _):
      let word = newWord(over: nil)
      world.trace("server: a row \(word)")
      world.server.insert(["id": .string(random.uuid()), "user_id": .string(user), "title": .string(word)])
    default: break
    }
  }

  // MARK: Peace

  /// Mends everything: networks, disks, clocks; starts what does not run.
  private func makePeace() throws {
    world.server.restart(after: 0)
    for device in devices {
      device.change { $0 = Surroundings.Mood() }
      device.setDiskFull(false)
      device.spare()
      device.mount()
      device.hasRead = false
      device.tell(random.pick([.online, .offline]) ?? .online)  // A monitor may be wrong for ever.
      device.setClock(skew: .zero)
      // Nothing that goes wrong here ends a session.
      if device.session.load() == nil { world.complain("\(device.name): nobody is signed in any more") }
      // A program that was killed is started again; one that was told that its session is over, too.
      if world.day.restartsInPeace { device.stop() }
    }
    pass(nanoseconds: 20_000_000_000)
    for device in devices {
      if device.isRunning, world.day.restartsInPeace {
        world.complain("\(device.name): does not end 20 s after it was asked to")
      }
      try device.start()
    }
  }

  /// Says yes to everything that waits for a yes.
  private func confirmEverything() {
    for device in devices where device.isRunning { device.confirm() }
  }

  /// Tries photos again that have failed, as a person does who has read why, and lets the time pass after which objects
  /// go that no row names.
  private func finishPhotos() throws {
    if try devices.contains(where: { try $0.hasFailedPhotos() }) {
      for device in devices {
        world.trace("\(device.name): person tries photos again")
        device.command { _ = try await $0.workspace.retryPhotos([]) }
      }
      pass(nanoseconds: 1_000_000_000)
      try startAnew()
      comeToRest()
    }
    guard try devices.contains(where: { try $0.hasLeftovers() }) else { return }
    try startAnew()
    pass(nanoseconds: 600_000_000_000)
    comeToRest()
  }

  /// Starts all programs anew: here they are not told what a command beside them has left them to do.
  private func startAnew() throws {
    for device in devices { device.stop() }
    pass(nanoseconds: 20_000_000_000)
    for device in devices { try device.start() }
  }

  private func end() {
    for device in devices { device.kill(losesPower: false) }
    while world.executor.runOne() {}
    _ = world.timeline.advance(upTo: .max)
    while world.executor.runOne() {}
    for device in devices { device.discard() }
    world.server.end()
  }

  // MARK: Always

  /// Where one device is all there is, nothing has changed elsewhere: who says so has met their own write.
  private func checkLone() throws {
    for device in devices where device.powerLosses == 0 {
      let conflicts = try device.conflicts()
      if !conflicts.isEmpty, world.complaints.isEmpty {
        world.complain("\(device.name): in conflict with itself: \(conflicts)")
      }
    }
  }
}
