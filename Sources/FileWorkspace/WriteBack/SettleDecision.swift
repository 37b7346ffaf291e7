/// What is to be done about an intent that a crash left open.
enum SettleDecision: Sendable, Hashable {
  /// Our text took the path. What is aside is the old file.
  case written
  /// The file left its path as planned; its text still goes to the trash.
  case removed
  /// Nothing of ours happened; the path says what was compared (or is free for a new file).
  case undone
  /// Somebody saved: their text, or nothing, lies at the path.
  case newerSave
  /// Something lies where a new file was to be.
  case exists
  /// Our text lies at the path, and a newer save waits in the temporary place: swap back.
  case putBack
  /// The path is free, and a newer save waits in the temporary place: it goes where our text went, or else to the path.
  case moveBackTemporary
  /// The path is free, and its file waits among the replaced ones.
  case moveBackReplaced
}

extension SettleDecision {
  /// Decides from what lies at the three places of an intent.
  ///
  /// Total, and never in favour of losing a text: one that is neither of the two recorded is a person's.
  static func decide(
    _ intent: WriteBackIntent, path: Sighting, temporary: Sighting, replaced: Sighting
  ) -> SettleDecision {
    switch intent.kind {
    case .create: decideCreation(intent, path, temporary)
    case .replace: decideReplacement(intent, path, temporary, replaced)
    case .remove: decideRemoval(intent, path, replaced)
    }
  }

  private static func decideCreation(
    _ intent: WriteBackIntent, _ path: Sighting, _ temporary: Sighting
  ) -> SettleDecision {
    if isOurs(path, intent) { return .written }
    // Our text leaves the temporary place only for the path; what happened there since is a person's doing.
    if temporary.isAbsent { return .written }
    return path.isAbsent ? .undone : .exists
  }

  private static func decideReplacement(
    _ intent: WriteBackIntent, _ path: Sighting, _ temporary: Sighting, _ replaced: Sighting
  ) -> SettleDecision {
    let waits = isPersons(temporary, intent)
    if isOurs(path, intent) { return waits ? .putBack : .written }
    if isOld(temporary, intent) { return .written }
    if waits { return path.isAbsent ? .moveBackTemporary : .newerSave }
    if temporary.says(intent.new?.hash) {
      // Ours still waits. If the old file is aside, this is the way without an exchange, cut off in its middle.
      if path.isAbsent { return replaced.isAbsent ? .newerSave : .moveBackReplaced }
      return path.says(intent.old?.hash) ? .undone : .newerSave
    }
    // Our text is neither here nor there: it took the path, and a person's save took it from there.
    if isOld(replaced, intent) || isPersons(replaced, intent) { return .written }
    return path.says(intent.old?.hash) ? .undone : .newerSave
  }

  private static func decideRemoval(
    _ intent: WriteBackIntent, _ path: Sighting, _ replaced: Sighting
  ) -> SettleDecision {
    if replaced.isAbsent { return path.says(intent.old?.hash) ? .undone : .newerSave }
    if isOld(replaced, intent) { return .removed }
    return path.isAbsent ? .moveBackReplaced : .newerSave
  }

  /// Our file, whatever was written into it since, or our text in any file.
  static func isOurs(_ sighting: Sighting, _ intent: WriteBackIntent) -> Bool {
    guard let new = intent.new else { return false }
    if case .other(let status) = sighting { return status.kind == .file && status.identity == new.identity }
    return sighting.mark?.identity == new.identity || sighting.says(new.hash)
  }

  /// The old text, or the old file as a loss of power left it: empty, or fallen back to an earlier text.
  static func isOld(_ sighting: Sighting, _ intent: WriteBackIntent) -> Bool {
    guard let old = intent.old, case .file(let content) = sighting else { return false }
    if content.hash == old.hash { return true }
    guard content.status.identity == old.identity else { return false }
    return content.bytes.allSatisfy { $0 == 0 } || content.status.modified < old.modified
  }

  /// A text that is neither recorded one: nobody but a person wrote it.
  static func isPersons(_ sighting: Sighting, _ intent: WriteBackIntent) -> Bool {
    switch sighting {
    case .absent: false
    case .other: true
    case .file: !isOld(sighting, intent) && !sighting.says(intent.new?.hash)
    }
  }
}
