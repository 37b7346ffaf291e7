import FileWorkspace
import LosslessJSON
import Synchronization

/// Somebody who works in the folder of one device, and sees what they type over.
struct Person {
  let device: Device
  let world: World
  var random: SeededRandom

  private var files: InMemoryPerson { device.files.person }
  private var name: String { device.name }

  /// Does one thing; nothing where there is nothing to do it to.
  mutating func act(_ kind: Deed.Kind, _ words: inout SavedWords, _ buffers: inout Buffers) throws {
    let names = device.rowNames.filter { !buffers.isBeingWritten($0, on: device) }
    let file = random.pick(names)
    switch (kind, file) {
    case (.edit, let file?): try edit(file, &words, &buffers)
    case (.editSlowly, let file?): try editSlowly(file, &words, &buffers)
    case (.editOldBuffer, let file?): try editOldBuffer(file, &words, &buffers)
    case (.openEverything, _): buffers.open(device)
    case (.add, _): try add(#"{"title": "\#(words.new())"}"#, &words, &buffers)
    case (.addWithKey, _):
      try add(#"{"id": "\#(random.uuid())", "title": "\#(words.new())", "notes": null}"#, &words, &buffers)
    case (.addEmpty, _): try addEmpty(&words)
    case (.remove, let file?): try remove(file, &words, &buffers)
    case (.rename, let file?): try move(file, to: "\(words.new()).json", &words, &buffers)
    case (.renameOver, let file?):
      if let other = random.pick(names) { try move(file, to: other, &words, &buffers) }
    case (.swap, let file?):
      try move(file, to: "t.json", &words, &buffers)
      if let other = names.first(where: { $0 != file }) { try move(other, to: file, &words, &buffers) }
    case (.copy, let file?): try copy(file, &words)
    case (.reformat, let file?): try reformat(file)
    case (.settle, _): try settle(&words, &buffers)
    case (.changeMany, _): for file in names { try edit(file, &words, &buffers) }
    default: break
    }
  }

  // MARK: Saving

  private mutating func save(
    _ file: String, _ text: String, over seen: String?, _ words: inout SavedWords, _ buffers: inout Buffers
  ) throws {
    words.save(text, over: seen)
    buffers.forget(file, on: device)
    world.trace("\(name): person saves \(file): \(text.filter { $0 != "\n" })")
    if random.oneIn(2) {
      try files.saveByRename("tasks/\(file)", Array(text.utf8))
    } else {
      try files.saveDurably("tasks/\(file)", Array(text.utf8))
    }
  }

  private mutating func edit(_ file: String, _ words: inout SavedWords, _ buffers: inout Buffers) throws {
    guard let text = device.text(file) else { return }
    try save(file, changed(text, &words), over: device.seen(file), &words, &buffers)
  }

  private mutating func changed(_ text: String, _ words: inout SavedWords) -> String {
    guard let document = try? JSONDocument(parsing: Array(text.utf8)) else { return #"{"title": "\#(words.new())"}"# }
    switch random.number(below: 5) {
    case 0, 1: return document.setting("title", to: .string(words.new())).text
    case 2, 3: return document.setting("notes", to: .string(words.new())).text
    default: return document.setting("done", to: .bool(random.oneIn(2))).text
    }
  }

  /// Writes half of a text into the open file, and the rest a little later.
  private mutating func editSlowly(_ file: String, _ words: inout SavedWords, _ buffers: inout Buffers) throws {
    guard let text = device.text(file), !text.isEmpty else { return }
    let new = Array(changed(text, &words).utf8)
    words.save(String(decoding: new, as: UTF8.self), over: device.seen(file))
    buffers.forget(file, on: device)
    let writer = try files.open("tasks/\(file)")
    world.trace("\(name): person writes half of \(file)")
    writer.write(Array(new[..<(new.count / 2)]))
    let done = buffers.beginWriting(file, on: device)
    let (world, name, files) = (world, name, files)
    world.timeline.schedule(after: Int64(random.number(below: 3_000)) * 1_000_000) {
      writer.write(new)
      writer.close()
      files.sync()
      done()
      world.trace(
        "\(name): person has written all of \(file): \(String(decoding: new, as: UTF8.self).filter { $0 != "\n" })")
    }
  }

  /// Saves over a file that has changed since the editor read it.
  private mutating func editOldBuffer(_ file: String, _ words: inout SavedWords, _ buffers: inout Buffers) throws {
    let column = random.pick(["title", "notes"]) ?? "title"
    // Typed over a value that has moved since, a save from an old buffer cannot be told from one that saw it.
    guard let buffer = buffers.text(file, on: device), let shown = device.row(file)?[column],
      let document = try? JSONDocument(parsing: Array(buffer.utf8)), document.value[column] == shown
    else { return try edit(file, &words, &buffers) }
    // Seen was the buffer, not what lies there by now.
    try save(file, document.setting(column, to: .string(words.new())).text, over: buffer, &words, &buffers)
  }

  private mutating func reformat(_ file: String) throws {
    guard let row = device.row(file) else { return }
    world.trace("\(name): person reformats \(file)")
    try files.saveDurably(
      "tasks/\(file)", JSONValue.object(row).serializedBytes(random.oneIn(2) ? .compact : .pretty))
  }

  // MARK: New files

  private mutating func add(_ text: String, _ words: inout SavedWords, _ buffers: inout Buffers) throws {
    try save("new \(words.new()).json", text, over: nil, &words, &buffers)
  }

  private mutating func addEmpty(_ words: inout SavedWords) throws {
    let word = words.new()
    words.save(word, over: nil)
    world.trace("\(name): person makes empty \(word)")
    try files.saveDurably("tasks/new \(word).json", [])
  }

  private mutating func copy(_ file: String, _ words: inout SavedWords) throws {
    guard let bytes = files.bytes("tasks/\(file)") else { return }
    words.copy(device.seen(file) ?? "")
    let copy = "copy \(words.new()).json"
    world.trace("\(name): person copies \(file) to \(copy)")
    try files.saveDurably("tasks/\(copy)", bytes)
  }

  // MARK: Names

  private func remove(_ file: String, _ words: inout SavedWords, _ buffers: inout Buffers) throws {
    words.save("", over: device.seen(file))
    buffers.forget(file, on: device)
    world.trace("\(name): person removes \(file)")
    try files.remove("tasks/\(file)")
  }

  private func move(
    _ file: String, to target: String, _ words: inout SavedWords, _ buffers: inout Buffers
  ) throws {
    guard file != target, !buffers.isBeingWritten(target, on: device), let text = device.text(file) else { return }
    if text.isEmpty {
      // Over a known file an empty one is a problem; elsewhere it may take its title from its new name.
      guard device.text(target) == nil else { return }
      words.replace(SavedWords.words(in: file))
      words.copy(target)
    }
    // Nothing but its place may tell which row a text without a key is.
    if device.row(file)?["id"] == nil { words.copy(text) }
    words.save(text, over: device.seen(target))
    for name in [file, target] { buffers.forget(name, on: device) }
    world.trace("\(name): person moves \(file) to \(target)")
    try files.rename("tasks/\(file)", "tasks/\(target)")
  }

  // MARK: Conflicts

  private mutating func settle(_ words: inout SavedWords, _ buffers: inout Buffers) throws {
    let sides = device.names.compactMap { name -> (side: String, kind: SideFileKind, main: String)? in
      guard case .sideFile(let kind, let main) = FileNames.kind(of: name), !buffers.isBeingWritten(main, on: device)
      else { return nil }
      return (name, kind, main)
    }
    guard let one = random.pick(sides) else { return }
    switch random.number(below: 3) {
    case 0 where one.kind == .mine: try move(one.side, to: one.main, &words, &buffers)
    case 1 where device.text(one.main) != nil:
      try edit(one.main, &words, &buffers)
      if device.text(one.side) != nil { try remove(one.side, &words, &buffers) }
    default: try remove(one.side, &words, &buffers)
    }
  }
}

/// What editors hold open: texts that the person has not saved over since, and files that are half written.
struct Buffers {
  private var texts: [String: String] = [:]
  private let beingWritten = BeingWritten()

  private final class BeingWritten: Sendable {
    let files = Mutex<Set<String>>([])
  }

  /// Says that a file is half written, which nobody else touches meanwhile.
  ///
  /// - Returns: To be called when all of it is.
  func beginWriting(_ name: String, on device: Device) -> @Sendable () -> Void {
    let (place, files) = ("\(device.name)/\(name)", beingWritten)
    files.files.withLock { _ = $0.insert(place) }
    return { files.files.withLock { _ = $0.remove(place) } }
  }

  func isBeingWritten(_ name: String, on device: Device) -> Bool {
    beingWritten.files.withLock { $0.contains("\(device.name)/\(name)") }
  }

  mutating func open(_ device: Device) {
    for name in device.rowNames { texts["\(device.name)/\(name)"] = device.text(name) }
  }

  mutating func forget(_ name: String, on device: Device) { texts["\(device.name)/\(name)"] = nil }

  func text(_ name: String, on device: Device) -> String? { texts["\(device.name)/\(name)"] }
}
