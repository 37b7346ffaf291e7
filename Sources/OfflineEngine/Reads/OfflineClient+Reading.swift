import LosslessJSON
import SupabaseAPI

/// Whose rows a read shows.
struct ReadIdentity: Sendable, Equatable {
  /// Whose cache may answer; `nil` where nobody's may.
  let user: String?
  /// Whether an answer given to it may be kept.
  let isSettled: Bool

  /// The identity of a session: a restoring one reads its stored user's rows and keeps nothing, and one without a user's
  /// id is nobody's.
  init(_ session: SessionState) {
    switch session {
    case .restoring(let user): (self.user, isSettled) = (user, false)
    case .signedIn(let user): (self.user, isSettled) = (user, user != nil)
    case .signedOut, .withoutAuth: (user, isSettled) = ("", true)
    }
  }
}

extension OfflineClient {
  /// The waits between the attempts of a read that finds no connection (spec 3, "Behavior matrix").
  static let readWaits = [Duration.seconds(1), .seconds(2), .seconds(4)]
  /// The waits for a session that is being restored.
  static let restoringWaits = [Duration.milliseconds(300), .milliseconds(900), .milliseconds(2_400)]

  /// Makes a read that was built.
  ///
  /// - Returns: The list of rows, or the one row that was asked for.
  func read(_ builder: ReadBuilder) async throws -> OfflineResponse<OfflineJSON> {
    try checkOpen()
    try Task.checkCancellation()
    guard !builder.isMaybeSingle, let query = ListQuery(builder.request) else {
      return try await readUncached(builder)
    }
    let list = ListRead(query: query, table: description(query), request: builder.request)
    switch builder.strategy.kind {
    case .networkOnly:
      return try await fetch(list, hasFallback: false)
    case .cacheOnly:
      guard let kept = try kept(list, builder.strategy) else { throw OfflineError.cacheMiss }
      return kept.response
    case .cacheFirst:
      let kept = try kept(list, builder.strategy)
      if let kept, !kept.isStale { return kept.response }
      return try await fetch(list, orElse: builder.strategy, hasFallback: kept != nil) { $0.isConnectivity }
    case .networkFirst:
      let hasFallback = try hasKept(list, builder.strategy)
      return try await fetch(list, orElse: builder.strategy, hasFallback: hasFallback) { error in
        // A session that cannot be refreshed is the caller's to know of.
        switch error {
        case .connectivity, .networkDisabled: true
        default: false
        }
      }
    }
  }

  /// One list, and how it is asked for.
  struct ListRead: Sendable {
    let query: ListQuery
    let table: TableDescription
    let request: TableRequest
  }

  func description(_ query: ListQuery) -> TableDescription {
    configuration.description(
      of: query.schema == configuration.schema ? query.table : "\(query.schema).\(query.table)")
  }

  // MARK: From the cache

  /// The kept rows that a strategy may serve, with the queued writes over them.
  private func kept(_ list: ListRead, _ strategy: ReadStrategy) throws(OfflineError) -> ShownList? {
    guard let user = ReadIdentity(auth.state).user else { return nil }
    let shown: ShownList?
    do {
      shown = try store.read(user: user) { try $0.shownList(list.query, list.table) }
    } catch {
      throw OfflineError(storing: error)
    }
    guard let shown, let fetchedAt = shown.fetchedAt else { return nil }
    let now = environment.clock.now()
    if let maxAge = strategy.maxAge, now - fetchedAt > maxAge { return nil }
    store.uses.note(ListUses.Name(user: user, list.query), at: now)
    return shown
  }

  /// Whether a strategy may serve kept rows.
  private func hasKept(_ list: ListRead, _ strategy: ReadStrategy) throws(OfflineError) -> Bool {
    guard let user = ReadIdentity(auth.state).user else { return false }
    do {
      guard let fetchedAt = try store.read(user: user, { try $0.cachedList(list.query) })?.fetchedAt else {
        return false
      }
      return strategy.maxAge.map { environment.clock.now() - fetchedAt <= $0 } ?? true
    } catch {
      throw OfflineError(storing: error)
    }
  }

  // MARK: From the server

  private func fetch(
    _ list: ListRead, orElse strategy: ReadStrategy, hasFallback: Bool, when mayFallBack: (OfflineError) -> Bool
  ) async throws -> OfflineResponse<OfflineJSON> {
    do {
      return try await fetch(list, hasFallback: hasFallback)
    } catch let error as OfflineError where mayFallBack(error) {
      guard let kept = try kept(list, strategy) else { throw error }
      return kept.response
    }
  }

  private func fetch(_ list: ListRead, hasFallback: Bool) async throws -> OfflineResponse<OfflineJSON> {
    try await asSettled(list.table.name) { session in
      try await retrying(hasFallback: hasFallback) { try await fetchOnce(list, session) }
    }
  }

  /// Asks the server once, keeps its answer and shows it with the queued writes over it.
  func fetchOnce(_ list: ListRead, _ session: SessionState) async throws -> OfflineResponse<OfflineJSON> {
    let identity = ReadIdentity(session)
    let clearings = clearings
    let place = store.accepted.begin()
    defer { store.accepted.end(place) }
    let (rows, cutAt) = try await readRows(list.request, list.table, session)
    do {
      var shown = try store.transaction(user: identity.user ?? "") { transaction in
        // What was asked for before the data on this device was cleared must not come back to it.
        try transaction.show(
          answer: rows, to: list.query, list.table, askedAt: place, store.accepted,
          isKept: identity.isSettled && self.clearings == clearings, bounds: configuration.cacheBounds, cutAt: cutAt)
      }
      if !identity.isSettled { shown.fetchedAt = nil }
      var response = shown.response
      response.isFromCache = false
      return response
    } catch {
      throw OfflineError(storing: error)
    }
  }

