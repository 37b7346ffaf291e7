import Synchronization

/// Writes and removes files without ever losing a save that somebody makes meanwhile.
///
/// The five steps: make the new texts durable; record what is planned; swap the names and look at what came out, and
/// swap back when it is a newer save; keep aside whatever left a path; make the names durable and record what happened.
/// Calls block. One call at a time: two at once could take one another's text for a newer save.
public final class WriteBack: Sendable {
  let files: any FileSystem
  let journal: any WriteBackJournal
  let trash: Trash
  let now: @Sendable () -> Int64
  let bytesMax: Int
  private let places = Mutex<[PathKey: WriteBackPlaces]>([:])
  private let lastNumber = Atomic<Int>(0)

  /// Makes the writer of a workspace.
  ///
  /// - Parameters:
  ///   - files: The workspace's files.
  ///   - journal: The durable memory of what is planned.
  ///   - now: Milliseconds since 1970.
  ///   - bytesMax: Files larger than this are never what was compared, so they are left alone.
  public init(
    files: any FileSystem, journal: any WriteBackJournal, now: @escaping @Sendable () -> Int64,
    bytesMax: Int = 64 << 20
  ) {
    self.files = files
    self.journal = journal
    self.now = now
    self.bytesMax = bytesMax
    trash = Trash(files: files, now: now)
  }

  /// Writes and removes files, each guarded by what it must say.
  ///
  /// - Parameter items: Each path at most once. They share the flushes, so many at once cost little more than one.
  /// - Returns: The outcomes, in the order of the items.
  public func apply(_ items: [WriteBackItem]) -> [WriteBackOutcome] {
    files.withFoldersOpen {
      var batch = prepared(items)
      record(&batch)
      swap(&batch)
      return completed(batch)
    }
  }

  /// Step 1: makes the new texts, and makes them durable.
  func prepared(_ items: [WriteBackItem]) -> WriteBackBatch {
    var batch = WriteBackBatch(count: items.count)
    for (place, item) in items.enumerated() {
      do {
        switch try prepare(item) {
        case .decided(let outcome): batch.outcomes[place] = outcome
        case .ready(let step): batch.add(step, at: place)
        }
      } catch {
        batch.outcomes[place] = .failed(.files(error))
      }
    }
    guard !batch.steps.isEmpty else { return batch }
    do {
      try files.makeDurable(batch.steps.map(\.intent.temporary).filter { !$0.isEmpty })
    } catch {
      giveUp(&batch, .files(error))
    }
    return batch
  }

  /// Step 2: records what is planned.
  func record(_ batch: inout WriteBackBatch) { _ = complete([], nil, recording: &batch) }

  /// Nothing of a batch is to be done: its texts never lay at a path.
  func giveUp(_ batch: inout WriteBackBatch, _ error: WriteBackError) {
    for step in batch.steps { discard(step.intent.temporary) }
    batch.end(batch.steps.map { _ in .failed(error) })
  }

  /// Steps 3 and 4, and the names made durable.
  func swap(_ batch: inout WriteBackBatch) {
    guard !batch.steps.isEmpty else { return }
    let swapped = batch.steps.map { step in
      let swapped = swap(step)
      // A look that failed once may work now; whoever saved should not wait for a restart.
      if case .unsettled = swapped.outcome { return settleAlone(step.intent) }
      return swapped
    }
    batch.settled = keepRemoved(swapped)
    batch.failure = namesMadeDurable(batch.settled)
  }

  /// Step 5: records what happened; the outcomes, in the order of the items.
  func completed(_ batch: WriteBackBatch) -> [WriteBackOutcome] {
    var none = WriteBackBatch(count: 0)
    return completed(batch, recording: &none)
  }

  /// Step 5 of one batch and step 2 of the next in one transaction, so that the disk is flushed once for both.
  func completed(_ batch: WriteBackBatch, recording next: inout WriteBackBatch) -> [WriteBackOutcome] {
    var batch = batch
    let ends = complete(batch.settled, batch.failure, recording: &next)
    if !batch.steps.isEmpty { batch.end(ends.map(\.outcome)) }
    return batch.outcomes.map { $0 ?? .failed(.interrupted(path: "")) }
  }

  /// Makes the names durable and completes what is decided; what could not be completed stays an intent.
  func finish(_ steps: [SettledIntent]) -> [SettledIntent] {
    var none = WriteBackBatch(count: 0)
    return complete(steps, namesMadeDurable(steps), recording: &none)
  }

