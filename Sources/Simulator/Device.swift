import Daemon
import FileWorkspace
import LosslessJSON
import OfflineEngine
import Randomness
import SQLite
import SupabaseAPI
import Synchronization

/// One replica: a disk, a state that outlives the program, and the program, which runs or does not.
final class Device: @unchecked Sendable {  // Proof: one thread runs everything in a world.
  let name: String
  let email: String
  let user: User
  let files: InMemoryFileSystem
  let settings: WorkspaceSettings
  let session: KeptSession
  private let world: World
  private let clock: DeviceClock
  private let state: DeviceState
  private let makeID: @Sendable () -> String
  private var random: SeededRandom
  private let surroundings = Surroundings()
  private let connectivity = SimulatedConnectivity()
  private(set) var run: Run?
  /// Whether a read of rows has been answered since peace was made.
  var hasRead = false
  /// How often it has lost power.
  private(set) var powerLosses = 0
  /// From how many on files that go at once are many, where they are more than half of all (DESIGN section 8).
  static let manyFiles = 3
  /// The keys of rows whose files all went at once, which nobody has confirmed yet.
  var accident: Set<String> = [] { didSet { rowCountAtAccident = world.newRowCount(of: user.id) } }
  private(set) var rowCountAtAccident = 0
  /// The pictures whose files all went at once, which nobody has confirmed yet, and how many photos there were.
  var photoAccident: (pictures: Set<Int>, rowCount: Int)?
  /// The keys of rows with a write on its way, and of those with one that was ever not heard of again.
  private var onTheWay: (keys: Set<String>, inDoubt: Set<String>) = ([], [])
  /// The last update of each row that was made from here, and the version that it left.
  var updates: [String: (body: [UInt8]?, version: JSONValue)] = [:]
  /// The rows' keys in files when they were copied, by the names of the copies.
  var copiedKeys: [String: String] = [:]
  /// The texts of files that an editor has removed and is about to write again.
  var removedToSave: [String: (text: String, since: Int64)] = [:]
  /// The table that the server did not know when a write of it was last answered: only its own writes wait for that.
  private var unknown: String?
  private var commands: [Task<Void, Never>] = []
  /// How many of them have not ended.
  private let commandCount = Atomic(0)
  /// When the last of them ended.
  private let commandEnd = Atomic(Int64.min)

  /// One run of the program.
  struct Run {
    let life: Life
    let open: OpenWorkspace
    let task: Task<Void, Never>
    let stop: AsyncStream<Int32>.Continuation
    let hasEnded: Ended
  }

  /// Whether a run's task has come to its end.
  final class Ended: Sendable {
    let reason = Mutex<String??>(nil)
  }

  init(_ world: World, name: String, email: String, session: Session, skew: Duration, _ random: SeededRandom) throws {
    self.world = world
    self.name = name
    self.email = email
    self.random = random
    user = session.user
    self.session = KeptSession(session)
    let timeline = world.timeline
    clock = DeviceClock(timeline, skew: skew)
    files = InMemoryFileSystem(now: { timeline.now })
    state = try DeviceState.free.take { try DeviceState() }
    let ids = Chance(self.random.fork())
    makeID = { ids.random.withLock { $0.uuid() } }
    settings = try Self.settings(world)
    try files.person.createFolder(StateFolder.root)
    for collection in settings.collections {
      try files.person.createFolder(collection.folder)
      if let photos = collection.photos { try files.person.createFolder(photos.folder) }
    }
    try files.makeNamesDurable([""])
    try OpenWorkspace.claim(state.store(clock: clock), for: session.user, settings)
  }

  private static func settings(_ world: World) throws -> WorkspaceSettings {
    var tasks: JSONObject = [
      "folder": "tasks", "table": "tasks", "key": "id", "version": "updated_at", "cursor": "updated_at",
      "name": "title", "columns": ["id uuid", "title text required", "notes text", "done boolean"],
    ]
    if world.day.hasPhotos { tasks["photos"] = ["folder": "photos", "table": "task_photos"] }
    let json: JSONValue = [
      "server": ["url": .string(SimulatedServer.origin), "key": .string(world.server.standIn.publishableKey)],
      "pullEvery": .integer(Int64(world.day.pullSeconds)),
      "conflicts": .string(world.day.conflicts),
      "live": .bool(world.day.isLive),
      "collections": [.object(tasks)],
    ]
    return try WorkspaceSettings(parsing: Array(json.serialized().utf8))
  }

