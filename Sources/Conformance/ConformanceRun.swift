import LosslessJSON

/// Plays a folder of cases and prints what comes of it.
struct ConformanceRun {
  private let folder: CaseFolder
  private let servers: ServerStarter

  init(_ folder: CaseFolder, servers: ServerStarter) {
    self.folder = folder
    self.servers = servers
  }

  /// Whether every case went well, but for those that are listed with a reason.
  func run() throws -> Bool {
    defer { servers.stop() }
    var total = Score()
    var names: Set<String> = []
    for topic in folder.topics {
      var score = Score()
      for recorded in try folder.cases(of: topic) {
        names.insert(recorded.name)
        let outcome = try servers.player(for: recorded.variant).play(recorded)
        score.add(outcome, gap: folder.gaps[recorded.name])
        switch (outcome, folder.gaps[recorded.name]) {
        case (.different(let differences), nil):
          print("FAIL \(topic) \(recorded.name): \(differences.joined(separator: "; "))")
        case (.different, let reason?): print("GAP  \(topic) \(recorded.name): \(reason)")
        case (_, .some): print("FAIL \(topic) \(recorded.name): it goes well; take it off the list of gaps")
        case (_, nil): break
        }
      }
      print(score.line(topic))
      total.add(score)
    }
    for name in folder.gaps.keys.sorted() where !names.contains(name) {
      print("FAIL \(name): the list of gaps names a case that there is not")
      total.failed += 1
    }
    print(total.line("all"))
    return total.failed == 0
  }
}

/// How many cases came to what.
struct Score {
  var asRecorded = 0
  var refused = 0
  var gaps = 0
  var failed = 0

  mutating func add(_ outcome: CasePlayer.Outcome, gap: String?) {
    switch (outcome, gap) {
    case (.different, .some): gaps += 1
    case (.different, nil), (_, .some): failed += 1
    case (.asRecorded, nil): asRecorded += 1
    case (.refused, nil): refused += 1
    }
  }

  mutating func add(_ other: Score) {
    asRecorded += other.asRecorded
    refused += other.refused
    gaps += other.gaps
    failed += other.failed
  }

  func line(_ topic: String) -> String {
    var line = "\(topic): \(asRecorded + refused) of \(asRecorded + refused + gaps + failed)"
    if refused > 0 { line += ", \(refused) of them need PostgreSQL and are refused" }
    if gaps > 0 { line += ", \(gaps) listed as gaps" }
    return line
  }
}