  /// A read whose answer is no plain list.
  private func readUncached(_ builder: ReadBuilder) async throws -> OfflineResponse<OfflineJSON> {
    guard builder.strategy.kind != .cacheOnly else { throw OfflineError.cacheMiss }
    let request = builder.request
    // That there is no such row is an answer also while a session is being restored.
    let isEnough = { (answer: TableAnswer) in builder.isMaybeSingle && answer.rows.isEmpty }
    let answer = try await asSettled(builder.table, isEnough: isEnough) { session in
      try await retrying(hasFallback: false) { try await send(request, session) }
    }
    var response = OfflineResponse(
      value: OfflineJSON.array(answer.rows.map { .object($0) }), count: answer.total)
    if builder.isMaybeSingle {
      guard answer.rows.count <= 1 else {
        throw OfflineError.refused(
          ServerError(status: 406, code: "PGRST116", message: "more than one row matches, although one was expected"))
      }
      response.value = answer.rows.first.map { .object($0) } ?? .null
    } else if builder.isSingle, let row = answer.rows.first {
      response.value = .object(row)
    } else if request.returnsRows {
      response.isCut = cutAt(answer, request) != nil
    }
    return response
  }

  /// A read whose answer is text.
  func readText(_ builder: ReadBuilder, in form: AnswerForm) async throws -> OfflineResponse<String> {
    try checkOpen()
    try Task.checkCancellation()
    guard builder.strategy.kind != .cacheOnly else { throw OfflineError.cacheMiss }
    let request = builder.request
    let text = try await asSettled(builder.table) { session in
      try await retrying(hasFallback: false) {
        guard network.isEnabled else { throw OfflineError.networkDisabled }
        return try await withToken(session) { token throws(SupabaseError) in
          try await tables.text(request, in: form, accessToken: token)
        }
      }
    }
    return OfflineResponse(value: text)
  }

  func send(_ request: TableRequest, _ session: SessionState) async throws -> TableAnswer {
    guard network.isEnabled else { throw OfflineError.networkDisabled }
    return try await withToken(session) { token throws(SupabaseError) in
      try await tables.send(request, accessToken: token)
    }
  }

  // MARK: Waiting

  /// Tries again while the want of a connection, a 503 or a 520 may pass.
  ///
  /// - Parameter hasFallback: Whether something else can be shown at once when the server cannot be reached.
  private func retrying<T: Sendable>(hasFallback: Bool, _ attempt: () async throws -> T) async throws -> T {
    var waits = Self.readWaits[...]
    while true {
      do {
        return try await attempt()
      } catch let error as OfflineError {
        guard error.isWorthAnotherTry(hasFallback: hasFallback), !network.isKnownOffline, let wait = waits.popFirst()
        else { throw error }
        try await environment.clock.sleep(for: wait)
        try checkOpen()
      }
    }
  }

  /// Asks, and asks again while the stored session is being restored: what its key alone shows is no user's answer.
  ///
  /// - Parameter isEnough: Whether an answer is taken for what it is meanwhile.
  private func asSettled<T: Sendable>(
    _ table: String, isEnough: (T) -> Bool = { _ in false }, _ ask: (SessionState) async throws -> T
  ) async throws -> T {
    var waits = Self.restoringWaits[...]
    let first = auth.state
    while true {
      let session = auth.state
      if session == .signedOut, case .restoring(let user?) = first { dropLists(of: user) }
      let answer: Result<T, any Error>
      do {
        answer = .success(try await ask(session))
      } catch {
        guard !session.isSettled, (error as? OfflineError)?.isAnswer ?? false else { throw error }
        answer = .failure(error)
      }
      if case .success(let value) = answer, isEnough(value) { return value }
      guard !session.isSettled else { return try answer.get() }
      guard let wait = waits.popFirst() else {
        configuration.warn(
          "the stored session was not restored in time: what was read of '\(table)' is what the project's key may see")
        return try answer.get()
      }
      _ = await auth.settled(waitingAtMost: wait)
      try Task.checkCancellation()
      try checkOpen()
    }
  }

  /// Drops what is kept of a user whose stored session turned out to have ended.
  private func dropLists(of user: String) { try? store.transaction(user: user) { try $0.dropLists() } }
}

extension OfflineError {
  fileprivate func isWorthAnotherTry(hasFallback: Bool) -> Bool {
    switch self {
    case .connectivity: !hasFallback
    case .unavailable(let status, _, _): status == 503 || status == 520
    default: false
    }
  }
}

extension OfflineError {
  /// Whether the server itself said no, which it may not say to the user whose session is being restored.
  fileprivate var isAnswer: Bool {
    switch self {
    case .refused, .schemaCache, .notAnAnswer: true
    default: false
    }
  }
}

extension ShownList {
  /// What is kept, as a response.
  var response: OfflineResponse<OfflineJSON> {
    OfflineResponse(
      value: .array(rows.map { .object($0) }), isFromCache: true, fetchedAt: fetchedAt?.date,
      hasPendingMutations: hasPendingMutations, isCut: cutAt != nil)
  }
}
