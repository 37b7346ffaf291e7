import LosslessJSON
import OfflineEngine
import Randomness
import StandInServer
import Synchronization
import Testing

@testable import FileWorkspace

@Suite("Two replicas, whatever people and networks do")
struct ConvergenceTests {
  @Test("both end in step, and nothing that was saved is lost", arguments: 0..<6)
  func converge(part: Int) async throws { try await play(part: part, hasPolicies: false) }

  @Test("that holds whatever the settings of each say about conflicts", arguments: 6..<9)
  func convergeUnderPolicies(part: Int) async throws { try await play(part: part, hasPolicies: true) }

  private func play(part: Int, hasPolicies: Bool) async throws {
    let clock = VirtualClock()
    let server = try TaskWorld.project(clock)
    for number in 0..<(8 * testEffort) {
      let seed = UInt64(part * 1_000_000 + number)
      let run = try await RandomRun(seed, server, clock, number: number + 1, hasPolicies: hasPolicies)
      try await run.play()
      try await run.end()
      guard run.complaints.isEmpty else {
        Issue.record("seed \(seed): \(run.complaints.joined(separator: "\n"))\n\(run.story.joined(separator: "\n"))")
        return
      }
    }
  }
}

/// One run: a person at each of two replicas, faults of the network, deaths of the program, and at the end a long calm.
final class RandomRun {
  private var random: SeededRandom
  let world: TaskWorld
  let people: [PersonAtWork]
  let words = SavedWords()
  private(set) var complaints: [String] = []
  private(set) var story: [String] = []

  init(
    _ seed: UInt64, _ server: StandIn, _ clock: VirtualClock, number: Int, hasPolicies: Bool = false
  ) async throws {
    var random = SeededRandom(seed: seed)
    var rows: [JSONObject] = []
    for _ in 1...4 {
      let row: JSONObject = [
        "id": .string(random.uuid()), "title": .string(words.new()), "notes": .string(words.new()),
      ]
      rows.append(row)
      words.save(JSONValue.object(row).serialized(), over: nil)
    }
    server.faults = []
    world = try await TaskWorld(server: server, clock, number: number, rows)
    var people: [PersonAtWork] = []
    for _ in 0..<2 {
      let replica = hasPolicies ? try Self.replicaWithPolicies(world, &random, &story) : try world.replica()
      people.append(PersonAtWork(replica, words))
    }
    self.people = people
    self.random = random
    for person in people {
      try await person.replica.sync()
      person.openAll()
    }
  }

  private static func replicaWithPolicies(
    _ world: TaskWorld, _ random: inout SeededRandom, _ story: inout [String]
  ) throws -> Replica {
    let notes: JSONObject = [
      "name": "notes", "type": "text", "conflicts": .string(random.pick(["hold", "mine", "theirs", "merge"])),
    ]
    let policy = random.pick([nil, "mine", "theirs"])
    story.append("a replica for \(policy ?? "hold"), notes \(notes["conflicts"] ?? .null)")
    return try world.replica(
      ["id uuid", "title text required", .object(notes), "done boolean"], conflicts: policy)
  }

  // MARK: The busy part

  func play() async throws {
    for _ in 0..<Int.random(in: 6...16, using: &random) {
      let person = random.pick(people)
      switch Int.random(in: 0..<10, using: &random) {
      case 0...5:
        let before = state(of: person.replica)
        try await person.act(&random)
        tell(person, "acts:\n\(before)\n->\n\(state(of: person.replica))")
      case 6: world.clock.advance(.seconds(Int.random(in: 1...40, using: &random)))
      case 7:
        person.replica.network.isConnected.toggle()
        tell(person, person.replica.network.isConnected ? "on-line" : "off-line")
      case 8: disturb()
      default: try await undo(person)
      }
      if Int.random(in: 0..<3, using: &random) == 0 { try await sync(person) }
    }
  }

