import LosslessJSON
import OfflineEngine
import Randomness
import Testing

@testable import FileWorkspace

@Suite("Reconcile, whatever comes")
struct ReconcilePropertyTests {
  private static let columns = ["title", "notes", "done"]

  /// Draws values, bases and readings from few, so that equal ones are as frequent as different ones.
  struct Draw {
    var random: SeededRandom

    mutating func chance(_ outOf: Int) -> Bool { Int.random(in: 0..<outOf, using: &random) == 0 }

    mutating func values() -> JSONObject {
      var values = JSONObject()
      for column in ReconcilePropertyTests.columns where !chance(4) {
        values[column] = random.pick(["a", "b", .null] as [JSONValue])
      }
      return values
    }

    mutating func key() -> RowKey { RowKey(FileWorkspaceTests.key(Int.random(in: 1...3, using: &random))) }

    mutating func version() -> String? { random.pick([nil, "1", "2"]) }

    mutating func base() -> FileBase {
      let own = key()
      return FileBase(key: own, values: values(), version: version(), writtenKey: random.pick([nil, own, key()]))
    }

    mutating func row() -> RowReading {
      switch Int.random(in: 0..<9, using: &random) {
      case 0: .unknown
      case 1: .gone
      case 8: .goneUnanswered
      case 2: .deletedHere(mayBeSent: chance(2))
      case 3: .refusedInsert(entry: 1, values: values())
      default: .present(values: values(), version: version())
      }
    }

    mutating func file() -> FileReading {
      switch Int.random(in: 0..<8, using: &random) {
      case 0: .absent
      case 1: .unreadable
      default: .row(FileRow(values: values(), key: chance(3) ? nil : key()))
      }
    }

    mutating func input() -> ReconcileInput {
      let owner: KeyOwner = random.pick([.nobody, .nobody, .present(path: "o"), .absent(path: "o")])
      return ReconcileInput(
        base: chance(3) ? nil : base(), file: file(), row: row(), otherRow: row(), owner: owner, mayWrite: !chance(4))
    }
  }

  private func forAll(_ count: Int = 30_000, _ body: (ReconcileInput, inout Draw) -> String?) {
    var draw = Draw(random: SeededRandom(seed: 20_261_130))
    for _ in 0..<count {
      let input = draw.input()
      guard let complaint = body(input, &draw) else { continue }
      Issue.record("\(complaint): \(input) gives \(reconcile(input))")
      return
    }
  }

  private func isWrite(_ step: ReconcileStep) -> Bool {
    switch step {
    case .insert, .update, .delete, .retryInsert: true
    default: false
    }
  }

  @Test("one path never gives a delete and an insert, nor two writes")
  func oneWrite() {
    forAll { input, _ in reconcile(input).count(where: isWrite) > 1 ? "more than one write" : nil }
  }

  @Test("a file that cannot be read, and one that equals its base, send nothing")
  func unchanged() {
    forAll { input, _ in
      let steps = reconcile(input)
      if input.file == .unreadable, !steps.isEmpty { return "an unreadable file moved something" }
      guard let base = input.base, case .row(let file) = input.file,
        file.values.members.allSatisfy({ base.values[$0.name] == $0.value })
      else { return nil }
      return steps.contains(where: isWrite) ? "an unchanged file is sent" : nil
    }
  }

  @Test("only a file that is absent gives a delete, and only with a base")
  func deletes() {
    forAll { input, _ in
      guard reconcile(input).contains(.delete) else { return nil }
      return input.base == nil || input.file != .absent ? "a delete out of nothing" : nil
    }
  }

  @Test("an update holds exactly the columns in which the file differs from its base, and leaves absent ones out")
  func columnsOfUpdates() {
    forAll { input, _ in
      for case .update(let columns) in reconcile(input) {
        guard let base = input.base, case .row(let file) = input.file else { return "an update without a file" }
        for (name, value) in columns.members {
          if file.values[name] != value { return "a value that the file does not show" }
          if base.values[name] == value { return "a column that was not touched" }
        }
        let untouched = file.values.members.filter { base.values[$0.name] == $0.value }
        if untouched.contains(where: { columns[$0.name] != nil }) { return "an untouched column" }
      }
      return nil
    }
  }

