import Synchronization
import Testing

@testable import FileWorkspace

@Suite("Two saves during one write-back")
struct WriteBackTwoSavesTests {
  static let first = Array(#"{"title": "saved first"}"#.utf8)
  static let second = Array(#"{"title": "saved second, a little longer"}"#.utf8)

  @Test("both are kept, unless the second was made over the first", arguments: PlannedChange.allCases, [0, 1])
  func twoSaves(change: PlannedChange, way: Int) throws {
    let way = WriteBackFaultTests.ways[way]
    let count = try WriteBackFaultTests.operations(change, way.1) + 6
    for one in 1...count {
      for other in one...count {
        for byRename in [(false, false), (true, false), (true, true)] {
          let world = try WriteBackWorld(way.1, holdsOldText: change.hasOldText)
          let writeBack = try world.warmWriteBack()
          let overwritten = Mutex<[[UInt8]]>([])
          let save: @Sendable ([UInt8], Bool) -> Void = { text, byRename in
            if let there = world.text { overwritten.withLock { $0.append(there) } }
            if byRename {
              try? world.files.person.saveByRename(WriteBackWorld.path, text)
            } else {
              try? world.files.person.saveDurably(WriteBackWorld.path, text)
            }
          }
          world.files.beforeEachOperation { number, _ in
            if number == one { save(Self.first, byRename.0) }
            if number == other { save(Self.second, byRename.1) }
          }
          let outcome = writeBack.apply([change.item(in: world)]).first
          world.files.beforeEachOperation(nil)
          let saved = world.files.operationCount
          let comment =
            "saves at \(one) and \(other) of \(count), by rename \(byRename): \(String(describing: outcome))"
          let reach = try world.textsWithinReach()
          let wasOverwritten = overwritten.withLock { $0.contains(Self.first) }
          let isFirstThere = wasOverwritten || reach.contains(Self.first) || saved < one
          let isSecondThere = reach.contains(Self.second) || saved < other
          #expect(isFirstThere, "\(comment): the first is lost")
          #expect(isSecondThere, "\(comment): the second is lost")
          #expect(try world.journal.pendingIntents().isEmpty, "\(comment): still pending")
        }
      }
    }
  }

  @Test(
    "a save that a kill leaves beside our text is the file that its person moves before the next start",
    arguments: [false, true], Death.allCases)
  func movedBeforeSettled(byRename: Bool, death: Death) throws {
    let moved = "tasks/b.json"
    let count = try WriteBackFaultTests.operations(.replace, .init())
    for dying in 1...(count + 4) {
      let world = try WriteBackWorld()
      let writeBack = try world.warmWriteBack()
      let wasSaved = Mutex(false)
      world.files.beforeEachOperation { _, operation in
        guard operation == "swap", wasSaved.withLock({ !$0 }) else { return }
        wasSaved.withLock { $0 = true }
        if byRename { try? world.files.person.saveByRename(WriteBackWorld.path, WriteBackWorld.saved) }
        if !byRename { try? world.files.person.saveDurably(WriteBackWorld.path, WriteBackWorld.saved) }
        world.files.person.sync()
      }
      world.files.plan(.stopAfter, atOperation: dying)
      _ = writeBack.apply([world.item()])
      world.files.beforeEachOperation(nil)
      switch death {
      case .kill: world.restart()
      case .powerLossKeepingLittle: world.files.crash { _ in 0 }
      case .powerLossKeepingMuch: world.files.crash { $0 - 1 }
      case .powerLossMixed: world.files.crash { $0 / 2 }
      }
      guard world.text != nil, wasSaved.withLock({ $0 }) else { continue }
      try world.files.person.rename(WriteBackWorld.path, moved)
      let settled = world.writeBack().settle(try world.journal.pendingIntents())
      let comment: Comment = "killed after operation \(dying): \(settled.map(\.outcome.word))"
      #expect(world.files.person.bytes(moved) == WriteBackWorld.saved, comment)
      #expect(world.text == nil, comment)
      #expect(try world.journal.pendingIntents().isEmpty, comment)
    }
  }

  @Test("three saves, each over ours while it is put back, end with the newest at the path")
  func newestWins() throws {
    let world = try WriteBackWorld()
    let swaps = Mutex(0)
    let texts = (1...3).map { Array("save \($0)".utf8) }
    world.files.beforeEachOperation { _, operation in
      guard operation == "swap" else { return }
      let number = swaps.withLock { swaps in
        swaps += 1
        return swaps
      }
      // The first swap tries what the folder allows.
      if number > 1, number - 2 < texts.count {
        try? world.files.person.saveByRename(WriteBackWorld.path, texts[number - 2])
      }
    }
    let outcome = try #require(world.writeBack().apply([world.item()]).first)
    #expect(world.text == texts[2])
    guard case .newerSave(.file(let hash, _)) = outcome else { return #expect(Bool(false), "\(outcome)") }
    #expect(hash == ContentHash(of: texts[2]))
    // The third was made over the first, which had just been put back; nobody made one over the second.
    #expect(try world.textsWithinReach().contains(texts[1]))
  }
}

@Suite("Settling an intent after a crash")
struct SettleDecisionTests {
  /// What may lie at one place: nothing, the recorded texts, or a person's.
  enum Lies: String, CaseIterable {
    case nothing, old, oldInode, oldFallenBack, oldEmptied, new, newInode, persons, unreadable
  }

  static let old = FileMark(
    identity: FileIdentity(inode: 1, born: nil), hash: ContentHash(of: [1]), modified: FileTime(nanoseconds: 100))
  static let new = FileMark(
    identity: FileIdentity(inode: 2, born: nil), hash: ContentHash(of: [2]), modified: FileTime(nanoseconds: 200))

  static func sighting(_ lies: Lies) -> Sighting {
    func file(_ inode: UInt64, _ bytes: [UInt8], at time: Int64 = 300) -> Sighting {
      let time = FileTime(nanoseconds: time)
      return .file(
        FileContent(
          bytes: bytes,
          status: FileStatus(
            kind: .file, size: Int64(bytes.count), modified: time, changed: time, born: nil, inode: inode)))
    }
    switch lies {
    case .nothing: return .absent
    case .old: return file(1, [1], at: 100)
    case .oldInode: return file(1, [3])
    case .oldFallenBack: return file(1, [4], at: 50)
    case .oldEmptied: return file(1, [])
    case .new: return file(2, [2], at: 200)
    case .newInode: return file(2, [5])
    case .persons: return file(9, [6])
    case .unreadable:
      return .other(
        FileStatus(
          kind: .file, size: 1, modified: FileTime(nanoseconds: 1), changed: FileTime(nanoseconds: 1), born: nil,
          inode: 8))
    }
  }

  struct Case: CustomTestStringConvertible {
    let name: String
    let kind: WriteBackIntent.Kind
    let path: Lies
    let temporary: Lies
    let replaced: Lies
    let decision: SettleDecision
    var testDescription: String { name }
  }

  static let cases: [Case] = [
    Case("died before the swap", .replace, .old, .new, .nothing, .undone),
    Case("saved before the swap", .replace, .persons, .new, .nothing, .newerSave),
    Case("removed before the swap", .replace, .nothing, .new, .nothing, .newerSave),
    Case("died after the swap", .replace, .new, .old, .nothing, .written),
    Case("died after the old file went aside", .replace, .new, .nothing, .old, .written),
    Case("a newer save was swapped out", .replace, .new, .persons, .nothing, .putBack),
    Case("a save in place was swapped out", .replace, .new, .oldInode, .nothing, .putBack),
    Case("ours was edited in place", .replace, .newInode, .old, .nothing, .written),
    Case("ours was saved over", .replace, .persons, .old, .nothing, .written),
    Case("ours was removed", .replace, .nothing, .old, .nothing, .written),
    Case("a newer save was swapped out, then another made", .replace, .persons, .oldInode, .nothing, .newerSave),
    Case("a newer save was swapped out, then ours removed", .replace, .nothing, .persons, .nothing, .moveBackTemporary),
    Case("the old file fell back with the power", .replace, .new, .oldFallenBack, .nothing, .written),
    Case("the old file was emptied by the loss of power", .replace, .new, .oldEmptied, .nothing, .written),
    Case("put back already", .replace, .persons, .nothing, .new, .newerSave),
    Case("somebody emptied the temporary folder", .replace, .old, .nothing, .nothing, .undone),
    Case("what was swapped out cannot be read", .replace, .new, .unreadable, .nothing, .putBack),
    Case("a late writer after everything", .replace, .persons, .nothing, .oldInode, .written),
    Case("moved aside, died", .replace, .nothing, .new, .old, .moveBackReplaced),
    Case("a save was moved aside, died", .replace, .nothing, .new, .persons, .moveBackReplaced),
    Case("moved aside, then a save", .replace, .persons, .new, .old, .newerSave),
    Case("new file, died before", .create, .nothing, .new, .nothing, .undone),
    Case("new file, made", .create, .new, .nothing, .nothing, .written),
    Case("new file, made and edited", .create, .newInode, .nothing, .nothing, .written),
    Case("new file, made and saved over", .create, .persons, .nothing, .nothing, .written),
    Case("new file, another came first", .create, .persons, .new, .nothing, .exists),
    Case("removal, died before", .remove, .old, .nothing, .nothing, .undone),
    Case("removal, saved before", .remove, .persons, .nothing, .nothing, .newerSave),
    Case("removal, gone before", .remove, .nothing, .nothing, .nothing, .newerSave),
    Case("removal, moved aside", .remove, .nothing, .nothing, .old, .removed),
    Case("removal, a save was moved aside", .remove, .nothing, .nothing, .persons, .moveBackReplaced),
    Case("removal, moved aside, then a new file", .remove, .persons, .nothing, .old, .removed),
  ]

  @Test("decides from what lies at the three places", arguments: cases)
  func decides(_ one: Case) { #expect(Self.decide(one.kind, one.path, one.temporary, one.replaced) == one.decision) }

  static func decide(_ kind: WriteBackIntent.Kind, _ path: Lies, _ temporary: Lies, _ replaced: Lies) -> SettleDecision
  {
    let intent = WriteBackIntent(
      kind: kind, path: "p", temporary: "t", replaced: "r", old: kind == .create ? nil : old,
      new: kind == .remove ? nil : new)
    return SettleDecision.decide(
      intent, path: sighting(path), temporary: sighting(temporary), replaced: sighting(replaced))
  }

  @Test("never moves a file onto another, and never swaps without something to swap")
  func total() {
    for path in Lies.allCases {
      for temporary in Lies.allCases {
        for replaced in Lies.allCases {
          for kind in [WriteBackIntent.Kind.replace, .create, .remove] {
            switch Self.decide(kind, path, temporary, replaced) {
            case .putBack: #expect(path != .nothing && temporary != .nothing)
            case .moveBackTemporary: #expect(path == .nothing && temporary != .nothing)
            case .moveBackReplaced: #expect(path == .nothing && replaced != .nothing)
            case .undone: #expect(path == .old || (kind == .create && path == .nothing))
            case .removed: #expect(kind == .remove)
            case .exists: #expect(kind == .create)
            case .written, .newerSave: break
            }
          }
        }
      }
    }
  }
}

extension SettleDecisionTests.Case {
  init(
    _ name: String, _ kind: WriteBackIntent.Kind, _ path: SettleDecisionTests.Lies,
    _ temporary: SettleDecisionTests.Lies, _ replaced: SettleDecisionTests.Lies, _ decision: SettleDecision
  ) {
    self.init(name: name, kind: kind, path: path, temporary: temporary, replaced: replaced, decision: decision)
  }
}
