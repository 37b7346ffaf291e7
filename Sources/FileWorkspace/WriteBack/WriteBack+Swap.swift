extension WriteBack {
  /// Takes one path, or finds out that somebody saved meanwhile and leaves their text there.
  func swap(_ step: SwapStep) -> SettledIntent {
    do {
      switch (step.intent.kind, step.way) {
      case (.create, _): return try create(step)
      case (.replace, .exchange): return try exchange(step)
      case (.replace, .aside), (.remove, _): return try moveAside(step)
      }
    } catch {
      return SettledIntent(intent: step.intent, outcome: .unsettled(.files(error)))
    }
  }

  // MARK: A new file

  private func create(_ step: SwapStep) throws(FileSystemError) -> SettledIntent {
    let intent = step.intent
    do {
      try files.moveNoReplace(intent.temporary, intent.path)
    } catch .exists {
      let found = try files.look(intent.path, bytesMax: bytesMax)
      discard(intent.temporary)
      return SettledIntent(intent: intent, outcome: .exists(found.found))
    } catch {
      return try failed(step, error)
    }
    return SettledIntent(intent: intent, outcome: try written(step))
  }

  /// Decides that nothing happened, after a call that failed, or throws its error when that is not certain.
  private func failed(_ step: SwapStep, _ error: FileSystemError) throws(FileSystemError) -> SettledIntent {
    guard try files.status(step.intent.temporary)?.identity == step.intent.new?.identity,
      try files.status(step.intent.path)?.identity != step.intent.new?.identity
    else { throw error }
    if case .otherFileSystem = error { forgetPlaces(of: WorkspacePath.folder(of: step.intent.path)) }
    discard(step.intent.temporary)
    return SettledIntent(intent: step.intent, outcome: .failed(.files(error)))
  }

  private func written(_ step: SwapStep) throws(FileSystemError) -> WriteBackOutcome {
    let path = step.intent.path
    guard let new = step.new, let hash = step.intent.new?.hash else { return .failed(.interrupted(path: path)) }
    return .written(WrittenFile(status: try fresh(new, at: path), hash: hash, splitHardLink: step.splitsHardLink))
  }

  /// The status to remember for our file at its path.
  ///
  /// A rename moves the change time, so the one from the making is stale. But a save that came right after must not
  /// be taken for our text: unless size and modification time are ours, the stale one is given, which matches nothing.
  func fresh(_ new: FileStatus, at path: String) throws(FileSystemError) -> FileStatus {
    guard let status = try files.status(path), status.identity == new.identity, status.size == new.size,
      status.modified == new.modified
    else { return new }
    return status
  }

  // MARK: A swap in one step

  private func exchange(_ step: SwapStep) throws(FileSystemError) -> SettledIntent {
    let intent = step.intent
    do {
      try files.exchange(intent.temporary, intent.path)
    } catch {
      if case .absent = error, try files.status(intent.path) == nil {
        discard(intent.temporary)
        return SettledIntent(intent: intent, outcome: .newerSave(.absent))
      }
      return try failed(step, error)
    }
    let out = try files.look(intent.temporary, bytesMax: bytesMax)
    guard out.says(intent.old?.hash) else { return try putBack(intent, newer: out) }
    let kept = try keep(intent.temporary, out, intent)
    return SettledIntent(intent: intent, outcome: try written(step), replaced: [kept], former: out.bytes)
  }

  /// Puts a newer save, which our swap took out, back to its path, and proves it.
  ///
  /// - Parameters:
  ///   - intent: The write-back that was not to be; its temporary name holds the newer save, its path our text.
  ///   - newer: What was taken out.
  func putBack(_ intent: WriteBackIntent, newer: Sighting) throws(FileSystemError) -> SettledIntent {
    var newer = newer
    // What must come out of the path: first our own text, later the save that we had put there before.
    var expected: Sighting?
    for _ in 0..<16 {
      do {
        try files.exchange(intent.temporary, intent.path)
      } catch {
        guard case .absent = error, try files.status(intent.path) == nil else { throw error }
        do {
          return try moveBack(intent, newer: newer)
        } catch .exists {
          continue
        }
      }
      let out = try files.look(intent.temporary, bytesMax: bytesMax)
      let isExpected =
        if let expected { out.isSame(as: expected) } else { out.says(intent.new?.hash) && isOurs(out, intent) }
      if isExpected || out.isAbsent {
        let isOwnText = expected == nil
        return try settled(intent, newer, asideIn: intent.temporary, out, isPersons: !isOwnText)
      }
      // A still newer save took the place meanwhile, and the older one lies there now: once more.
      (expected, newer) = (newer, out)
    }
    let aside = try files.look(intent.temporary, bytesMax: bytesMax)
    let found = try files.look(intent.path, bytesMax: bytesMax)
    return try settled(intent, found, asideIn: intent.temporary, aside, isPersons: true)
  }

  /// Puts a newer save, which our swap took out, to where our text has gone from its path since, or else to the path itself.
  ///
  /// Whoever removed or renamed what lay there saw our text, never this one, and meant the file that they had saved.
  func moveBack(_ intent: WriteBackIntent, newer: Sighting) throws(FileSystemError) -> SettledIntent {
    guard let place = try placeOfOurs(intent) else {
      try files.moveNoReplace(intent.temporary, intent.path)
      return SettledIntent(intent: intent, outcome: .newerSave(newer.found))
    }
    var followed = intent
    followed.path = place
    var settled = try putBack(followed, newer: newer)
    (settled.intent, settled.isFollowed) = (intent, true)
    return settled
  }

  /// Where in its folder our file lies now, under another name.
  private func placeOfOurs(_ intent: WriteBackIntent) throws(FileSystemError) -> String? {
    guard let new = intent.new else { return nil }
    let folder = WorkspacePath.folder(of: intent.path)
    do {
      let names = try files.list(folder).entries.filter { $0.status.identity == new.identity }.map(\.name)
      return names.min().map { WorkspacePath.joined(folder, $0) }
    } catch .absent {
      return nil
    }
  }

  private func isOurs(_ sighting: Sighting, _ intent: WriteBackIntent) -> Bool {
    sighting.mark?.identity == intent.new?.identity
  }

  private func settled(
    _ intent: WriteBackIntent, _ newer: Sighting, asideIn aside: String, _ out: Sighting, isPersons: Bool
  ) throws(FileSystemError) -> SettledIntent {
    let outcome = WriteBackOutcome.newerSave(newer.found)
    guard case .file = out else { return SettledIntent(intent: intent, outcome: outcome) }
    if isPersons { try rescue(out, intent) }
    return SettledIntent(intent: intent, outcome: outcome, replaced: [try keep(aside, out, intent)])
  }

  /// Puts a save that lost its place to a newer one into the trash.
  func rescue(_ sighting: Sighting, _ intent: WriteBackIntent) throws(FileSystemError) {
    guard case .file(let content) = sighting, !content.bytes.isEmpty else { return }
    try trash.keep([
      TrashItem(
        origin: intent.path, bytes: content.bytes, reason: "a save that a later save replaced while both were made")
    ])
  }

  // MARK: Moving aside

  /// Takes the file away from its path first: for removals, and where names cannot be swapped.
  private func moveAside(_ step: SwapStep) throws(FileSystemError) -> SettledIntent {
    let intent = step.intent
    do {
      try files.rename(intent.path, intent.replaced)  // The name was free, and in a folder of ours.
    } catch {
      let isGone = try files.status(intent.path) == nil
      let isAside = try files.status(intent.replaced) != nil
      if isAside { throw error }
      discard(intent.temporary)
      return SettledIntent(intent: intent, outcome: isGone ? .newerSave(.absent) : .failed(.files(error)))
    }
    let out = try files.look(intent.replaced, bytesMax: bytesMax)
    guard out.says(intent.old?.hash) else {
      discard(intent.temporary)
      return try bringBack(intent, out)
    }
    let kept = try keep(intent.replaced, out, intent)
    if intent.kind == .remove {
      // The trash gets its copy with all the other removals.
      let entry = TrashEntry(path: "", origin: intent.path, reason: intent.reason, at: 0, bytes: 0)
      return SettledIntent(intent: intent, outcome: .removed(entry), replaced: [kept], former: out.bytes)
    }
    do {
      try files.moveNoReplace(intent.temporary, intent.path)
    } catch .exists {
      let found = try files.look(intent.path, bytesMax: bytesMax)
      discard(intent.temporary)
      return SettledIntent(intent: intent, outcome: .newerSave(found.found), replaced: [kept])
    } catch {
      discard(intent.temporary)
      try files.moveNoReplace(intent.replaced, intent.path)
      return SettledIntent(intent: intent, outcome: .failed(.files(error)))
    }
    return SettledIntent(intent: intent, outcome: try written(step), replaced: [kept], former: out.bytes)
  }

  /// Brings a file that should not have been moved aside back to its path, unless a newer save lies there already.
  func bringBack(_ intent: WriteBackIntent, _ out: Sighting) throws(FileSystemError) -> SettledIntent {
    do {
      try files.moveNoReplace(intent.replaced, intent.path)
      return SettledIntent(intent: intent, outcome: .newerSave(out.found))
    } catch .exists {
      let found = try files.look(intent.path, bytesMax: bytesMax)
      return try settled(intent, found, asideIn: intent.replaced, out, isPersons: true)
    }
  }

  /// Copies the texts of removed files to the trash; a file whose text cannot be kept comes back.
  func keepRemoved(_ steps: [SettledIntent]) -> [SettledIntent] {
    var steps = steps
    var places: [Int] = []
    var items: [TrashItem] = []
    for index in steps.indices {
      guard case .removed = steps[index].outcome, let kept = steps[index].replaced.first else { continue }
      let intent = steps[index].intent
      guard case .file(let content)? = try? files.look(kept.path, bytesMax: bytesMax) else {
        steps[index] = SettledIntent(intent: intent, outcome: .unsettled(.interrupted(path: intent.path)))
        continue
      }
      places.append(index)
      items.append(TrashItem(origin: intent.path, bytes: content.bytes, reason: intent.reason))
    }
    do {
      let entries = try trash.keep(items)
      for (index, entry) in zip(places, entries) { steps[index].outcome = .removed(entry) }
    } catch {
      for index in places { steps[index] = undoRemoval(steps[index], error) }
    }
    return steps
  }

  private func undoRemoval(_ step: SettledIntent, _ failure: FileSystemError) -> SettledIntent {
    guard let kept = step.replaced.first else { return step }
    do {
      try files.moveNoReplace(kept.path, step.intent.path)
      return SettledIntent(intent: step.intent, outcome: .failed(.files(failure)))
    } catch {
      return SettledIntent(intent: step.intent, outcome: .unsettled(.files(failure)))
    }
  }

  // MARK: Step 4

  /// Keeps a file that lay at a path where late writers can be noticed.
  ///
  /// - Returns: Its entry; the file stays where it is when it cannot be moved, and the entry says so.
  func keep(_ aside: String, _ sighting: Sighting, _ intent: WriteBackIntent) throws(FileSystemError) -> ReplacedFile {
    var path = aside
    do {
      let places = try places(of: WorkspacePath.folder(of: intent.path))
      if WorkspacePath.folder(of: aside) != places.replaced {
        let isFree = try !intent.replaced.isEmpty && files.status(intent.replaced) == nil
        let target = isFree ? intent.replaced : try freeName(in: places.replaced, for: intent.path)
        try files.moveNoReplace(aside, target)
        path = target
      }
    } catch {
      // It is as safe where it is.
    }
    guard case .file(let content) = sighting else { throw .absent(aside) }
    var stamp: FileStamp?
    if let status = try files.status(path), status.size == content.status.size,
      status.modified == content.status.modified, status.identity == content.status.identity
    {
      stamp = status.stamp
    }
    return ReplacedFile(
      path: path, origin: intent.path, hash: content.hash, stamp: stamp, since: now(), context: intent.context)
  }
}
