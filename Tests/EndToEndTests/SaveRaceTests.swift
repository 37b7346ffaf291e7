import Foundation
import Glibc
import Testing

/// How a program puts the text that it has ready in a file's place.
private enum SaveWay: String, CaseIterable, Sendable {
  /// Writes beside the file and renames over it.
  case renamingOver
  /// Renames the file away, writes a new one under its name, and removes the old.
  case renamingAway
  /// Cuts the file and fills it again.
  case inPlace
  /// As `inPlace`, through a descriptor that was open before the server's change came.
  case inPlaceHeldOpen
}

/// When a round's first save begins.
private enum SaveMoment: CaseIterable, Sendable {
  case atOnce
  /// Once the new text lies in the temporary folder, on its way to the file's name.
  case whileWritten
  /// Once the file's name shows another file.
  case onceReplaced
}

/// One person with one file: saves titles, as some program does, while the server changes the row.
private struct RacingPerson: Sendable {
  let replica: Replica
  let name: String
  let way: SaveWay
  let moment: SaveMoment
  /// Whether the text is read anew before each save, or is an editor's buffer from before the race.
  let readsAnew: Bool
  let titles: [String]
  /// How long after its moment each save begins, in microseconds: a race is looked at in all its parts.
  let delays: [UInt32]
  /// The file's number before anything of the round has happened: later it may be replaced already.
  let inode: ino_t

  private var path: String { "\(replica.path)/tasks/\(name)" }

  /// Saves all titles, each as a whole text.
  ///
  /// - Returns: How many saves began while the watcher had a text for the file on its way.
  func save() throws -> Int {
    var buffer = try replica.text("tasks/\(name)")
    let held = way == .inPlaceHeldOpen ? open(path, O_WRONLY | O_CLOEXEC) : -1
    defer { if held >= 0 { close(held) } }
    try waitForMoment()
    var racing = 0
    for (title, delay) in zip(titles, delays) {
      usleep(delay)
      if isBeingWritten { racing += 1 }
      if readsAnew { buffer = try replica.text("tasks/\(name)") }
      buffer.replace(#/"title": "[^"]*"/#, with: "\"title\": \"\(title)\"")
      put(buffer, held)
    }
    return racing
  }

  private func waitForMoment() throws {
    guard moment != .atOnce else { return }
    // Watched first, looked at then.
    let news = try FolderNews(of: ["\(replica.path)/tasks", "\(replica.path)/.tidemark/tmp"])
    var found = stat()
    while stat(path, &found) != 0 || found.st_ino == inode {
      if moment == .whileWritten, isBeingWritten { return }
      news.wait()
    }
  }

  private var isBeingWritten: Bool {
    let names = try? FileManager.default.contentsOfDirectory(atPath: "\(replica.path)/.tidemark/tmp")
    return names?.contains { $0.hasPrefix(name) } ?? false
  }

  private func put(_ text: String, _ held: Int32) {
    switch way {
    case .renamingOver:
      fill(open(path + ".tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644), text)
      rename(path + ".tmp", path)
    case .renamingAway:
      rename(path, path + "~")
      fill(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644), text)
      unlink(path + "~")
    case .inPlace: fill(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), text)
    case .inPlaceHeldOpen:
      ftruncate(held, 0)
      lseek(held, 0, SEEK_SET)
      fill(dup(held), text)
    }
  }

  private func fill(_ descriptor: Int32, _ text: String) {
    let bytes = Array(text.utf8)
    let half = bytes.count / 2
    Glibc.write(descriptor, bytes, half)
    Glibc.write(descriptor, Array(bytes[half...]), bytes.count - half)
    close(descriptor)
  }
}

/// Where the saved texts are: each counts in one place.
private struct RaceAccount: CustomStringConvertible {
  var rounds = 0
  var saves = 0
  var onServer = 0
  var inSideFile = 0
  var keptAside = 0
  /// Of one round's saves all but the last: the same person put a later text in their place.
  var savedOver = 0
  var lost: [String] = []
  /// Saves that began while the watcher had a text for the file on its way.
  var racing = 0
  /// Texts saved into files that had left their names.
  var late = 0

  var isComplete: Bool { onServer + inSideFile + keptAside + savedOver == saves && lost.isEmpty }

  var description: String {
    """
    \(rounds) rounds, \(saves) saves: \(onServer) on the server, \(inSideFile) in a side file, \(keptAside) in the trash, \
    \(savedOver) saved over by the same person, \(lost.count) lost; \(racing) began while their file was being written, \
    \(late) went into a file that had been replaced
    """
  }
}

/// When both sides change the same column of a row, which is no merge.
///
/// Seldom enough for each row that it does not count as one that programs keep changing back.
private struct Meetings {
  private var last: [ContinuousClock.Instant?]

  init(count: Int) { last = Array(repeating: nil, count: count) }

  mutating func isTime(for index: Int, using random: inout some RandomNumberGenerator) -> Bool {
    if let last = last[index], ContinuousClock.now - last < .seconds(15) { return false }
    guard Int.random(in: 0..<3, using: &random) == 0 else { return false }
    last[index] = .now
    return true
  }
}

@Suite("Saves that race against the server's changes", .serialized, .timeLimit(.minutes(120)))
struct SaveRaceTests {
  /// How many rounds: some hundreds in every run, ten thousand by `make soak`.
  private static let roundCount = ProcessInfo.processInfo.environment["TIDEMARK_RACES"].flatMap { Int($0) } ?? 240
  /// How many files are raced for at once.
  private static let width = 8

