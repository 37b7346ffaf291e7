import LosslessJSON
import SupabaseAPI
import Synchronization

extension OfflineClient {
  /// Follows a live read in a task of its own, until the reader's loop or the client ends.
  func follow(_ builder: LiveReadBuilder) -> AsyncStream<QuerySnapshot<JSONObject>> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      guard let query = ListQuery(builder.request) else { return continuation.finish() }
      let list = ListRead(query: query, table: description(query), request: builder.request)
      let read = LiveRead(client: self, list: list, strategy: builder.strategy, snapshots: continuation)
      let task = Task(executorPreference: environment.executor) { await read.run() }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}

/// One live read: looks at what is kept whenever something was written, and has it refreshed when it should be.
private final class LiveRead: Sendable {
  /// How long a stalled refresh waits before it tries again, doubled from try to try.
  private static let retryWaits = (first: Duration.seconds(1), most: Duration.seconds(60))

  private struct State {
    var refresh = RefreshState.idle
    /// Whether the server should be asked.
    var isDue: Bool
    /// Whether an answer came for this identity.
    var isAnswered = false
    /// Whether a first try has ended, one way or another.
    var isTried = false
    var identity: ReadIdentity
    var network: NetworkStatus
    var retryWait = LiveRead.retryWaits.first
    /// What the refresh that is on its way belongs to.
    var round = 0
    var last: QuerySnapshot<JSONObject>?
    /// Whether that was shown to another user.
    var isOthers = false
    var lastChange: Int64?
    /// Whether what is kept should be fetched again, as it was last looked at.
    var isStale = false
    /// The kept list that stays because it is followed.
    var held: ListUses.Name?
  }

  private let client: OfflineClient
  private let list: OfflineClient.ListRead
  private let strategy: LiveReadStrategy
  private let snapshots: AsyncStream<QuerySnapshot<JSONObject>>.Continuation
  private let (bell, ringer) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
  private let state: Mutex<State>

  init(
    client: OfflineClient, list: OfflineClient.ListRead, strategy: LiveReadStrategy,
    snapshots: AsyncStream<QuerySnapshot<JSONObject>>.Continuation
  ) {
    self.client = client
    self.list = list
    self.strategy = strategy
    self.snapshots = snapshots
    state = Mutex(
      State(
        isDue: strategy != .cacheOnly, identity: ReadIdentity(client.auth.state), network: client.network.status))
  }

  func run() async {
    await withDiscardingTaskGroup { group in
      group.addTask { [self] in
        for await _ in client.store.changes.rings() { ringer.yield() }
        ringer.finish()
      }
      for await _ in bell {
        noteSurroundings()
        hold(state.withLock(\.identity.user))
        if let (round, session) = beginRefresh() {
          group.addTask { [self] in await refresh(round, session) }
        }
        look()
      }
      group.cancelAll()
    }
    hold(nil)
    snapshots.finish()
  }

  /// Has the list of a user stay as long as it is followed; `nil` lets it go.
  private func hold(_ user: String?) {
    let next = user.map { ListUses.Name(user: $0, list.query) }
    let last = state.withLock { state in
      defer { state.held = next }
      return state.held
    }
    guard next != last else { return }
    if let next { client.store.uses.hold(next) }
    if let last { client.store.uses.letGo(last, at: client.environment.clock.now()) }
  }

  // MARK: Refreshing

  /// Takes note of who is signed in and of the network.
  private func noteSurroundings() {
    let identity = ReadIdentity(client.auth.state)
    let network = client.network.status
    state.withLock { state in
      if identity != state.identity {
        let isOther = identity.user != state.identity.user
        state.identity = identity
        if isOther {
          state.isAnswered = false
          state.isTried = false
          state.lastChange = nil
          state.isStale = false
          state.isOthers = state.last != nil
          state.round += 1  // An answer to the one who left is nobody's here.
          state.refresh = .idle
        }
        if strategy != .cacheOnly, isOther || isWaiting(state) { state.isDue = true }
      }
      if network != state.network {
        let wasOff = state.network == .offline || state.network == .disabled
        state.network = network
        let isOn = network == .online || network == .unknown && wasOff
        if isOn, isWaiting(state) {
          state.isDue = true
          state.retryWait = Self.retryWaits.first
        } else if network == .offline || network == .disabled, case .stalled(let failure) = state.refresh,
          failure.isConnectivity
        {
          state.refresh = .paused
        }
      }
    }
  }

  private func isWaiting(_ state: borrowing State) -> Bool {
    switch state.refresh {
    case .paused, .stalled: true
    case .idle, .refreshing: false
    }
  }

  /// Says that the server is asked now, if it is time and may be.
  private func beginRefresh() -> (round: Int, session: SessionState)? {
    let session = client.auth.state
    return state.withLock { state in
      guard state.isDue else { return nil }
      if state.network == .disabled {
        state.isDue = false
        state.isTried = true
        state.refresh = .paused
        return nil
      }
      // Asked once it is known who asks; a session that never says whose it is never is.
      guard ReadIdentity(session) == state.identity, state.identity.isSettled else {
        state.refresh = .refreshing
        return nil
      }
      state.isDue = false
      state.round += 1
      state.refresh = .refreshing
      return (state.round, session)
    }
  }

