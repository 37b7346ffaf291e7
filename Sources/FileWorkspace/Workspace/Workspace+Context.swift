import LosslessJSON
import OfflineEngine

extension RowFile {
  /// The person's text with a row's values in it; the server's answer that a refused file carried is taken out.
  func updated(to values: JSONObject, _ collection: CollectionSettings, adding: Adding = .all) -> [UInt8] {
    guard let document else { return Self.render(values, collection) }
    return Self.updated(document.removing(PathDecision.problemMember), to: values, collection, adding: adding)
  }
}

extension GitWork {
  /// What it is, and since when, for people.
  var text: String { "\(description) since \(WallTime(nanoseconds: since.nanoseconds).text)" }
}

extension Workspace {
  /// What decisions about a collection's paths need.
  ///
  /// - Parameter pathCount: About how many paths are decided together.
  func parts(for collection: Collection, _ transaction: EngineTransaction, pathCount: Int = 1) throws -> DecisionParts {
    let markers = EditorMarkers(folder: collection.folder, pathCount: pathCount, in: files)
    return DecisionParts(
      files: files, makeID: environment.makeID, now: now, newFileKeys: newFileKeys,
      troubled: Set(try Problems(transaction).paths().map(PathKey.init)), deliberateTexts: deliberateTexts,
      changeBacks: changeBacks, recentRows: recentRows, adoptsAs: adoptsAs, mayBlank: mayBlank,
      editorMarker: { markers.marker(of: $0) })
  }

  /// Looks whether git is at work; its changes count only when it has finished.
  func watchGit() throws {
    repository = repository ?? findRepository()
    let work = repository?.work()
    if work == nil, let gitWork {
      needsScan = true
      if gitWork.changesFiles { gitChangedFilesAt = now }
    }
    gitWork = work
    let (foundHead, foundLength) = (repository?.head(), repository?.recordLength())
    guard foundHead != head || foundLength != recordLength else { return }
    if repository?.wasMovedByCommit() != true {
      if head != nil, foundHead != head { headMovedAt = now }
      if recordLength != nil, foundLength != recordLength { gitChangedFilesAt = now }
    }
    try client.transaction {
      try $0.setNote(Self.headNote, foundHead)
      try $0.setNote(Self.recordNote, foundLength.map { "\($0)" })
    }
    (head, recordLength) = (foundHead, foundLength)
  }

  /// Says that git is waited for, unless it is quickly over; after a while once more, and louder.
  func tellGitWait(_ report: inout WorkspaceReport) {
    guard let gitWork else {
      if gitWait?.told != nil { report.note(.solved, "", "git has finished; its result is looked at") }
      gitWait = nil
      return
    }
    let wait = gitWait ?? (since: now, told: nil)
    gitWait = wait
    switch (now - wait.since, wait.told) {
    case (Self.gitWaitIsLong..., .note):
      report.note(
        .held, "", "still waiting for git: \(gitWork.text); finish or abort it, nothing is sent or written until then")
      gitWait?.told = .held
    case (Self.gitInterval..., nil):
      report.note(.note, "", "waiting for git: \(gitWork.text)")
      gitWait?.told = .note
    default: break
    }
  }

  private static let gitWaitIsLong = Duration.seconds(600)

  /// Remembers for a moment that edits and new files were queued.
  func noteWrites(_ count: Int, of collection: Collection) {
    let now = now
    recentWrites[collection.folder, default: []].removeAll { now - $0.at >= AbsenceDecision.accidentSpan }
    recentWrites[collection.folder]?.append((now, count))
  }

  /// Whether git has changed files so shortly before a time that what is missing then may be its doing.
  func hasGitWorked(at time: WallTime) -> Bool {
    [gitChangedFilesAt, headMovedAt].contains { $0.map { time - $0 < AbsenceDecision.accidentSpan } ?? false }
  }

  /// How many edits and new files came with a move of HEAD: in one checkout they and the deletes are one deed.
  func writesOfCheckout(_ collection: Collection, at time: WallTime) -> Int {
    let isRecent = { (at: WallTime) in time - at < AbsenceDecision.accidentSpan }
    guard let headMovedAt, isRecent(headMovedAt) else { return 0 }
    return (recentWrites[collection.folder] ?? []).reduce(0) { isRecent($1.at) ? $0 + $1.count : $0 }
  }
}