  // MARK: Surroundings

  /// Changes what the surroundings are like.
  func change(_ body: (inout Surroundings.Mood) -> Void) { surroundings.mood.withLock { body(&$0) } }

  func setClock(skew: Duration) { clock.set(skew: skew) }

  /// Lets the kernel say something of the network.
  func tell(_ availability: NetworkAvailability) { connectivity.tell(availability) }

  /// Lets the machine seem to have slept.
  func wake(after slept: Duration) { clock.suspend(for: slept) }

  var isRunning: Bool { run.map { !$0.life.isOver && $0.hasEnded.reason.withLock { $0 == nil } } ?? false }

  /// Whether a command runs beside the program.
  var isCommanded: Bool { commandCount.load(ordering: .relaxed) > 0 }

  // MARK: The program

  /// Starts the program, as a person or a service manager does.
  func start() throws {
    guard !isRunning else { return }
    if run != nil { kill(losesPower: false) }
    let (world, name) = (world, name)
    let life = Life { world.trace("\(name): killed in the middle") }
    let judge = Judge(world: world, device: self)
    let watcher = makeWatcher()
    let network = SimulatedNetwork(
      judge, world.timeline, life, random: random.fork(),
      weather: { [surroundings] in surroundings.mood.withLock(\.weather) },
      trace: { line, isWrite in isWrite ? world.stir("\(name): \(line)") : world.trace("\(name): \(line)") })
    let sockets = SimulatedSockets(
      world.server, world.timeline, life, random: random.fork(),
      weather: { [surroundings] in surroundings.mood.withLock(\.weather) }, trace: { world.trace("\(name): \($0)") })
    let store = try state.store(clock: clock) {
      guard life.mayAct() else { throw Killed() }
      if life.isDiskFull { throw SQLiteError.diskFull(path: "state") }
    }
    let living = LivingFileSystem(files: files, life: life) { [unowned self] path in
      saveBetween(path, life)
    } hasWritten: { [unowned self] path in
      checkWritten(path)
    }
    var parts = OpenWorkspaceParts(
      folder: WorkspaceFolder(path: "/\(name)"), settings: settings, store: store,
      session: LivingSession(kept: session, life: life),
      files: living,
      environment: EngineEnvironment(
        clock: clock, http: network, makeID: makeID, executor: world.executor, sockets: sockets),
      log: { entries in
        for entry in entries { world.checkLog("\(entry.path) \(entry.detail)", of: name) }
      }, makeWatcher: { watcher }, findRepository: { nil })
    parts.inspectPhoto = PictureInspector.inspect
    // So few that there are several batches of them.
    parts.rowBatchCount = 3
    let open = try OpenWorkspace(parts)
    let (stop, stopping) = AsyncStream.makeStream(of: Int32.self)
    let hasEnded = Ended()
    world.trace("\(name): starts")
    let connectivity = connectivity
    let task = Task(executorPreference: world.executor) {
      do {
        let run = WatchRun(unreachable: open, connectivity: connectivity) { line in
          world.checkLog(line, of: name)
          world.stir("\(name): \(line)")
        }
        try await run.run(stop: stop) {}
        hasEnded.reason.withLock { $0 = .some(nil) }
      } catch {
        hasEnded.reason.withLock { $0 = .some("\(error)") }
        if !life.isOver { world.complain("\(name): the program ended by itself: \(error)") }
      }
      watcher.stop()
    }
    run = Run(life: life, open: open, task: task, stop: stopping, hasEnded: hasEnded)
  }

  private func makeWatcher() -> SimulatedWatcher {
    let chance = Chance(random.fork())
    let watcher = SimulatedWatcher(world.timeline) { [surroundings] in
      let mood = surroundings.mood.withLock(\.self)
      return chance.random.withLock { random in
        (
          Int64(random.draw(below: max(mood.eventDelayMilliseconds, 1))) * 1_000_000,
          random.draw(below: 1_000) < mood.overflow
        )
      }
    }
    files.watch { watcher.note($0, $1) }
    return watcher
  }