  private func refresh(_ round: Int, _ session: SessionState) async {
    do {
      _ = try await client.fetchOnce(list, session)
      end(round, nil)
    } catch let error as OfflineError {
      end(round, error)
      guard error.mayPass, let wait = takeRetryWait(round) else { return }
      try? await client.environment.clock.sleep(for: wait)
      state.withLock { state in
        guard state.round == round, case .stalled = state.refresh else { return }
        state.isDue = true
      }
      ringer.yield()
    } catch {
      return  // The loop has ended.
    }
  }

  private func end(_ round: Int, _ failure: OfflineError?) {
    let isOffline = client.network.status == .offline
    state.withLock { state in
      guard state.round == round else { return }
      state.isTried = true
      if let failure {
        if case .networkDisabled = failure {
          state.refresh = .paused
        } else {
          state.refresh = isOffline && failure.isConnectivity ? .paused : .stalled(failure)
        }
      } else {
        state.isAnswered = true
        state.retryWait = Self.retryWaits.first
        state.refresh = .idle
      }
    }
    ringer.yield()
  }

  /// How long to wait before the next try; `nil` where the network or somebody else calls for it.
  private func takeRetryWait(_ round: Int) -> Duration? {
    state.withLock { state in
      guard state.round == round, case .stalled = state.refresh else { return nil }
      defer { state.retryWait = min(state.retryWait * 2, Self.retryWaits.most) }
      return state.retryWait
    }
  }

  // MARK: Showing

  /// Shows what is kept, where that differs from what was shown last.
  private func look() {
    let (identity, refresh, isAnswered, isTried, isOthers, last, lastChange) = state.withLock { state in
      (
        state.identity, state.refresh, state.isAnswered, state.isTried, state.isOthers, state.last, state.lastChange
      )
    }
    // Until there is something to show, nothing of another user's may go on being shown.
    func showNothing() {
      guard isOthers else { return }
      var nothing = Self.snapshot(ShownList(rows: []))
      nothing.refresh = refresh
      show(nothing, nil, of: identity)
    }
    guard let user = identity.user else { return showNothing() }
    let found = try? client.store.read(user: user) { [list] transaction -> (Int64, ShownList?) in
      let change = try transaction.changeCount(list.query.table)
      // Nothing was written that could change the rows.
      if change == lastChange, last != nil, !isOthers { return (change, nil) }
      let shown = try transaction.shownList(list.query, list.table)
      return (change, try shown ?? transaction.overlaid([], list.query, list.table, ShownList(rows: [])))
    }
    guard let (change, shown) = found else { return showNothing() }
    if let shown { state.withLock { $0.isStale = shown.isStale } }
    askAgain()
    guard var next = shown.map(Self.snapshot) ?? last else { return }
    next.refresh = state.withLock(\.refresh)
    next.isFromCache = !isAnswered
    guard isReady(next, isTried: isTried, refresh) else { return showNothing() }
    show(next, change, of: identity)
  }

  private func show(_ next: QuerySnapshot<JSONObject>, _ change: Int64?, of identity: ReadIdentity) {
    // Who has signed in meanwhile sees nothing of it; the ring that says so is on its way.
    guard ReadIdentity(client.auth.state) == identity else { return }
    let isNew = state.withLock { state in
      guard state.identity == identity else { return false }
      state.lastChange = change
      state.isOthers = false
      if let last = state.last, last.isSame(as: next) { return false }
      state.last = next
      return true
    }
    if isNew { snapshots.yield(next) }
  }

  /// Whether there is something to show already.
  private func isReady(_ next: QuerySnapshot<JSONObject>, isTried: Bool, _ refresh: RefreshState) -> Bool {
    switch strategy {
    case .cacheOnly: true
    case .networkFirstThenCache: isTried
    case .cacheFirstThenNetwork: isTried || next.fetchedAt != nil || !next.rows.isEmpty
    }
  }

  /// Has a list fetched again that a write has made doubtful.
  private func askAgain() {
    let isAsked = state.withLock { state in
      // One that is on its way may have been sent before the write: its answer says whether it is enough.
      guard strategy != .cacheOnly, state.isStale, case .idle = state.refresh, !state.isDue else { return false }
      state.isDue = true
      state.isStale = false
      return true
    }
    if isAsked { ringer.yield() }
  }

  private static func snapshot(_ shown: ShownList) -> QuerySnapshot<JSONObject> {
    QuerySnapshot(
      rows: shown.rows, isFromCache: true, fetchedAt: shown.fetchedAt?.date,
      hasPendingMutations: shown.hasPendingMutations, refresh: .idle, isCut: shown.cutAt != nil)
  }
}

extension QuerySnapshot<JSONObject> {
  /// Whether a reader could not tell the two apart but by the time of an answer that said the same.
  fileprivate func isSame(as other: QuerySnapshot<JSONObject>) -> Bool {
    isFromCache == other.isFromCache && hasPendingMutations == other.hasPendingMutations && isCut == other.isCut
      && refresh.isSame(as: other.refresh) && (fetchedAt == nil) == (other.fetchedAt == nil) && rows == other.rows
  }
}

extension OfflineError {
  /// Whether another try may go better by itself.
  fileprivate var mayPass: Bool {
    switch self {
    case .connectivity, .unavailable, .notAnAnswer, .session: true
    default: false
    }
  }
}
