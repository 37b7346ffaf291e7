import Randomness
import Testing

@testable import FileWorkspace

/// What is written back while things go wrong.
enum PlannedChange: String, CaseIterable, CustomTestStringConvertible {
  case replace, create, remove
  var testDescription: String { rawValue }

  var hasOldText: Bool { self != .create }

  func item(in world: WriteBackWorld) -> WriteBackItem {
    switch self {
    case .replace: world.item()
    case .create: world.item(on: nil)
    case .remove: world.item(.trash(reason: "gone on the server"))
    }
  }
}

/// What a person does at one moment of a write-back.
enum PersonsAct: String, CaseIterable, CustomTestStringConvertible {
  case nothing, savesInPlace, savesByRename, removes, holdsOpen
  var testDescription: String { rawValue }
}

/// How the program dies.
enum Death: String, CaseIterable {
  case kill, powerLossKeepingLittle, powerLossKeepingMuch, powerLossMixed
}

@Suite("Writing a file back while things go wrong")
struct WriteBackFaultTests {
  static let ways: [(String, InMemoryFileSystem.Abilities)] = [
    ("swap", .init()), ("aside", WriteBackTests.poorer { $0.canExchange = false }),
    (
      "aside with links",
      WriteBackTests.poorer {
        $0.canExchange = false
        $0.canRenameNoReplace = false
      }
    ), ("inside the folder", WriteBackTests.poorer { $0.foldersApart = ["tasks"] }),
  ]

  @Test("a save at any moment is never lost", arguments: PlannedChange.allCases, ways)
  func savesAtAnyMoment(change: PlannedChange, way: (String, InMemoryFileSystem.Abilities)) throws {
    for act in PersonsAct.allCases {
      let count = try Self.operations(change, way.1)
      for moment in 1...count {
        let run = try Run(change, way.1, act, at: moment)
        let outcome = run.apply()
        run.finishPerson()
        try run.check("\(act) at \(moment) of \(count): \(outcome)")
        if act == .nothing { #expect(outcome == (change == .remove ? "removed" : "written")) }
      }
    }
  }

  @Test("an operation that fails loses nothing, with and without a save", arguments: PlannedChange.allCases, ways)
  func failsAtAnyMoment(change: PlannedChange, way: (String, InMemoryFileSystem.Abilities)) throws {
    let count = try Self.operations(change, way.1)
    for code: Int32 in [5, 28] {
      for failing in 1...count {
        for act in PersonsAct.allCases {
          let run = try Run(change, way.1, act, at: max(1, failing - 1))
          run.world.files.plan(.error(errno: code), atOperation: failing)
          let outcome = run.apply()
          run.finishPerson()
          run.settle()
          try run.check("error \(code) at \(failing) of \(count), \(act): \(outcome)")
        }
      }
    }
  }

  @Test("the program may die at any moment", arguments: PlannedChange.allCases, ways)
  func diesAtAnyMoment(change: PlannedChange, way: (String, InMemoryFileSystem.Abilities)) throws {
    let count = try Self.operations(change, way.1)
    for dying in 1...count {
      // Dying before an operation is dying after the one before it.
      for fault in dying == 1 ? [InMemoryFileSystem.Fault.stop, .stopAfter] : [.stopAfter] {
        let deaths = way.0 == "swap" ? Death.allCases : [.kill, .powerLossMixed]
        for death in deaths {
          for act in PersonsAct.allCases where act != .holdsOpen || death == .kill {
            // A person's save comes right before the death, or after it while nothing runs.
            for isAfter in way.0 == "swap" ? [false, true] : [false] {
              let run = try Run(change, way.1, act, at: isAfter ? nil : dying)
              run.world.files.plan(fault, atOperation: dying)
              let outcome = run.apply()
              if isAfter { run.act() }
              run.die(death, seed: dying)
              run.settle()
              run.finishPerson()
              try run.check(
                "\(fault) at \(dying) of \(count), \(death), \(act), \(isAfter ? "after" : "before"): \(outcome)")
            }
          }
        }
      }
    }
  }

  @Test("the program may die again while it settles", arguments: PlannedChange.allCases)
  func diesTwice(change: PlannedChange) throws {
    let count = try Self.operations(change, .init())
    for dying in 1...count {
      for dyingAgain in stride(from: 1, through: 12, by: 2) {
        for act in [PersonsAct.nothing, .savesInPlace, .savesByRename] {
          let run = try Run(change, .init(), act, at: dying)
          run.world.files.plan(.stopAfter, atOperation: dying)
          _ = run.apply()
          run.die(.kill, seed: 0)
          run.world.files.plan(.stopAfter, atOperation: dyingAgain)
          run.settle()
          run.die(.powerLossMixed, seed: dyingAgain)
          run.settle()
          try run.check("dies at \(dying), again at \(dyingAgain), \(act)")
        }
      }
    }
  }

  @Test("trying what a folder allows may fail at any moment", arguments: ways)
  func triesFail(way: (String, InMemoryFileSystem.Abilities)) throws {
    for failing in 1...30 {
      for fault in [InMemoryFileSystem.Fault.error(errno: 28), .stopAfter] {
        let world = try WriteBackWorld(way.1)
        world.files.plan(fault, atOperation: failing)
        _ = world.writeBack().apply([world.item()])
        world.files.crash { $0 - 1 }
        _ = world.writeBack().settle(try world.journal.pendingIntents())
        let found = try #require(world.text)
        #expect(found == WriteBackWorld.old || found == WriteBackWorld.new)
        let again = world.writeBack().apply([world.item(on: found)])
        #expect(again.map(\.word) == ["written"], "\(fault) at \(failing)")
        #expect(world.text == WriteBackWorld.new)
      }
    }
  }

  /// How many operations an undisturbed write-back takes.
  static func operations(_ change: PlannedChange, _ abilities: InMemoryFileSystem.Abilities) throws -> Int {
    let run = try Run(change, abilities, .nothing, at: nil)
    _ = run.apply()
    return run.world.files.operationCount
  }
}

/// One write-back with one disturbance.
private struct Run {
  let world: WriteBackWorld
  let change: PlannedChange
  let planned: PersonsAct
  private let writeBack: WriteBack
  private let writer: InMemoryWriter?