  @Test("what is written into a file never takes back the edit that is queued with it")
  func writesKeepEdits() {
    forAll { input, _ in
      let steps = reconcile(input)
      for case .writeFile(let values, let version) in steps {
        if !input.mayWrite, input.base != nil { return "written under an editor" }
        for case .update(let columns) in steps {
          if columns.members.contains(where: { values[$0.name] != $0.value }) { return "the edit is written over" }
          if version != input.base?.version { return "a version that the person has not seen" }
        }
      }
      return nil
    }
  }

  @Test("played on a small model, a second look finds nothing to do")
  func idempotent() {
    forAll { input, _ in
      var input = input
      for round in 0..<4 {
        let steps = reconcile(input)
        if steps.isEmpty { return nil }
        guard play(steps, on: &input) else { return nil }
        if round == 3 { return "no end" }
      }
      return nil
    }
  }

  /// Plays steps as the workspace would; false where a person, another path or the server goes on.
  private func play(_ steps: [ReconcileStep], on input: inout ReconcileInput) -> Bool {
    for step in steps {
      guard case .row(let file) = input.file else {
        guard case .writeFile(let values, let version) = step else { return false }
        let key = input.base?.key ?? RowKey(key(9))
        input.file = .row(FileRow(values: values, key: key))
        input.base = FileBase(key: key, values: values, version: version, writtenKey: key)
        continue
      }
      switch step {
      case .insert(let values, let key):
        let key = key ?? RowKey(FileWorkspaceTests.key(9))
        input.base = FileBase(key: key, values: values, version: nil, writtenKey: file.key)
        input.row = .present(values: values, version: nil)
        input.owner = .nobody
      case .update(let columns):
        let before = input.base?.values ?? [:]
        input.base?.values = before.overlaid(with: file.values)
        input.base?.writtenKey = file.key
        guard case .present(let values, _) = input.row else { return false }
        input.row = .present(values: values.overlaid(with: columns), version: input.base?.version)
      case .writeFile(let values, let version):
        guard let key = input.base?.key else { return false }
        input.file = .row(FileRow(values: file.values.overlaid(with: values), key: key))
        input.base = FileBase(key: key, values: values, version: version, writtenKey: key)
      case .recordBase(let base): input.base = base
      default: return false
      }
    }
    return true
  }

  // MARK: The base of a save

  @Test("the base of a save is the current one for whoever saw it, and never one that explains less")
  func baseOfSaveLaws() {
    var draw = Draw(random: SeededRandom(seed: 4))
    for _ in 0..<20_000 {
      let own = draw.key()
      let bases = (0..<Int.random(in: 1...4, using: &draw.random)).map { _ in
        FileBase(key: own, values: draw.values(), version: draw.version(), writtenKey: own)
      }
      let (current, earlier) = (bases[0], Array(bases.dropFirst()))
      let file = draw.values()
      let chosen = baseOfSave(file, current: current, earlier: earlier)
      let counts = bases.map { edit(file, from: $0.values).count }
      #expect(bases.contains(chosen))
      #expect(baseOfSave(file, current: current, earlier: []) == current)
      if counts[0] == counts.min() { #expect(chosen == current, "the newest on a tie") }
      if counts.dropFirst().contains(0) {
        #expect(chosen == current, "a text put back is an edit of the current one")
      } else {
        #expect(edit(file, from: chosen.values).count == counts.min())
        let first = bases[counts.firstIndex(of: counts.min() ?? 0) ?? 0]
        #expect(chosen == first, "the newest of equals")
      }
    }
  }

  @Test("laying an edit over its base gives what the file says")
  func editLaws() {
    var draw = Draw(random: SeededRandom(seed: 5))
    for _ in 0..<20_000 {
      let (base, file) = (draw.values(), draw.values())
      let columns = edit(file, from: base)
      let result = base.overlaid(with: columns)
      #expect(file.members.allSatisfy { (result[$0.name] ?? .null) == $0.value })
      #expect(edit(base, from: base).isEmpty)
      #expect(edit(file, from: result).isEmpty)
    }
  }
}