  private func disturb() {
    let kind: StandInFault.Kind = random.pick([
      .dropAfter, .dropAfter, .dropBefore, .unavailable(retryAfter: 1), .truncate, .proxy520, .loginPage,
    ])
    let fault = StandInFault(
      kind, skipping: Int.random(in: 0...3, using: &random),
      method: random.pick([nil, "POST", "PATCH", "DELETE"]), path: "/rest/")
    world.server.faults.append(fault)
    story.append("fault \(fault)")
  }

  private func undo(_ person: PersonAtWork) async throws {
    let isAddedToo = Int.random(in: 0..<4, using: &random) == 0
    guard person.replica.hasLooked else { return }
    let undone = try await person.replica.workspace.undo(isAddedToo: isAddedToo)
    // A row that comes back is a new one; two people may bring one back.
    for file in undone.files where file.fate == .restored {
      words.copy(person.replica.text(WorkspacePath.name(of: file.path)) ?? "")
    }
    tell(person, "undoes: \(undone.files.map { "\($0.fate) \($0.path) \($0.detail)" })")
  }

  private func sync(_ person: PersonAtWork) async throws {
    let replica = person.replica
    if Int.random(in: 0..<4, using: &random) == 0 {
      let last = Int.random(in: 0...25, using: &random)
      replica.commits.plan(last: last)
      tell(person, "dies after \(last) commits")
    }
    do {
      let result: SyncResult
      if replica.hasLooked, Bool.random(using: &random) {
        let names = Set(replica.names + person.namesBefore).sorted().shuffled(using: &random)
        tell(person, "sees events of \(names)")
        result = try await replica.watch(names)
      } else {
        result = try await replica.sync()
      }
      person.namesBefore = replica.names
      tell(
        person,
        "syncs: \(result.files.events.map { "\($0.kind) \($0.path) \($0.detail)" }) \(result.failure.map { "\($0)" } ?? "")"
      )
    } catch {
      guard replica.files.isStopped else { throw error }
      tell(person, "died")
    }
    if replica.files.isStopped || Int.random(in: 0..<4, using: &random) == 0 { try replica.restart() }
    replica.commits.restart()
  }

  private func tell(_ person: PersonAtWork, _ what: String) {
    story.append("\(person === people[0] ? "A" : "B") \(what)")
  }

  private func state(of replica: Replica) -> String {
    replica.names.map { "    \($0): \((replica.text($0) ?? "").split(separator: "\n").joined())" }
      .joined(separator: "\n")
  }

  // MARK: The calm at the end

  private var finalCheck: FinalCheck { FinalCheck(world: world, people: people, words: words) }

  func end() async throws {
    world.server.faults = []
    for person in people {
      person.replica.network.isConnected = true
      try person.replica.restart()
    }
    try await calm()
    complaints += finalCheck.complaints()
    if complaints.isEmpty { complaints += try await finalCheck.complaintsAboutQuiet() }
    // Every side file is settled for theirs; what is left is in step and waits for nobody.
    for person in people {
      while let side = person.sideNames.first, complaints.isEmpty {
        words.save("", over: person.replica.text(side))
        try person.replica.remove(side)
        for _ in 0..<3 { try await person.replica.sync() }
        if person.sideNames.contains(side) { complaints.append("\(side) does not close") }
      }
    }
    guard complaints.isEmpty else { return }
    try await calm()
    complaints += finalCheck.complaints()
    for person in people {
      let lists = try person.replica.client.read { try $0.counts() }
      if lists != MutationCounts() { complaints.append("something waits still: \(lists)") }
    }
  }

  private func calm() async throws {
    for round in 0..<8 {
      world.clock.advance(.seconds(40))
      var isQuiet = true
      for person in people {
        let needsWord = try await person.replica.workspace.summary().held > 0
        let result = try await person.replica.sync(isConfirmed: needsWord)
        tell(person, "settles: \(result.files.events.map { "\($0.kind) \($0.path) \($0.detail)" })")
        // What the other removed in large numbers needs a word here, too.
        let needsAnother = try await person.replica.workspace.summary().held > 0
        if !result.isQuiet || result.failure != nil || needsWord || needsAnother { isQuiet = false }
      }
      if isQuiet { return }
      if round == 7 { complaints.append("no end of work") }
    }
  }
}