  @Test("each saved text is on the server, beside the file, in the trash, or its person saved over it")
  func everySaveIsAccountedFor() async throws {
    let files = (1...Self.width).map { ("race\($0).json", Scene.task($0, title: "start", notes: "start")) }
    let scene = try await Scene(Dictionary(uniqueKeysWithValues: files), settings: ["settle": 20])
    var account = RaceAccount()
    var meetings = Meetings(count: Self.width)
    while account.rounds < Self.roundCount {
      try await race(scene, &account, &meetings)
      try #require(account.isComplete, "\(account)\n\(account.lost)")
    }
    account.late = scene.watch.lines.count { $0.contains("was saved into after it had been replaced") }
    print(account)
    #expect(account.racing > 0, "no save raced: \(account)")
    #expect(await scene.watch.stop().status == 0)
  }

  /// One round for each file: the server changes its row, its person saves, and once all is quiet the account is made.
  private func race(
    _ scene: Scene, _ account: inout RaceAccount, _ meetings: inout Meetings
  ) async throws {
    var random = SystemRandomNumberGenerator()
    let round = account.rounds / Self.width
    var people: [RacingPerson] = []
    for number in 1...Self.width {
      let way = SaveWay.allCases[number % SaveWay.allCases.count]
      let count = Int.random(in: 1...3, using: &random)
      people.append(
        RacingPerson(
          replica: scene.replica, name: "race\(number).json", way: way,
          moment: SaveMoment.allCases.randomElement(using: &random) ?? .atOnce,
          readsAnew: way != .inPlaceHeldOpen && .random(using: &random),
          titles: (1...count).map { "mine \(round).\(number).\($0)" },
          delays: (1...count).map { _ in UInt32.random(in: 0...12_000, using: &random) },
          inode: try Self.inode("\(scene.replica.path)/tasks/race\(number).json")))
    }
    let meets = (0..<Self.width).map { meetings.isTime(for: $0, using: &random) }
    account.racing += try await withThrowingTaskGroup(of: Int.self) { group in
      for person in people { group.addTask { try await Self.onThread { try person.save() } } }
      for index in people.indices.shuffled(using: &random) {
        let title = meets[index] ? ["title": "theirs \(round)"] : [:]
        try await scene.site.change(
          id: Scene.taskID(index + 1), title.merging(["notes": "theirs \(round)"]) { one, _ in one })
      }
      return try await group.reduce(0, +)
    }
    try await quiet(scene.replica)
    let rows = try await scene.rows()
    for (index, person) in people.enumerated() {
      let row = try #require(rows[Scene.taskID(index + 1)])
      try await take(person, row, meets: meets[index], of: scene.replica, &account)
      #expect(row["notes"] as? String == "theirs \(round)", "the server's change was turned back by \(person.way)")
    }
    account.rounds += Self.width
  }

  private static func inode(_ path: String) throws -> ino_t {
    var found = stat()
    guard stat(path, &found) == 0 else { throw POSIXError(.ENOENT) }
    return found.st_ino
  }

  private func take(
    _ person: RacingPerson, _ row: [String: Any], meets: Bool, of replica: Replica, _ account: inout RaceAccount
  ) async throws {
    account.saves += person.titles.count
    account.savedOver += person.titles.count - 1
    let last = try #require(person.titles.last)
    let file = try replica.row("tasks/\(person.name)")
    #expect(NSDictionary(dictionary: file).isSubset(of: row), "\(person.name) and its row differ: \(file) \(row)")
    let side = "tasks/" + person.name.replacing(".json", with: ".mine.json")
    if row["title"] as? String == last {
      account.onServer += 1
    } else if replica.exists(side), try replica.text(side).contains("\"\(last)\"") {
      #expect(meets, "\(last) met nothing of the same column")
      account.inSideFile += 1
    } else if replica.keepsAside(last) {
      account.keptAside += 1
    } else {
      account.lost.append("\(last), saved by \(person.way) \(person.moment), readsAnew \(person.readsAnew): \(row)")
    }
    // Theirs is kept where the two sides met, so that the next round begins in step.
    if replica.exists(side) {
      try await replica.run("resolve", "tasks/\(person.name)", "--theirs").expectSuccess()
      #expect(replica.keepsAside(last) || row["title"] as? String == last, "\(last) is not in the trash")
    }
  }

  /// Has everything looked at, sent, read and written until there is nothing more to do.
  private func quiet(_ replica: Replica) async throws {
    for _ in 0..<100 {
      let counts = try await replica.run("sync", "--json").json()
      let left = ["synced", "filesWritten", "filesRemoved", "remaining"].filter { counts[$0] as? Int != 0 }
      if left.isEmpty, counts["problems"] as? Int == 0 { return }
    }
    let status = try await replica.run("status").output
    try #require(Bool(false), "there is no end of work, or a problem: \(status)")
  }

  private static func onThread<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
  }
}

extension NSDictionary {
  /// Whether all that stands here stands there too.
  fileprivate func isSubset(of other: [String: Any]) -> Bool {
    allSatisfy { name, value in (name as? String).flatMap { other[$0] as? NSObject } == value as? NSObject }
  }
}

extension Replica {
  /// Whether a value stands in one of the texts that were kept aside.
  fileprivate func keepsAside(_ value: String) -> Bool {
    ["trash", "replaced"].contains { folder in
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(path)/.tidemark/\(folder)")) ?? []
      return names.contains { (try? text(".tidemark/\(folder)/\($0)"))?.contains("\"\(value)\"") ?? false }
    }
  }
}