  init(_ change: PlannedChange, _ abilities: InMemoryFileSystem.Abilities, _ act: PersonsAct, at moment: Int?) throws {
    world = try WriteBackWorld(abilities, holdsOldText: change.hasOldText)
    self.change = change
    planned = act
    writeBack = try world.warmWriteBack()
    writer = act == .holdsOpen && change.hasOldText ? try world.files.person.open(WriteBackWorld.path) : nil
    guard let moment else { return }
    let world = world
    world.files.beforeEachOperation { number, _ in if number == moment { Self.act(act, in: world) } }
  }

  func act() { Self.act(planned, in: world) }

  private static func act(_ act: PersonsAct, in world: WriteBackWorld) {
    switch act {
    case .nothing, .holdsOpen: break
    case .savesInPlace: try? world.files.person.saveDurably(WriteBackWorld.path, WriteBackWorld.saved)
    case .savesByRename: try? world.files.person.saveByRename(WriteBackWorld.path, WriteBackWorld.saved)
    case .removes: try? world.files.person.remove(WriteBackWorld.path)
    }
  }

  func apply() -> String { writeBack.apply([change.item(in: world)]).first?.word ?? "" }

  func settle() {
    _ = world.writeBack().settle((try? world.journal.pendingIntents()) ?? [])
    if !world.files.isStopped { _ = try? world.replacedFiles.rescueStrays(folders: ["tasks"]) }
  }

  func die(_ death: Death, seed: Int) {
    switch death {
    case .kill: world.restart()
    case .powerLossKeepingLittle: world.files.crash { _ in 0 }
    case .powerLossKeepingMuch: world.files.crash { $0 - 1 }
    case .powerLossMixed:
      var random = SeededRandom(seed: UInt64(seed))
      world.files.crash { random.number(below: $0) }
    }
  }

  /// A person who held the file open writes at last.
  func finishPerson() {
    writer?.write(WriteBackWorld.saved)
    writer?.close()
  }

  func check(_ comment: String) throws {
    let pending = try world.journal.pendingIntents()
    #expect(pending.isEmpty, "\(comment): still pending")
    let reach = try world.textsWithinReach()
    let saves = planned == .savesInPlace || planned == .savesByRename || (planned == .holdsOpen && change.hasOldText)
    if saves { #expect(reach.contains(WriteBackWorld.saved), "\(comment): the save is lost") }
    if change != .create && (planned == .nothing || planned == .holdsOpen) {
      let isReplaced = world.text == WriteBackWorld.new
      let isLate = planned == .holdsOpen  // The person wrote over it.
      #expect(isReplaced || isLate || reach.contains(WriteBackWorld.old), "\(comment): the old text is lost")
    }
    if planned == .nothing {
      let allowed: [[UInt8]?] =
        switch change {
        case .replace: [WriteBackWorld.old, WriteBackWorld.new]
        case .create: [nil, WriteBackWorld.new]
        case .remove: [WriteBackWorld.old, nil]
        }
      #expect(allowed.contains(world.text), "\(comment): the path is neither as before nor as planned")
    }
    // What the journal was told agrees with what lies there, where nobody else touched it.
    if planned == .nothing, let last = world.journal.state.withLock({ $0.settled.last }) {
      switch last.outcome {
      case .written: #expect(world.text == WriteBackWorld.new, "\(comment): told written")
      case .removed: #expect(world.text == nil, "\(comment): told removed")
      default: #expect(world.text == (change.hasOldText ? WriteBackWorld.old : nil), "\(comment): told \(last.outcome)")
      }
    }
    // Nothing of ours lies about unaccounted for.
    let known = Set(try world.journal.replacedFiles().map(\.path))
    let aside = world.files.person.paths().filter {
      $0.contains("/replaced/") || ($0.contains("/tmp/") && !$0.hasPrefix(StateFolder.trash))
    }
    #expect(aside.allSatisfy(known.contains) || planned != .nothing, "\(comment): \(aside) not all of \(known)")
  }
}
