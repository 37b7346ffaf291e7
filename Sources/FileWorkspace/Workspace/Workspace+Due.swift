import OfflineEngine

/// When to try again what something stands in the way of: soon, then later and later.
struct Retry: Sendable {
  private var wait = Duration.zero
  private var last = WallTime(nanoseconds: 0)

  static let longest = Duration.seconds(5)

  /// When the next try is due, with `first` as the shortest wait.
  func due(first: Duration) -> WallTime { last + max(wait, first) }

  /// Notes a try and whether anything is left.
  mutating func tried(at time: WallTime, first: Duration, isLeft: Bool) {
    last = time
    wait = isLeft ? min(max(wait, first) * 2, Self.longest) : .zero
  }
}

extension Workspace {
  /// How long after a file went a complete listing must begin to prove its absence (DESIGN section 8).
  public static let absenceProof = Duration.seconds(2)
  /// How long a new file is left alone before its key is written into it (DESIGN section 4).
  static let keyDelay = Duration.seconds(30)
  /// How often it is looked whether git has finished.
  static let gitInterval = Duration.seconds(1)
  /// How often files that left their paths are looked over.
  private static let sweepInterval = Duration.seconds(60)
  /// A clock that is only steered is never so far ahead between two looks.
  private static let leapMin = Duration.seconds(1)

  /// Does what is due by now: deletes whose proof is complete, keys to be written, late texts, second tries.
  ///
  /// - Parameter isLast: Whether none may follow: then files that left their paths are looked over however lately they were.
  public func tick(isLast: Bool = false) throws -> WorkspaceReport {
    var report = WorkspaceReport()
    try watchClock()
    try watchGit()
    tellGitWait(&report)
    if hasUnsettled {
      hasUnsettled = false
      for settled in writeBack.settle(try journal.pendingIntents()) { count(settled.outcome, settled.intent, &report) }
    }
    if needsScan, gitWork == nil {
      needsScan = false
      report.add(try scan())
    }
    if again.due(first: settings.settle) <= now, !lookAgain.isEmpty, gitWork == nil {
      let paths = lookAgain.map(\.text)
      lookAgain = []
      report.add(try look(at: paths))
      again.tried(at: now, first: settings.settle, isLeft: !lookAgain.isEmpty)
    }
    for collection in collections where try hasOpenAbsences(collection) {
      try scan(collection, deleteAfter: nil, &report)
    }
    for collection in collections {
      guard try photosToScan.contains(collection.folder) || hasOpenPhotoAbsences(collection) else {
        try lookAtPhotos(of: collection, &report)
        continue
      }
      try scanPhotos(of: collection, &report)
    }
    for collection in collections { try settleBlanks(collection, after: Self.absenceProof, &report) }
    try writeDueKeys(&report)
    if isLast || now - sweptAt >= Self.sweepInterval {
      // There may be thousands; what is saved into one of them meanwhile is reported by the watcher.
      sweptAt = now
      try takeLateTexts(&report)
      try replaced.sweep(now: now.nanoseconds / 1_000_000)
    }
    report.add(try writeProblemNotes())
    sweepTrash()
    return report
  }

  /// When `tick` has something to do, if ever.
  public func nextTick() throws -> WallTime? {
    try watchClock()
    if gitWork != nil { return now + Self.gitInterval }
    var times: [WallTime] = []
    if needsScan || hasUnsettled { times.append(now) }
    if !photosToScan.isEmpty || !photosToLook.isEmpty { times.append(now + PhotoFiling.quiet) }
    if !lookAgain.isEmpty { times.append(again.due(first: settings.settle)) }
    if let due = try nextProblemNote() { times.append(due) }
    if let since = waitingBlanks.values.map(\.since).min() { times.append(since + Self.absenceProof) }
    if try journal.hasReplacedFiles() { times.append(sweptAt + Self.sweepInterval) }
    try client.read { transaction in
      if let due = try Mirror(transaction).nextKeyDue() { times.append(due) }
      for collection in collections {
        // However long an absence has been due, a folder is not listed again and again.
        let earliest = (listedAt[collection.folder] ?? WallTime(nanoseconds: 0)) + Self.absenceProof
        for entry in try Mirror(transaction).absentEntries(collection.folder) where !entry.isHeld {
          if let since = entry.absentSince {
            times.append(max(earliest, since + max(settings.deleteAfter, Self.absenceProof)))
          }
        }
        if let photos = PhotoTable(collection)?.settings.folder {
          let earliest = (listedAt[photos] ?? WallTime(nanoseconds: 0)) + Self.absenceProof
          for photo in try PhotoRecords(transaction).absent(collection.folder) where !photo.isHeld {
            if let since = photo.absentSince {
              times.append(max(earliest, since + max(settings.deleteAfter, Self.absenceProof)))
            }
          }
        }
        for side in try SideFiles(transaction).all(collection.folder) {
          if let since = side.absentSince { times.append(max(earliest, since + Self.absenceProof)) }
        }
      }
    }
    return times.min().map { max($0, now + .milliseconds(20)) }
  }

  /// Notices a clock that was set: back, and what waits by it would wait until it has caught up, be it a year; forward, and a
  /// file that an editor is about to write again would count as long gone.
  func watchClock() throws {
    let (now, elapsed) = (now, client.elapsed)
    let before = clockShowed
    clockShowed = (now, elapsed)
    if let before {
      let leap = (now - before.wall) - (elapsed - before.elapsed)
      if leap > Self.leapMin { try client.transaction { try Mirror($0).putOffAbsences(by: leap, to: now) } }
    }
    // At first it is not known what an earlier run's clock showed.
    if let before, now >= before.wall { return }
    for path in waitingBlanks.keys where waitingBlanks[path].map({ $0.since > now }) ?? false {
      waitingBlanks[path]?.since = now
    }
    (again, listedAt, sweptAt, nextTrashSweep) = (Retry(), [:], WallTime(nanoseconds: 0), nil)
    try client.transaction { transaction in
      try Mirror(transaction).setBack(to: now, keyDelay: Self.keyDelay)
      try PhotoRecords(transaction).setBack(to: now)
    }
  }

  /// Whether files are missing whose fate another listing will decide.
  public func hasOpenAbsences() throws -> Bool {
    try collections.contains { collection in
      try hasOpenAbsences(collection) || hasOpenPhotoAbsences(collection)
    }
  }

  private func hasOpenAbsences(_ collection: Collection) throws -> Bool {
    try client.read { transaction in
      try Mirror(transaction).absentEntries(collection.folder).contains { !$0.isHeld }
        || SideFiles(transaction).all(collection.folder).contains { $0.absentSince != nil }
    }
  }
}