  /// Asks it to stop, as Ctrl-C does.
  func stop() {
    run?.stop.yield(2)
    endCommands()
  }

  /// Runs a command beside the program, which ends with it.
  func command(_ body: @escaping @Sendable (OpenWorkspace) async throws -> Void) {
    guard isRunning, let open = run?.open else { return }
    commandCount.add(1, ordering: .relaxed)
    commands.append(
      Task(executorPreference: world.executor) { [self] in
        try? await body(open)
        commandEnd.store(world.timeline.now, ordering: .relaxed)
        commandCount.subtract(1, ordering: .relaxed)
      })
  }

  /// Has a person say that what is missing is really gone; nothing is, while the folder is away.
  func confirm() {
    guard isRunning else { return }
    world.trace("\(name): person confirms")
    if isMounted { accident = [] }
    photoAccident = nil
    command { _ = try await $0.sync(isConfirmed: true, isWatching: true) }
  }

  private func endCommands() {
    for command in commands { command.cancel() }
    commands = []
  }

  /// Its counts as `status` tells them.
  func status() throws -> StatusReport? {
    guard isRunning, let open = run?.open else { return nil }
    return try world.wait { try await open.status(isWatching: true) }
  }

  /// Ends it without a word.
  ///
  /// - Parameter losesPower: Whether what was not yet durable may be gone.
  func kill(losesPower: Bool) {
    if let run {
      run.life.end()
      run.stop.yield(9)
      run.task.cancel()
    }
    endCommands()
    run = nil
    files.watch(nil)
    world.trace("\(name): \(losesPower ? "loses power" : "dead")")
    guard losesPower else { return }
    powerLosses += 1
    // What an editor was about to write again is removed, then, by nobody's mistake but its own.
    for removed in removedToSave.values { world.words.save("", over: removed.text) }
    removedToSave = [:]
    files.crash { random.draw(below: $0) }
    // A file that has lost its text may count as one that is called by its title.
    for name in rowNames where text(name)?.isEmpty == true { world.words.bring(name, on: self) }
  }

  /// Puts it away: nothing of it may run any more.
  func discard() {
    if (try? state.clear()) != nil { DeviceState.free.giveBack(state) }
  }

  /// Lets it die by itself after so many effects more.
  func kill(afterEffects count: Int) { run?.life.end(afterEffects: count) }

  /// Lets it live after all.
  func spare() { run?.life.end(afterEffects: .max) }

  func setDiskFull(_ isFull: Bool) { run?.life.isDiskFull = isFull }

  /// The words of files that an editor has left away for so long, before it writes them again, that the program may take
  /// them for removed: a command that somebody runs waits less than the watcher, and what it decides is sent after its end.
  var overdueWords: Set<String> {
    let commandEnd = isCommanded ? world.timeline.now : commandEnd.load(ordering: .relaxed)
    return removedToSave.values.reduce(into: []) { words, removed in
      guard
        world.timeline.now - removed.since >= settings.deleteAfter.nanoseconds
          || commandEnd >= removed.since + Workspace.absenceProof.nanoseconds
      else { return }
      words.formUnion(SavedWords.words(in: removed.text))
    }
  }

  /// Whether the program knows a file as a row's.
  func isKnown(_ name: String) -> Bool {
    let rows = try? state.database.rows("SELECT 1 FROM mirror WHERE path = ?", [.text("tasks/\(name)")])
    return rows?.isEmpty == false
  }

  /// Whether the program has begun to replace a file, and has not noted what came of it.
  func isBeingReplaced(_ name: String) -> Bool {
    let intents = (try? texts("SELECT intent AS text FROM write_intent")) ?? []
    return intents.contains { (try? JSONValue(parsing: $0))?["path"] == .string("tasks/\(name)") }
  }

  /// What a file's base says where the program has not looked at the file since it was saved.
  func baseBeforeSave(_ name: String) -> String? {
    guard let bytes = files.person.bytes("tasks/\(name)") else { return nil }
    let rows = try? state.database.rows("SELECT base, hash FROM mirror WHERE path = ?", [.text("tasks/\(name)")])
    guard let row = rows?.first, row.text("hash") != ContentHash(of: bytes).description else { return nil }
    return row.text("base")
  }

