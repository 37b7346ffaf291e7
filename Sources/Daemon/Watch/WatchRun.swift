import FileWorkspace
import OfflineEngine
import Synchronization

/// One running workspace: files are watched, edits queued, the queue sent, rows fetched and written back.
///
/// Its loops run side by side: files, due work, photos, network, control and more. Files never wait for the network: an
/// edit is queued as soon as its file has settled, however slow the server is.
public final class WatchRun: Sendable {
  let open: OpenWorkspace
  private let log: @Sendable (String) -> Void
  let networkWake = Wake()
  /// Ends the wait after a failure: what a person does, not what they edit.
  private let retryWake = Wake()
  private let dueWake = Wake()
  /// Rung when there may be something to do about photos.
  let photoWake = Wake()
  /// Rung when rows of photos are queued.
  let photoRowsWake = Wake()
  /// The wait before the server is asked for photos again after a failure.
  let photoPlan = Mutex(ExchangePlan(pullEvery: .zero))
  /// Ends waits that nothing but the end of the run shortens.
  let endWake = Wake()
  /// The requests of commands; ends with `stopListening`.
  private let calls: AsyncStream<ControlListener.Call>
  private let stopListening: @Sendable () -> Void
  private let isOver = Atomic(false)
  private let networkWatch: NetworkWatch
  private let commits: CommitWatch
  private let plan: SharedPlan
  private let live: LiveWatch

  /// How often who waits for an answer is told that the work goes on.
  private static let sayWorkingEvery = Duration.seconds(3)
  /// The loops of a run, the one that waits for a stop among them.
  private static let loopCount = 11
  /// How long the request in hand may take once the program is asked to stop.
  private static let stopLimit = Duration.seconds(5)

  /// A run over an open workspace; `log` gets one line an event.
  ///
  /// - Parameters:
  ///   - connectivity: Where news of the network come from; not asked for a server on this machine.
  ///   - commit: Commits what changed to git, on a thread of its own; called where the settings ask for it, once a quiet
  ///     period, never while git is at work. Returns what is to be told.
  public convenience init(
    _ open: OpenWorkspace, connectivity: any ConnectivitySource = NetlinkMonitor(),
    commit: (@Sendable () -> String?)? = nil,
    log: @escaping @Sendable (String) -> Void
  ) throws {
    let isLocal = try open.settings.server.project.isLoopback
    let watch = NetworkWatch(connectivity: isLocal ? nil : connectivity, clock: open.environment.clock)
    let listener = try ControlListener(folderPath: open.folder.statePath)
    self.init(
      open, calls: listener.calls, stopListening: { listener.stop() }, networkWatch: watch, commit: commit, log: log)
  }

  /// A run that nobody can send requests to: for a world in which every command has a process of its own.
  ///
  /// - Parameter connectivity: Where that world's news of the network come from.
  public convenience init(
    unreachable open: OpenWorkspace, connectivity: any ConnectivitySource, log: @escaping @Sendable (String) -> Void
  ) {
    let (calls, continuation) = AsyncStream.makeStream(of: ControlListener.Call.self)
    let watch = NetworkWatch(connectivity: connectivity, clock: open.environment.clock)
    self.init(
      open, calls: calls, stopListening: { continuation.finish() }, networkWatch: watch, commit: nil, log: log)
  }

  private init(
    _ open: OpenWorkspace, calls: AsyncStream<ControlListener.Call>, stopListening: @escaping @Sendable () -> Void,
    networkWatch: NetworkWatch, commit: (@Sendable () -> String?)?, log: @escaping @Sendable (String) -> Void
  ) {
    self.open = open
    commits = CommitWatch(open, commit: commit)
    self.calls = calls
    self.stopListening = stopListening
    self.log = log
    self.networkWatch = networkWatch
    let plan = SharedPlan(ExchangePlan(pullEvery: open.settings.pullEvery))
    self.plan = plan
    let (networkWake, retryWake) = (networkWake, retryWake)
    live = LiveWatch(open) {
      plan.withLock { $0.requireRead() }
      // A server that tells changes is there: a wait after a failure is over, too.
      networkWake.ring()
      retryWake.ring()
    }
  }