  private func complete(
    _ steps: [SettledIntent], _ failure: WriteBackError?, recording next: inout WriteBackBatch
  ) -> [SettledIntent] {
    var failure = failure
    let settled = failure == nil ? steps.filter { if case .unsettled = $0.outcome { false } else { true } } : []
    let intents = next.steps.map(\.intent)
    if !settled.isEmpty || !intents.isEmpty {
      do {
        try journal.complete(settled, recording: intents)
      } catch {
        let error = WriteBackError.journal(reason: String(describing: error))
        giveUp(&next, error)
        failure = failure ?? error
      }
    }
    guard let failure else { return steps }
    return steps.map { SettledIntent(intent: $0.intent, outcome: .unsettled(failure)) }
  }

  private func namesMadeDurable(_ steps: [SettledIntent]) -> WriteBackError? {
    do {
      try makeNamesDurable(steps)
      return nil
    } catch {
      return .files(error)
    }
  }

  private func makeNamesDurable(_ steps: [SettledIntent]) throws(FileSystemError) {
    var folders: Set<PathKey> = []
    for step in steps {
      let paths = [step.intent.path, step.intent.temporary, step.intent.replaced].filter { !$0.isEmpty }
      folders.formUnion(paths.map { PathKey(WorkspacePath.folder(of: $0)) })
    }
    for folder in folders.sorted() {
      do {
        try files.makeNamesDurable([folder.text])
      } catch .absent {
        // A folder that somebody removed has no names to keep.
      }
    }
  }

  // MARK: Step 1

  enum Prepared {
    case decided(WriteBackOutcome)
    case ready(SwapStep)
  }

  private func prepare(_ item: WriteBackItem) throws(FileSystemError) -> Prepared {
    // Of a file that comes new nothing is read.
    let isNothing = item.expected == .absent ? try files.status(item.path) == nil : false
    let found = isNothing ? Sighting.absent : try files.look(item.path, bytesMax: bytesMax)
    var old: FileMark?
    switch item.expected {
    case .absent:
      if !found.isAbsent { return .decided(.exists(found.found)) }
      if case .trash = item.change { return .decided(.newerSave(.absent)) }
    case .content(let hash):
      guard case .file(let content) = found, let mark = found.mark, mark.hash == hash else {
        return .decided(.newerSave(found.found))
      }
      if content.status.owner != files.user {
        return .decided(.failed(.otherOwner(path: item.path, owner: content.status.owner)))
      }
      old = mark
    }
    let places = try places(of: WorkspacePath.folder(of: item.path))
    var intent = WriteBackIntent(
      kind: .remove, path: item.path, temporary: "", replaced: "", old: old, new: nil, context: item.context)
    if old != nil { intent.replaced = try freeName(in: places.replaced, for: item.path) }
    switch item.change {
    case .trash(let reason): intent.reason = reason
    case .write(let bytes):
      intent.kind = old == nil ? .create : .replace
      let prefix = WorkspacePath.cut(WorkspacePath.name(of: item.path), bytesMax: 200)
      let new = try files.makeTemporary(
        bytes, in: places.temporary, prefix: prefix, like: old == nil ? nil : item.path)
      intent.temporary = new.path
      intent.new = FileMark(
        identity: new.status.identity, hash: ContentHash(of: bytes), modified: new.status.modified)
      return .ready(SwapStep(intent: intent, way: places.way, new: new.status, old: found))
    }
    return .ready(SwapStep(intent: intent, way: places.way, new: nil, old: found))
  }

  func places(of folder: String) throws(FileSystemError) -> WriteBackPlaces {
    if let known = places.withLock({ $0[PathKey(folder)] }) { return known }
    let tried = try WriteBackPlaces.tried(for: folder, in: files)
    places.withLock { $0[PathKey(folder)] = tried }
    return tried
  }

  /// Lets the next write-back try anew: somebody may have mounted something.
  func forgetPlaces(of folder: String) { places.withLock { $0[PathKey(folder)] = nil } }

  /// A name in a folder of ours that nothing has.
  func freeName(in folder: String, for path: String) throws(FileSystemError) -> String {
    let name = WorkspacePath.cut(WorkspacePath.name(of: path), bytesMax: 200)
    while true {
      let number = lastNumber.add(1, ordering: .relaxed).newValue
      let free = "\(folder)/\(now())-\(number)-\(name)"
      if try files.status(free) == nil { return free }
    }
  }

  /// Removes a text of ours that never lay at a path.
  func discard(_ temporary: String) {
    if !temporary.isEmpty { try? files.unlink(temporary) }
  }
}

/// One path on its way through the swap.
struct SwapStep: Sendable {
  var intent: WriteBackIntent
  var way: WriteBackPlaces.Way
  /// The status of our new file; nil for a removal.
  var new: FileStatus?
  /// What was compared.
  var old: Sighting

  var splitsHardLink: Bool {
    guard case .file(let content) = old else { return false }
    return content.status.links > 1
  }
}
