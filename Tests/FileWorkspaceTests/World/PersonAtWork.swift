import LosslessJSON
import OfflineEngine
import Randomness

@testable import FileWorkspace

/// Everything that was saved in a world, by words that are used once.
final class SavedWords {
  private(set) var saved: Set<String> = []
  /// Words that somebody replaced or removed while they stood before their eyes.
  private(set) var replaced: Set<String> = []
  /// Words that stood in a copied text, which may be in several rows.
  private(set) var copied: Set<String> = []
  private var lastNumber = 0

  /// A word that was never used.
  func new() -> String {
    lastNumber += 1
    return "w\(lastNumber)w"
  }

  func save(_ text: String, over seen: String?) {
    let words = Self.words(in: text)
    saved.formUnion(words)
    replace(Self.words(in: seen ?? "").subtracting(words))
  }

  func replace(_ words: Set<String>) { replaced.formUnion(words) }

  func copy(_ text: String) { copied.formUnion(Self.words(in: text)) }

  /// The words that must be found somewhere.
  var expected: Set<String> { saved.subtracting(replaced) }

  static func words(in text: String) -> Set<String> {
    var words: Set<String> = []
    var digits: String?
    for character in text.utf8 {
      switch character {
      case UInt8(ascii: "w"):
        if let found = digits, !found.isEmpty { words.insert("w\(found)w") }
        digits = ""
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits?.append(Character(UnicodeScalar(character)))
      default: digits = nil
      }
    }
    return words
  }
}

/// A person who works in one replica's folder, and remembers what they saved and what they saw.
final class PersonAtWork {
  let replica: Replica
  let words: SavedWords
  /// Texts that editors may still hold, by name: none that the person has saved over since.
  private var buffers: [String: String] = [:]
  /// The names when the program last looked.
  var namesBefore: [String] = []

  init(_ replica: Replica, _ words: SavedWords) {
    self.replica = replica
    self.words = words
  }

  private var files: InMemoryPerson { replica.files.person }

  /// The files of rows, without side files.
  var mainNames: [String] { replica.names.filter { FileNames.isRowFile($0) } }

  var sideNames: [String] {
    replica.names.filter { if case .sideFile = FileNames.kind(of: $0) { true } else { false } }
  }

  /// One thing that a person may do.
  func act(_ random: inout SeededRandom) async throws {
    let name = mainNames.isEmpty ? nil : random.pick(mainNames)
    switch (Int.random(in: 0..<22, using: &random), name) {
    case (0...8, let name?): try edit(name, &random)
    case (9, let name?): try saveFromBuffer(name, &random)
    case (10, let name?): try remove(name)
    case (11, let name?): try move(name, to: "\(words.new()).json")
    case (12, let name?): try move(name, to: random.pick(mainNames))
    case (13, let name?): try copy(name)
    case (14, let name?):
      try move(name, to: "t.json")
      if let other = mainNames.first { try move(other, to: name) }
    case (15...17, _):
      if let side = sideNames.first { try await settle(side, &random) } else { try add(&random) }
    default: try add(&random)
    }
    try files.saveDurably("tasks/.made-durable", [])
  }

  private func save(_ name: String, _ text: String, over seen: String?, _ random: inout SeededRandom) throws {
    words.save(text, over: seen)
    buffers[name] = nil
    if Bool.random(using: &random) {
      try files.saveByRename("tasks/\(name)", Array(text.utf8))
    } else {
      try files.saveDurably("tasks/\(name)", Array(text.utf8))
    }
  }

  private func edit(_ name: String, _ random: inout SeededRandom) throws {
    guard let text = replica.text(name) else { return }
    try save(name, try changed(text, &random), over: seen(name), &random)
  }

  /// What a person sees in a file: an empty one says its name.
  private func seen(_ name: String) -> String? { replica.text(name).map { $0.isEmpty ? name : $0 } }

  private func changed(_ text: String, _ random: inout SeededRandom) throws -> String {
    guard let document = try? JSONDocument(parsing: Array(text.utf8)) else { return #"{"title": "\#(words.new())"}"# }
    let changed =
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1: document.setting("title", to: .string(words.new()))
      case 2, 3: document.setting("notes", to: .string(words.new()))
      default: document.setting("done", to: .bool(Bool.random(using: &random)))
      }
    return String(decoding: changed.bytes, as: UTF8.self)
  }

  /// Keeps the texts as they stand now for a later save from an old buffer.
  func openAll() {
    buffers = [:]
    for name in mainNames { buffers[name] = replica.text(name) }
  }

  private func saveFromBuffer(_ name: String, _ random: inout SeededRandom) throws {
    let column = random.pick(["title", "notes"])
    // Typed over a value that has moved since, a save from an old buffer cannot be told from one that saw it.
    guard let buffer = buffers[name], let shown = replica.json(name)?[column],
      let document = try? JSONDocument(parsing: Array(buffer.utf8)), document.value[column] == shown
    else { return try edit(name, &random) }
    let text = String(decoding: document.setting(column, to: .string(words.new())).bytes, as: UTF8.self)
    // Seen was the buffer, not what lies there by now.
    try save(name, text, over: buffer, &random)
  }

  private func add(_ random: inout SeededRandom) throws {
    let word = words.new()
    let name = "new \(word).json"
    switch Int.random(in: 0..<3, using: &random) {
    case 0: try save(name, #"{"title": "\#(word)"}"#, over: nil, &random)
    case 1: try save(name, #"{"id": "\#(random.uuid())", "title": "\#(word)", "notes": null}"#, over: nil, &random)
    default:
      words.save(word, over: nil)
      try files.saveDurably("tasks/\(name)", [])
    }
  }

  private func remove(_ name: String) throws {
    words.save("", over: seen(name))
    buffers[name] = nil
    try replica.remove(name)
  }

  private func move(_ name: String, to target: String) throws {
    guard name != target, let text = replica.text(name) else { return }
    if text.isEmpty {
      // Over a known file an empty one is a problem; elsewhere it may take its title from its new name.
      guard replica.text(target) == nil else { return }
      words.replace(SavedWords.words(in: name))
      words.copy(target)
    }
    words.save(text, over: seen(target))
    buffers[target] = nil
    buffers[name] = nil
    try replica.move(name, target)
  }

  private func copy(_ name: String) throws {
    words.copy(seen(name) ?? "")
    try replica.copy(name, "copy \(words.new()).json")
  }

  private func settle(_ side: String, _ random: inout SeededRandom) async throws {
    guard case .sideFile(let kind, let main) = FileNames.kind(of: side) else { return }
    switch Int.random(in: 0..<3, using: &random) {
    case 0 where kind == .mine: try move(side, to: main)
    case 1: try await merge(side, main)
    default: try remove(side)
    }
  }

  /// Settles a conflict with a text made of both versions, and words of its own.
  private func merge(_ side: String, _ main: String) async throws {
    let seen = (replica.text(main) ?? "") + (replica.text(side) ?? "")
    guard let document = try? JSONDocument(parsing: Array((replica.text(main) ?? replica.text(side) ?? "").utf8)) else {
      return
    }
    let text = document.setting("title", to: .string(words.new())).text
    do {
      _ = try await replica.workspace.resolve(.path("tasks/\(side)"), with: MergedText(text, name: "merged"))
      words.save(text, over: seen)
      buffers[main] = nil
    } catch is WorkspaceRequestError {
      // A refusal, or a side file of which the program knows nothing yet.
    }
  }
}