  // MARK: Requests

  /// Notes that a write of some rows leaves.
  func noteLeaving(_ keys: Set<String>) {
    onTheWay.inDoubt.formUnion(keys.intersection(onTheWay.keys))
    onTheWay.keys.formUnion(keys)
  }

  /// Notes that the answer to a write of some rows has come.
  ///
  /// - Returns: Whether one of them was ever written without an answer.
  func noteHeard(_ keys: Set<String>) -> Bool {
    onTheWay.keys.subtract(keys)
    return !onTheWay.inDoubt.isDisjoint(with: keys)
  }

  /// Notes that the server has said of a table, or a column of it, that it does not know it.
  func noteUnknown(_ table: String) { unknown = table }

  /// The table whose writes the others pass, until one of it leaves again.
  func unknownTable(besides table: String?) -> String? {
    if unknown == table { unknown = nil }
    return unknown
  }

  // MARK: Races

  /// Lets a person save a file at the moment at which the program is about to take its name, where that is planned.
  private func saveBetween(_ path: String, _ life: Life) {
    let name = WorkspacePath.name(of: path)
    guard WorkspacePath.folder(of: path) == "tasks", FileNames.isRowFile(name), text(name) != nil,
      !world.buffers.isBeingWritten(name, on: self), !life.isOver
    else { return }
    let isPlanned = surroundings.mood.withLock { mood in
      defer { mood.interruptions = max(mood.interruptions - 1, 0) }
      return mood.interruptions > 0
    }
    guard isPlanned else { return }
    world.trace("\(self.name): \(path) is about to be swapped")
    var person = Person(device: self, world: world, random: random.fork())
    try? person.edit(name)
    if random.oneIn(3) { life.end(afterEffects: random.draw(below: 5)) }
  }

  /// A text that the program has just put in place shows what is queued of its row.
  private func checkWritten(_ path: String) {
    let name = WorkspacePath.name(of: path)
    guard WorkspacePath.folder(of: path) == "tasks", FileNames.isRowFile(name), let row = row(name),
      let id = row["id"]?.stringValue
    else { return }
    do {
      var queued = JSONObject()
      for body in try texts(
        "SELECT body AS text FROM mutation WHERE list = 'queued' AND operation <> 'DELETE' AND key = '\(id)' ORDER BY id"
      ) {
        queued = queued.overlaid(with: try JSONValue(parsing: body).objectValue ?? [:])
      }
      for (column, value) in queued.members where row[column].map({ $0 != value }) ?? false {
        world.complain("\(self.name): \(path) was written without the \(column) that is queued")
      }
    } catch {
      world.complain("\(self.name): \(error)")
    }
  }

  // MARK: Folders that come and go

  private static let away = ".away"

  /// Takes the folder of tasks away, as a disk that is not mounted, for a while.
  func unmount(for nanoseconds: Int64) throws {
    guard isMounted else { return }
    world.trace("\(name): the folder is unmounted")
    try files.person.rename("tasks", Self.away)
    try files.makeNamesDurable([""])
    world.timeline.schedule(after: nanoseconds) { [self] in mount() }
  }

  var isMounted: Bool { (try? files.status(Self.away)) == .some(nil) }

  /// Puts the folder back where it was taken away.
  func mount() {
    guard !isMounted else { return }
    world.trace("\(name): the folder is mounted again")
    // A person's word that is just being taken finds it there.
    if isCommanded { accident = [] }
    try? files.person.rename(Self.away, "tasks")
    try? files.makeNamesDurable([""])
  }

  // MARK: What a look shows

  /// What a query of its state shows in the column `text`.
  func texts(_ sql: String) throws -> [String] { try state.database.rows(sql).compactMap { $0.text("text") } }

  /// What a query of its state shows in the column `number`.
  func numbers(_ sql: String) throws -> [Int64] { try state.database.rows(sql).compactMap { $0.integer("number") } }

  /// The keys of the first queued writes, but for those of one table.
  func queuedKeys(limit: Int, besides table: String?) -> [String] {
    let besides = table.map { "AND table_name <> '\($0)'" } ?? ""
    return
      (try? texts("SELECT key AS text FROM mutation WHERE list = 'queued' \(besides) ORDER BY id LIMIT \(limit)")) ?? []
  }

