import FileWorkspace
import LosslessJSON
import Randomness

/// Somebody who works in the folder of one device, and sees what they type over.
struct Person {
  let device: Device
  let world: World
  var random: SeededRandom

  private var words: SavedWords { world.words }
  private var buffers: Buffers { world.buffers }
  private var files: InMemoryPerson { device.files.person }
  private var name: String { device.name }

  /// Does one thing; nothing where there is nothing to do it to.
  mutating func act(_ kind: Deed.Kind) throws {
    // Whether many files are missing is judged by how many there are.
    if kind.makesFiles { device.accident = [] }
    let names = device.rowNames.filter { !buffers.isBeingWritten($0, on: device) }
    let file = random.pick(names)
    switch (kind, file) {
    case (.edit, let file?): try edit(file)
    case (.editOpen, let file?): try editOpen(file)
    case (.saveAnew, let file?): try saveAnew(file)
    case (.saveBetween, _): device.change { $0.interruptions += 1 }
    case (.commit, _): buffers.commit(device)
    case (.checkout, _): try checkout()
    case (.removeAll, _): if names.count >= 3 { try removeAll(names) }
    case (.editSlowly, let file?): try editSlowly(file)
    case (.editOldBuffer, let file?): try editOldBuffer(file)
    case (.openEverything, _): buffers.open(device)
    case (.add, _): try add(#"{"title": "\#(words.new())"}"#)
    case (.addWithKey, _):
      try add(#"{"id": "\#(random.uuid())", "title": "\#(words.new())", "notes": null}"#)
    case (.addEmpty, _): try addEmpty()
    case (.remove, let file?): try remove(file)
    case (.rename, let file?): try move(file, to: "\(words.new()).json")
    case (.renameOver, let file?):
      if let other = random.pick(names) { try move(file, to: other) }
    case (.swap, let file?):
      try move(file, to: "t.json")
      guard let other = names.first(where: { $0 != file }) else { break }
      // A text without a key is the row's of its place, which makes a copy of what lay there.
      if device.row(other)?["id"] == nil { words.copy(device.text("t.json") ?? "") }
      try move(other, to: file)
    case (.copy, let file?): try copy(file)
    case (.reformat, let file?): try reformat(file)
    case (.settle, _): try settle()
    case (.changeMany, _): for file in names { try edit(file) }
    default: break
    }
  }

  private func newWord(for column: String) -> String { column == "notes" ? words.newPrivate() : words.new() }

  // MARK: Saving

  private mutating func save(
    _ file: String, _ text: String, over seen: String?
  ) throws {
    bringUnfinished(file)
    words.save(text, over: seen, on: device)
    buffers.forget(file, on: device)
    world.trace("\(name): person saves \(file): \(text.filter { $0 != "\n" })")
    if random.oneIn(2) {
      try files.saveByRename("tasks/\(file)", Array(text.utf8))
    } else {
      try files.saveDurably("tasks/\(file)", Array(text.utf8))
    }
  }

  /// A text that the program has put in place but not noted so, since it was killed, may count as the person's who saves over
  /// it.
  private func bringUnfinished(_ file: String) {
    if device.isBeingReplaced(file) { words.bring(device.seen(file) ?? "", on: device) }
  }

  mutating func edit(_ file: String) throws {
    guard let text = device.text(file) else { return }
    try save(file, changed(text), over: device.seen(file))
  }

  private mutating func changed(_ text: String) -> String {
    guard let document = try? JSONDocument(parsing: Array(text.utf8)) else { return #"{"title": "\#(words.new())"}"# }
    switch random.draw(below: 5) {
    case 0, 1: return document.setting("title", to: .string(words.new())).text
    case 2, 3: return document.setting("notes", to: .string(words.newPrivate())).text
    default: return document.setting("done", to: .bool(random.oneIn(2))).text
    }
  }

  /// Writes half of a text into the open file, and the rest a little later.
  private mutating func editSlowly(_ file: String) throws {
    guard let text = device.text(file), !text.isEmpty else { return }
    let (new, seen) = (Array(changed(text).utf8), device.seen(file))
    bringUnfinished(file)
    buffers.forget(file, on: device)
    let writer = try files.open("tasks/\(file)")
    world.trace("\(name): person writes half of \(file)")
    writer.write(Array(new[..<(new.count / 2)]))
    let done = buffers.beginWriting(file, on: device)
    let (world, device, name, files, power) = (world, device, name, files, device.powerLosses)
    world.timeline.schedule(after: Int64(random.draw(below: 3_000)) * 1_000_000) {
      guard device.powerLosses == power else {
        world.words.save("", over: seen)  // The editor had written over that.
        return done()
      }
      world.words.save(String(decoding: new, as: UTF8.self), over: seen, on: device)
      writer.write(new)
      writer.close()
      files.sync()
      done()
      world.trace(
        "\(name): person has written all of \(file): \(String(decoding: new, as: UTF8.self).filter { $0 != "\n" })")
    }
  }

  /// Saves over a file that has changed since the editor read it.
  private mutating func editOldBuffer(_ file: String) throws {
    let column = random.pick(["title", "notes"]) ?? "title"
    // Typed over a value that has moved since, a save from an old buffer cannot be told from one that saw it.
    guard let buffer = buffers.text(file, on: device), let shown = device.row(file)?[column],
      let document = try? JSONDocument(parsing: Array(buffer.utf8)), document.value[column] == shown
    else { return try edit(file) }
    // Seen was the buffer, not what lies there by now.
    try save(file, document.setting(column, to: .string(newWord(for: column))).text, over: buffer)
  }

  /// Writes into a file that was opened a while ago, whatever became of its name meanwhile.
  private mutating func editOpen(_ file: String) throws {
    guard let buffer = device.text(file), let document = try? JSONDocument(parsing: Array(buffer.utf8)) else { return }
    let column = random.pick(["title", "notes"]) ?? "title"
    bringUnfinished(file)
    let writer = try files.open("tasks/\(file)")
    let done = buffers.beginWriting(file, on: device)
    world.trace("\(name): person opens \(file)")
    let (world, device, files, power) = (world, device, files, device.powerLosses)
    let word = newWord(for: column)
    world.timeline.schedule(after: Int64(random.draw(below: 20_000)) * 1_000_000) {
      done()
      // As of a save from an old buffer: over a value that has moved it cannot be told from one that saw it.
      let shown = device.row(file)?[column]
      guard device.powerLosses == power, shown == nil || shown == document.value[column] else {
        writer.close()
        return
      }
      let text = document.setting(column, to: .string(word)).text
      world.words.save(text, over: buffer, on: device)
      world.buffers.forget(file, on: device)
      writer.write(Array(text.utf8))
      writer.close()
      files.sync()
      world.trace("\(device.name): person writes into what was \(file): \(text.filter { $0 != "\n" })")
    }
  }

  /// Saves as editors do that remove the file first and take a while to write it again.
  private mutating func saveAnew(_ file: String) throws {
    guard let buffer = device.text(file), let document = try? JSONDocument(parsing: Array(buffer.utf8)),
      device.row(file)?["id"] != nil
    else { return }
    let column = random.pick(["title", "notes"]) ?? "title"
    let word = newWord(for: column)
    world.trace("\(name): person removes \(file) to save it again: \(buffer.filter { $0 != "\n" })")
    let isUnlooked = device.baseBeforeSave(file) != nil
    bringUnfinished(file)
    try files.remove("tasks/\(file)")
    device.removedToSave[file] = (buffer, world.timeline.now)
    let done = buffers.beginWriting(file, on: device)
    let (world, device, files, power) = (world, device, files, device.powerLosses)
    world.timeline.schedule(after: Int64(random.draw(below: 5_000)) * 1_000_000) {
      done()
      device.removedToSave[file] = nil
      guard device.powerLosses == power else { return }
      // Where the file is there again, another program has put it there: the editor asks before it writes over that. A save
      // that nobody had looked at is removed, then.
      guard device.text(file) == nil else {
        if isUnlooked { world.words.save("", over: buffer) }
        return
      }
      guard device.isMounted else {
        world.words.save("", over: buffer)  // The editor cannot save, and the file stays removed.
        return
      }
      let text = document.setting(column, to: .string(word)).text
      world.words.save(text, over: buffer, on: device)
      world.buffers.forget(file, on: device)
      world.trace("\(device.name): person saves \(file) anew: \(text.filter { $0 != "\n" })")
      try? files.saveDurably("tasks/\(file)", Array(text.utf8))
    }
  }

  private mutating func reformat(_ file: String) throws {
    guard let row = device.row(file) else { return }
    bringUnfinished(file)
    world.trace("\(name): person reformats \(file)")
    try files.saveDurably(
      "tasks/\(file)", JSONValue.object(row).serializedBytes(random.oneIn(2) ? .compact : .pretty))
  }

  // MARK: New files

  private mutating func add(_ text: String) throws {
    try save("new \(words.new()).json", text, over: nil)
  }

  private mutating func addEmpty() throws {
    let word = words.new()
    words.save(word, over: nil, on: device)
    world.trace("\(name): person makes empty \(word)")
    try files.saveDurably("tasks/new \(word).json", [])
  }

  private mutating func copy(_ file: String) throws {
    guard let bytes = files.bytes("tasks/\(file)") else { return }
    words.copy(device.seen(file) ?? "")
    let copy = "copy \(words.new()).json"
    words.bring(bytes.isEmpty ? copy : device.text(file) ?? "", on: device)
    device.copiedKeys[copy] = device.row(file)?["id"]?.stringValue
    world.trace("\(name): person copies \(file) to \(copy)")
    try files.saveDurably("tasks/\(copy)", bytes)
  }

  // MARK: Names

  func remove(_ file: String) throws {
    words.save("", over: device.seen(file))
    // A save that nobody has looked at was never there for the program, which takes the text before it for removed.
    if let base = device.baseBeforeSave(file) { words.save("", over: base) }
    if let id = device.row(file)?["id"]?.stringValue { device.accident.remove(id) }
    buffers.forget(file, on: device)
    world.trace("\(name): person removes \(file)")
    try files.remove("tasks/\(file)")
  }

  /// Removes all files at once, as by accident: nothing is to be deleted before a person says so.
  private func removeAll(_ names: [String]) throws {
    guard names == device.rowNames else { return }
    // What the program knows as no row's file is none of those that it misses.
    let known = names.filter(device.isKnown)
    let ids = Set(known.compactMap { device.row($0)?["id"]?.stringValue })
    for name in names { try remove(name) }
    if ids.count >= Device.manyFiles, ids.count == known.count { device.accident.formUnion(ids) }
  }

  /// Puts the whole folder back to what it was, as version control does: many files change at once, go and come.
  private func checkout() throws {
    guard let texts = buffers.commit(of: device) else { return }
    world.trace("\(name): person checks out")
    for file in device.rowNames where texts[file] == nil && !buffers.isBeingWritten(file, on: device) {
      try remove(file)
    }
    for (file, text) in texts.sorted(by: { $0.key < $1.key }) where !buffers.isBeingWritten(file, on: device) {
      let now = device.text(file)
      if now == text { continue }
      // Where its row has another file by now, this one is a copy.
      if now == nil { words.copy(text) }
      if let id = device.row(file)?["id"]?.stringValue { device.accident.remove(id) }
      words.save(text, over: device.seen(file))
      words.bring(text, on: device)
      buffers.forget(file, on: device)
      world.trace("\(name): \(file) is put back: \(text.filter { $0 != "\n" })")
      try files.saveByRename("tasks/\(file)", Array(text.utf8))
    }
  }

  func move(
    _ file: String, to target: String
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
    // A copy that is put over its original may be a program's new text of that one.
    let original = device.copiedKeys.removeValue(forKey: file)
    if let original, device.row(target)?["id"]?.stringValue == original { words.copy(text) }
    device.copiedKeys[target] = original
    words.save(text, over: device.seen(target))
    words.bring(text.isEmpty ? target : text, on: device)
    for name in [file, target] {
      if let id = device.row(name)?["id"]?.stringValue { device.accident.remove(id) }
    }
    for name in [file, target] { buffers.forget(name, on: device) }
    world.trace("\(name): person moves \(file) to \(target)")
    try files.rename("tasks/\(file)", "tasks/\(target)")
  }

  // MARK: Conflicts

  private mutating func settle() throws {
    let sides = device.names.compactMap { name -> (side: String, kind: SideFileKind, main: String)? in
      guard case .sideFile(let kind, let main) = FileNames.kind(of: name), !buffers.isBeingWritten(main, on: device)
      else { return nil }
      return (name, kind, main)
    }
    guard let one = random.pick(sides) else { return }
    switch random.draw(below: 3) {
    case 0 where one.kind == .mine: try move(one.side, to: one.main)
    case 1 where device.text(one.main) != nil:
      try edit(one.main)
      if device.text(one.side) != nil { try remove(one.side) }
    default: try remove(one.side)
    }
  }
}

/// What editors hold open: texts that the person has not saved over since, and files that are half written.
final class Buffers: @unchecked Sendable {  // Proof: one thread runs everything in a world.
  private var texts: [String: String] = [:]
  private var halfWritten: Set<String> = []
  private var commits: [String: [String: String]] = [:]

  /// Says that a file is half written, which nobody else touches meanwhile.
  ///
  /// - Returns: To be called when all of it is.
  func beginWriting(_ name: String, on device: Device) -> @Sendable () -> Void {
    let place = "\(device.name)/\(name)"
    halfWritten.insert(place)
    return { [self] in halfWritten.remove(place) }
  }

  /// Whether any file of a device is half written.
  func isWriting(on device: Device) -> Bool { halfWritten.contains { $0.hasPrefix("\(device.name)/") } }

  func isBeingWritten(_ name: String, on device: Device) -> Bool {
    halfWritten.contains("\(device.name)/\(name)")
  }

  func open(_ device: Device) {
    for name in device.rowNames { texts["\(device.name)/\(name)"] = device.text(name) }
  }

  /// Remembers the texts of a whole folder.
  func commit(_ device: Device) {
    let texts = device.rowNames.compactMap { name in
      isBeingWritten(name, on: device) ? nil : device.text(name).map { (name, $0) }
    }
    commits[device.name] = Dictionary(uniqueKeysWithValues: texts)
  }

  func commit(of device: Device) -> [String: String]? { commits[device.name] }

  func forget(_ name: String, on device: Device) { texts["\(device.name)/\(name)"] = nil }

  func text(_ name: String, on device: Device) -> String? { texts["\(device.name)/\(name)"] }
}
