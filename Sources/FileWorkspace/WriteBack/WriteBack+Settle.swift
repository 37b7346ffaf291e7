extension WriteBack {
  /// Finds out what became of intents that a crash or a failure left open, and finishes or undoes them.
  ///
  /// To be called before any scan. No text is thrown away: one that is neither of the two recorded goes back to its path
  /// or, where a later save lies there, to the trash.
  ///
  /// - Returns: What became of each, as the journal has it; `unsettled` ones are still pending.
  public func settle(_ intents: [WriteBackIntent]) -> [SettledIntent] {
    if intents.isEmpty { return [] }
    return finish(keepRemoved(intents.map(settleAlone)))
  }

  /// Settles one intent up to the flush and the journal.
  func settleAlone(_ intent: WriteBackIntent) -> SettledIntent {
    do {
      return try settle(intent)
    } catch {
      return SettledIntent(intent: intent, outcome: .unsettled(.files(error)))
    }
  }

  private func settle(_ intent: WriteBackIntent) throws(FileSystemError) -> SettledIntent {
    let path = try files.look(intent.path, bytesMax: bytesMax)
    let temporary = try lookAside(intent.temporary, path)
    let replaced = try lookAside(intent.replaced, path)
    let decision = SettleDecision.decide(intent, path: path, temporary: temporary, replaced: replaced)
    switch decision {
    case .putBack:
      return try putBack(intent, newer: temporary)
    case .moveBackTemporary:
      return try moveBack(intent, newer: temporary)
    case .moveBackReplaced:
      try files.moveNoReplace(intent.replaced, intent.path)
      let outcome: WriteBackOutcome =
        replaced.says(intent.old?.hash) ? .failed(.interrupted(path: intent.path)) : .newerSave(replaced.found)
      return SettledIntent(intent: intent, outcome: outcome, replaced: try keepAll(intent, temporary, .absent))
    case .written:
      return SettledIntent(
        intent: intent, outcome: try writtenBefore(intent, path), replaced: try keepAll(intent, temporary, replaced),
        former: [temporary, replaced].first { $0.says(intent.old?.hash) }?.bytes)
    case .removed:
      let entry = TrashEntry(path: "", origin: intent.path, reason: intent.reason, at: 0, bytes: 0)
      return SettledIntent(
        intent: intent, outcome: .removed(entry), replaced: try keepAll(intent, .absent, replaced),
        former: replaced.bytes)
    case .undone:
      return SettledIntent(
        intent: intent, outcome: .failed(.interrupted(path: intent.path)),
        replaced: try keepAll(intent, temporary, replaced))
    case .newerSave:
      return SettledIntent(
        intent: intent, outcome: .newerSave(path.found), replaced: try keepAll(intent, temporary, replaced))
    case .exists:
      return SettledIntent(
        intent: intent, outcome: .exists(path.found), replaced: try keepAll(intent, temporary, replaced))
    }
  }

  private func lookAside(_ aside: String, _ path: Sighting) throws(FileSystemError) -> Sighting {
    if aside.isEmpty { return .absent }
    let sighting = try files.look(aside, bytesMax: bytesMax)
    guard let identity = sighting.mark?.identity, identity == path.mark?.identity else { return sighting }
    // A move by a second name was cut off between its two halves: the file is where it should be.
    try files.unlink(aside)
    return .absent
  }

  private func writtenBefore(_ intent: WriteBackIntent, _ path: Sighting) throws(FileSystemError) -> WriteBackOutcome {
    guard let new = intent.new else { return .failed(.interrupted(path: intent.path)) }
    if case .file(let content) = path, content.hash == new.hash {
      return .written(WrittenFile(status: content.status, hash: new.hash))
    }
    // Somebody saved since. A status that matches nothing makes the next scan read their text.
    let status = FileStatus(
      kind: .file, size: -1, modified: new.modified, changed: new.modified, born: new.identity.born,
      inode: new.identity.inode)
    return .written(WrittenFile(status: status, hash: new.hash))
  }

  /// Keeps what lies aside: recorded texts for late writers, any other in the trash first.
  private func keepAll(
    _ intent: WriteBackIntent, _ temporary: Sighting, _ replaced: Sighting
  ) throws(FileSystemError) -> [ReplacedFile] {
    var kept: [ReplacedFile] = []
    for (place, sighting) in [(intent.replaced, replaced), (intent.temporary, temporary)] {
      guard case .file(let content) = sighting else { continue }
      let isRecorded = sighting.says(intent.old?.hash) || sighting.says(intent.new?.hash)
      // The old file with another text is a late save: its entry keeps the old hash, and `lateTexts` reports it.
      let isLate = content.status.identity == intent.old?.identity && SettleDecision.isPersons(sighting, intent)
      if !isRecorded && !isLate { try rescue(sighting, intent) }
      var entry = try keep(place, sighting, intent)
      if isLate, let old = intent.old {
        entry.hash = old.hash
        entry.stamp = nil
      }
      kept.append(entry)
    }
    return kept
  }
}