  /// The texts of writes that are queued, refused or in conflict.
  func storedTexts() throws -> [String] { try texts("SELECT coalesce(body, '') AS text FROM mutation") }

  /// Whether anything waits for a person's word.
  func holdsSomething() throws -> Bool {
    try numbers(
      """
      SELECT (SELECT count(*) FROM mirror WHERE is_held) + (SELECT count(*) FROM pull_state WHERE held_vanished)
        + (SELECT count(*) FROM note WHERE name LIKE 'adoption %' AND value LIKE 'held %')
        + (SELECT count(*) FROM photo WHERE is_held) AS number
      """) != [0]
  }

  /// The writes that met another change of their row and wait for a person.
  func conflicts() throws -> [String] {
    try texts("SELECT message AS text FROM mutation WHERE list = 'conflicted' AND message LIKE '%changed%' ORDER BY id")
  }

  /// The names in the folder of tasks, sorted.
  var names: [String] { files.person.paths(below: "tasks").map { WorkspacePath.name(of: $0) } }

  /// The names of rows' files.
  var rowNames: [String] { names.filter(FileNames.isRowFile) }

  /// A file's text, an empty one as the name that it takes its title from.
  func seen(_ name: String) -> String? { text(name).map { $0.isEmpty ? name : $0 } }

  func text(_ name: String) -> String? {
    files.person.bytes("tasks/\(name)").map { String(decoding: $0, as: UTF8.self) }
  }

  func row(_ name: String) -> JSONObject? {
    files.person.bytes("tasks/\(name)").flatMap { try? JSONValue(parsing: $0).objectValue }
  }

  /// Every text on the disk that a person can come by: not those that are kept for late writers only.
  var keptTexts: [String] {
    let files = files.person
    return files.paths().filter { path in
      !Self.passing.contains { WorkspacePath.folder(of: path).hasPrefix($0) }
    }
    .map { path in path + " " + String(decoding: files.bytes(path) ?? [], as: UTF8.self) }
  }

  private static let passing = [StateFolder.replaced, ".tidemark/tmp"]
}

/// What the device's surroundings are like: outside the program, so the same for each of its runs.
final class Surroundings: Sendable {
  struct Mood {
    var weather = Weather()
    var eventDelayMilliseconds = 5
    /// How many of a thousand batches of events are lost.
    var overflow = 0
    /// How often a person still saves just when the program is about to swap a name.
    var interruptions = 0
  }

  let mood = Mutex(Mood())
}

/// A generator that several may draw from.
private final class Chance: Sendable {
  let random: Mutex<SeededRandom>

  init(_ random: SeededRandom) { self.random = Mutex(random) }
}

/// The process has died.
struct Killed: Error {}

/// The session file of a device.
final class KeptSession: SessionStorage {
  private let kept: Mutex<Session?>

  init(_ session: Session) { kept = Mutex(session) }

  func load() -> Session? { kept.withLock(\.self) }
  func save(_ session: Session) { kept.withLock { $0 = session } }
  func clear() { kept.withLock { $0 = nil } }
}

/// The session file as one run of the program reaches it.
struct LivingSession: SessionStorage {
  let kept: KeptSession
  let life: Life

  func load() throws -> Session? {
    guard life.mayAct() else { throw Killed() }
    return kept.load()
  }

  func save(_ session: Session) throws {
    guard life.mayAct() else { throw Killed() }
    kept.save(session)
  }

  func clear() throws {
    guard life.mayAct() else { throw Killed() }
    kept.clear()
  }
}

extension SeededRandom {
  /// A version 4 UUID (RFC 9562).
  mutating func uuid() -> String {
    let (high, low) = (next(), next())
    let text = { (value: UInt64, digits: Int) in
      let hex = String(value, radix: 16)
      return String(repeating: "0", count: max(0, digits - hex.count)) + hex.suffix(digits)
    }
    return "\(text(high >> 32, 8))-\(text(high >> 16 & 0xFFFF, 4))-4\(text(high & 0xFFF, 3))-"
      + "\(text(0x8000 | low >> 48 & 0x3FFF, 4))-\(text(low & 0xFFFF_FFFF_FFFF, 12))"
  }
}