  /// Runs until `stop` has an element; then the write in hand is finished.
  ///
  /// - Parameter ready: Called once everything of the time before is queued and the folders are watched.
  public func run(stop: AsyncStream<Int32>, ready: @escaping @Sendable () -> Void) async throws {
    let watch = FileWatch(open) { self.say($0) }
    let watching = Wake()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await watch.run { watching.ring() } }
      group.addTask {
        for await _ in stop { break }
        self.finish(watch)
      }
      defer { finish(watch) }
      // Watched first, looked at then: what changes in between is told again, and looking twice does no harm.
      await watching.wait(upTo: nil, clock: open.environment.clock)
      await open.workspace.beginSync()
      book(try await open.workspace.start())
      book(try await open.workspace.scan())
      ready()
      group.addTask { try await self.files(watch) }
      group.addTask { try await self.due() }
      group.addTask { await self.network(watch) }
      group.addTask { try await self.photos() }
      group.addTask { await self.sendPhotoRows() }
      group.addTask { await self.control() }
      group.addTask { await self.live.run { self.say($0) } }
      group.addTask { try await self.writeArrivals() }
      group.addTask { await self.commits.run { self.say($0) } }
      // The first loop to end ends all: by a stop, or by a failure that the caller is told.
      try await group.next()
      finish(watch)
      let clock = open.environment.clock
      let isTime = TimeIsUp()
      group.addTask {
        try? await clock.sleep(for: Self.stopLimit)
        isTime.happened.store(true, ordering: .relaxed)
      }
      // However many of the loops still wait for the network, the limit ends the wait.
      for _ in 1..<Self.loopCount where !isTime.happened.load(ordering: .relaxed) { try await group.next() }
      group.cancelAll()
    }
    // What a full disk keeps from being noted is learned anew by the next run.
    try? open.remember(open.client.syncStatus)
  }

  private func finish(_ watch: FileWatch) {
    open.client.stop()
    watch.stop()
    stopListening()
    isOver.store(true, ordering: .relaxed)
    live.stop()
    networkWake.finish()
    retryWake.finish()
    dueWake.finish()
    photoWake.finish()
    photoRowsWake.finish()
    commits.stop()
    endWake.finish()
  }

  /// Keeps an event in the workspace's log and tells it.
  func say(_ event: WorkspaceEvent) {
    open.record([event])
    log(EventLine.text(event))
  }

  /// - Parameters:
  ///   - isRecorded: Whether the events stand in the workspace's log already.
  ///   - sender: Rung to have sent what was queued; the network loop at once by default.
  func book(_ report: WorkspaceReport, isRecorded: Bool = false, sendingBy sender: Wake? = nil) {
    if !isRecorded { open.record(report.events) }
    for event in report.events { log(EventLine.text(event)) }
    if report.queued > 0 { (sender ?? networkWake).ring() }
    if report.photosToDo > 0 { photoWake.ring() }
    dueWake.ring()
    if !report.events.isEmpty { commits.noteChange() }
  }

  // MARK: Loops

  private func files(_ watch: FileWatch) async throws {
    for await look in watch.looks {
      if watch.watchIsOver { return }
      switch look {
      case .everything(let reason):
        if let reason { say(WorkspaceEvent(.note, "", reason)) }
        try await attempt { try await self.open.workspace.scan() }
      case .paths(let paths): try await attempt { try await self.open.workspace.look(at: paths) }
      }
    }
  }

  /// Works on the files; what a passing trouble of this device keeps undone is found by a later look at everything.
  func attempt(_ work: () async throws -> WorkspaceReport) async throws {
    do {
      book(try await work())
    } catch let error where WatchState.mayPass(error) {
      if open.watchState.note("\(error)", at: open.environment.clock.now()) {
        say(WorkspaceEvent(.problem, "", "\(error)"))
      }
      dueWake.ring()
    }
  }

  /// Looks at everything again after a trouble.
  private func recover() async throws {
    let before = open.watchState.trouble
    try await attempt {
      var report = try await open.workspace.start()
      report.add(try await open.workspace.scan())
      report.add(try await open.workspace.writeRows())
      return report
    }
    // Another trouble, or the same one again, has named another time.
    guard open.watchState.trouble == before, open.watchState.settle() else { return }
    say(WorkspaceEvent(.solved, "", "the work on the files goes on"))
    tryNow()
  }

  private func due() async throws {
    // The next time lies always a moment ahead: what matters is the earliest that was named since the last tick.
    var due: WallTime?
    while !watchIsOver {
      if let rest = open.watchState.rest(at: open.environment.clock.now()) {
        if rest == .zero {
          try await recover()
        } else {
          await endWake.wait(upTo: rest, clock: open.environment.clock)
        }
        continue
      }
      let next: WallTime?
      do {
        next = try await open.workspace.nextTick()
      } catch let error where WatchState.mayPass(error) {
        try await attempt { throw error }
        continue
      }
      let now = open.environment.clock.now()
      due = next.map { min(due ?? $0, $0) }
      if let at = due, at <= now {
        due = nil
        try await attempt { try await self.open.workspace.tick() }
        continue
      }
      await dueWake.wait(upTo: due.map { $0 - now }, clock: open.environment.clock)
    }
  }

  var watchIsOver: Bool { isOver.load(ordering: .relaxed) }

  private func network(_ watch: FileWatch) async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.networkWatch.run { self.take($0, watch) } }
      await self.exchanges()
      group.cancelAll()
    }
  }

  /// What is done about news of the network, beside saying it.
  private func take(_ news: NetworkWatch.News, _ watch: FileWatch) {
    switch news {
    case .wentAway:
      say(WorkspaceEvent(.note, "", "there is no network; it is waited for"))
      plan.withLock { $0.isKnownOffline = true }
      open.client.noteNetwork(isOffline: true)
      return
    case .cameBack:
      say(WorkspaceEvent(.note, "", "there is a network again"))
      plan.withLock { $0.isKnownOffline = false }
      open.client.noteNetwork(isOffline: false)
    case .woke(let slept):
      say(WorkspaceEvent(.note, "", "the machine slept for \(slept.components.seconds) s; everything is looked at"))
      watch.lookAtEverything()
    }
    open.environment.http.forgetConnections()
    live.noteNetworkChange()
    tryNow()
  }

  /// Ends the waits before the next exchange.
  private func tryNow() {
    plan.withLock { $0.startAnew() }
    photoPlan.withLock { $0.startAnew() }
    photoWake.ring()
    networkWake.ring()
    retryWake.ring()
  }

  private func exchanges() async {
    let clock = open.environment.clock
    var lastFailure: String?
    while !watchIsOver {
      await open.workspace.beginSync()
      let reads = plan.withLock { $0.begin(at: clock.elapsed(), isLive: live.isLive) }
      let exchanged = await UserEngine.patiently { await self.open.exchange(isConfirmed: false, reads: reads) }
      let (report, failure) = (exchanged.replay, exchanged.failure)
      var written = WorkspaceReport()
      do {
        try await attempt {
          written = try exchanged.files.get()
          return written
        }
      } catch {
        say(WorkspaceEvent(.problem, "", "\(error)"))
      }
      if report.synced > 0 {
        say(WorkspaceEvent(.note, "", "sent \(report.synced)"))
        // A row that photos waited for may be there, and an object that a row named may be in no use any more.
        photoWake.ring()
      }
      if failure == nil {
        // Where nothing was asked and nothing sent, nothing is known of the server.
        if reads || report.synced > 0 { open.client.noteSynced() }
        // New photos wait until it is known that the server has none of them.
        if plan.withLock({ !$0.hasRead }) { photoWake.ring() }
      }
      let pause = plan.withLock { $0.pause(after: failure, at: clock.elapsed()) }
      let text = failure.map { "\($0)" }
      let isNews = text != lastFailure && !watchIsOver
      // For the commands that read the state beside this process, and for the time after it; a pass that changed nothing
      // writes nothing.
      if isNews || report.synced + written.filesWritten + written.filesRemoved > 0 {
        try? open.remember(open.client.syncStatus)
      }
      if isNews {
        say(WorkspaceEvent(.note, "", text.map { "changes wait: \($0)" } ?? "in step again"))
      }
      lastFailure = text
      if failure != nil { noteNextTry(in: pause.length) }
      if failure == nil {
        await rest(pause.length)
      } else {
        await (pause.endsByEdits ? networkWake : retryWake).wait(upTo: pause.length, clock: clock)
      }
      // Another loop's request, or a command's, may have been told so.
      while !watchIsOver,
        let rest = [plan.withLock { $0.retryAfter(at: clock.elapsed()) }, open.client.patience].compactMap(\.self).max()
      {
        noteNextTry(in: rest)
        await endWake.wait(upTo: rest, clock: clock)
      }
      open.watchState.nextTry = nil
    }
  }

  private func noteNextTry(in pause: Duration) {
    // While access is off, nothing is tried at all.
    open.watchState.nextTry =
      open.client.syncStatus.network == .disabled ? nil : open.environment.clock.now() + pause
  }

  /// Waits until something is to be sent or read: longer than usual while the server tells its changes by itself.
  private func rest(_ pause: Duration) async {
    let clock = open.environment.clock
    while !watchIsOver {
      // Looked at now and then, since the telling may end at any time.
      let before = clock.elapsed()
      await networkWake.wait(upTo: pause, clock: clock)
      let now = clock.elapsed()
      if now - before < pause || plan.withLock({ $0.isReadDue(at: now, isLive: live.isLive) }) { return }
    }
  }

  /// Writes rows into files as the server tells of them.
  private func writeArrivals() async throws {
    while !watchIsOver {
      await live.arrivals.wait(upTo: nil, clock: open.environment.clock)
      guard !watchIsOver else { return }
      try await attempt { try await self.open.workspace.writeRows() }
    }
  }

  // MARK: Control

  private func control() async {
    // Side by side: a sync may take as long as the network does, and must not keep the others waiting.
    await withDiscardingTaskGroup { group in
      for await call in calls { group.addTask { await self.take(call) } }
    }
  }

  private func take(_ call: ControlListener.Call) async {
    do {
      let answer = try await whileSayingSo(call) { try await self.open.answer(call.request, isWatching: true) }
      book(answer.report, isRecorded: true)
      live.look()
      if answer.wakesNetwork { tryNow() }
      call.answer(.result(answer.result))
    } catch {
      call.answer(.error("\(error)"))
    }
  }

  /// Does the work, and says now and then to who asked that it is going on.
  private func whileSayingSo<T: Sendable>(
    _ call: ControlListener.Call, _ work: @escaping @Sendable () async throws -> T
  ) async throws -> T {
    let clock = open.environment.clock
    return try await withThrowingTaskGroup(of: T?.self) { group in
      group.addTask { try await work() }
      group.addTask {
        while !Task.isCancelled {
          call.sayWorking()
          try? await clock.sleep(for: Self.sayWorkingEvery)
        }
        return nil
      }
      // The other task has ended before the answer is sent: the lines of two would mix.
      defer { group.cancelAll() }
      while let result = try await group.next() { if let result { return result } }
      throw CancellationError()
    }
  }
}

/// Whether the wait for the loops of a run is over.
private final class TimeIsUp: Sendable {
  let happened = Atomic(false)
}
