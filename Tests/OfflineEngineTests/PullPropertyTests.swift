import LosslessJSON
import Randomness
import SupabaseAPI
import Synchronization
import Testing

@testable import OfflineEngine

/// A server whose rows change in every way while a replica pulls.
private struct Play {
  var random: SeededRandom
  let ground: Ground
  let stranger: Session
  /// Whether rows also get times that no overlap reaches, which only a sweep finds.
  let goesBack: Bool
  /// The number of the next row that is new to everybody.
  private var next = 1_000

  init(_ random: SeededRandom, _ ground: Ground, _ stranger: Session, goesBack: Bool) {
    (self.random, self.ground, self.stranger, self.goesBack) = (random, ground, stranger, goesBack)
  }

  private var world: World { ground.world }

  /// Does one thing to the server's rows, or to several at one time.
  mutating func step() throws {
    let number = Int.random(in: 1...60, using: &random)
    let row = try row(number)
    switch Int.random(in: 0..<12, using: &random) {
    case 0:
      let count = Int.random(in: 1...9, using: &random)
      try ground.lay(next..<next + count, at: now())
      next += count
    case 1, 2: try world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(number).text)")
    case 3:
      if row == nil { try ground.lay(number..<number + 1, at: now()) }
    case 4:
      // It leaves the view of its owner, or comes back.
      let isOwn = row?["user_id"] == .string(ground.session.user.id)
      try world.change(key(number), ["user_id": .string((isOwn ? stranger : ground.session).user.id)])
    case 5, 6: try world.change(key(number), ["done": .bool(row?["done"] != true)])
    case 7, 8: try stamp(number, secondsAgo: Int64.random(in: 0...50, using: &random))
    case 9:
      if goesBack { try stamp(number, secondsAgo: Int64.random(in: 100...100_000, using: &random)) }
    default: try world.change(key(number), ["notes": .string("\(Int.random(in: 0..<1_000, using: &random))")])
    }
  }

  private func now() -> String { WallTime(seconds: world.clock.now().seconds).text }

  /// A row as it is on the server.
  private func row(_ number: Int) throws -> JSONObject? {
    try world.admin("GET", "/rest/v1/tasks?id=eq.\(key(number).text)").arrayValue?.first?.objectValue
  }

  /// Changes a row as a transaction that began a while ago and commits now.
  private mutating func stamp(_ number: Int, secondsAgo: Int64) throws {
    // The server stamps updates itself, but not rows that come with their time.
    guard var row = try row(number) else { return }
    row["notes"] = .string("late \(Int.random(in: 0..<1_000, using: &random))")
    row["updated_at"] = .string(WallTime(seconds: world.clock.now().seconds - secondsAgo).text)
    try world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(number).text)")
    try world.lay([row])
  }

  /// Tells the replica of a row as it is now, as an event of the server does.
  mutating func tell() throws {
    let number = Int.random(in: 1...60, using: &random)
    let table = ground.replica.table
    let row = try row(number).flatMap { table.isShown($0, ground) ? $0 : nil }
    try ground.replica.client.transaction { transaction in
      if let row {
        try transaction.setCachedRow(table, key(number), row.picking(table.readColumns))
      } else if try transaction.cachedRow(table.name, key(number))?.values != nil {
        try transaction.setGone(table.name, key(number))
      }
    }
  }
}

extension TableDescription {
  /// Whether the replica's user sees a row under the table's conditions.
  fileprivate func isShown(_ row: JSONObject, _ ground: Ground) -> Bool {
    row["user_id"] == .string(ground.session.user.id) && Filter.and(conditions).holds(for: row) != false
  }
}

@Suite("Pulls of a table that moves")
struct PullPropertyTests {
  /// Plays changes, pulls whose answers come late or not at all, and events between them.
  private func play(_ seed: UInt64, goesBack: Bool) async throws -> Play {
    var random = SeededRandom(seed: seed)
    var table = World.tasks
    if random.once(in: 3) { table.conditions = [.eq("done", false)] }
    let ground = try await Ground(40, rowCountMax: random.pick([7, 1_000]), tables: [table])
    let stranger = try await ground.world.signUp("b@example.com")
    let play = Mutex(Play(random, ground, stranger, goesBack: goesBack))
    // Between what the server read and the answer's arrival much happens, and some of it is told at once.
    ground.replica.http.after { request in
      guard request.line.hasPrefix("GET /rest") else { return nil }
      return play.withLock { play in
        while !play.random.once(in: 3) { try? play.step() }
        if play.random.once(in: 2) { try? play.tell() }
        return play.random.once(in: 25) ? StandInExchange.cut : nil
      }
    }
    for _ in 0..<6 {
      let pause = try play.withLock { play in
        while !play.random.once(in: 4) { try play.step() }
        return Int.random(in: 0...40, using: &play.random)
      }
      ground.world.clock.advance(by: .seconds(pause))
      _ = try? await ground.replica.pull(isConfirmed: goesBack)
    }
    ground.replica.http.after(nil)
    return play.withLock(\.self)
  }

  private func check(_ ground: Ground, at location: SourceLocation = #_sourceLocation) throws {
    let table = ground.replica.table
    let rows = try ground.world.rows().filter { table.isShown($0, ground) }
    #expect(try ground.replica.rowCount == rows.count, sourceLocation: location)
    for row in rows {
      guard let key = table.key(of: row) else { continue }
      let cached = try ground.replica.cached(key)
      #expect(cached?.values == row.picking(table.readColumns), sourceLocation: location)
      #expect(cached?.isStale == false, sourceLocation: location)
    }
  }

  @Test("end with the table as it is, by cursor, overlap and count alone", arguments: 0..<UInt64(12 * testEffort))
  func withoutSweep(seed: UInt64) async throws {
    let ground = try await play(seed, goesBack: false).ground
    // Not confirmed, so that no sweep comes but by a count.
    for _ in 0..<4 {
      ground.world.clock.advance(by: .seconds(25))
      try await ground.replica.pull()
    }
    if try ground.replica.client.read({ try $0.heldVanishedRows("tasks") }) > 0 {
      try await ground.replica.pull(isConfirmed: true)
    }
    try check(ground)
  }

  @Test(
    "end with the table as it is, where times go backwards, after the next sweep",
    arguments: 0..<UInt64(12 * testEffort))
  func withSweep(seed: UInt64) async throws {
    let ground = try await play(seed, goesBack: true).ground
    ground.world.clock.advance(by: .seconds(3_601))
    try await ground.replica.pull(isConfirmed: true)
    try check(ground)
    ground.replica.http.forget()
    #expect(try await ground.replica.pull() == PullReport())
  }
}
