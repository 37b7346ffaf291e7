import FileWorkspace
import LosslessJSON
import Randomness

/// Somebody who works in the photos' folder of one device.
struct Photographer {
  let device: Device
  let world: World
  var random: SeededRandom

  static let folder = "photos"

  private var pictures: SavedPictures { world.pictures }
  private var files: InMemoryPerson { device.files.person }
  private var name: String { device.name }

  /// Does one thing; nothing where there is nothing to do it to.
  mutating func act(_ kind: Deed.Kind) throws {
    // Whether many files are missing is judged by how many there are.
    device.photoAccident = nil
    let tasks = device.rowNames.filter { !world.buffers.isBeingWritten($0, on: device) }
    let photos = device.photos.filter { !pictures.isBeingWritten($0, on: device) }
    let (task, photo) = (random.pick(tasks), random.pick(photos))
    switch (kind, task, photo) {
    case (.drop, let task?, _): try drop(into: Self.folder(of: task))
    case (.dropInNewFolder, _, _): try drop(into: newFolder())
    case (.dropLoose, _, _): try drop(into: Self.folder)
    case (.dropSlowly, let task?, _): try dropSlowly(into: Self.folder(of: task))
    case (.dropNoPhoto, let task?, _): try dropNoPhoto(into: Self.folder(of: task))
    case (.taskForFolder, _, _): try makeTask()
    case (.photoReplace, _, let photo?): try replace(photo)
    case (.photoRename, _, let photo?): try move(photo, to: newName(beside: photo))
    case (.photoMove, let task?, let photo?):
      try move(photo, to: WorkspacePath.joined(Self.folder(of: task), WorkspacePath.name(of: photo)))
    case (.photoMoveOver, _, let photo?): if let other = random.pick(photos) { try move(photo, to: other) }
    case (.photoSwap, _, let photo?): if let other = random.pick(photos) { try swap(photo, other) }
    case (.photoCopy, let task?, let photo?): try copy(photo, into: Self.folder(of: task))
    case (.photoTouch, _, let photo?):
      world.trace("\(name): person touches \(photo)")
      try files.setModified(photo, FileTime(nanoseconds: world.timeline.now))
    case (.photoRemove, _, let photo?): try remove(photo)
    case (.photoRemoveAll, _, _): try removeAll(photos)
    case (.removeWithPhotos, let task?, _): try removeWithPhotos(task)
    case (.renameWithPhotos, let task?, _): try renameWithPhotos(task)
    case (.photoFolderRename, _, let photo?): try renameFolder(of: photo)
    default: break
    }
  }

  /// The folder of a task's photos.
  static func folder(of task: String) -> String {
    WorkspacePath.joined(folder, String(task.dropLast(".json".count)))
  }

  // MARK: New photos

  private mutating func drop(into folder: String) throws {
    let picture = pictures.new()
    // Cameras and screenshots choose the same names again and again.
    let common = WorkspacePath.joined(folder, "photo.jpg")
    let isCommon = random.oneIn(3) && files.bytes(common) == nil && !pictures.isBeingWritten(common, on: device)
    let path = isCommon ? common : WorkspacePath.joined(folder, "p\(picture.number).jpg")
    world.trace("\(name): person drops picture \(picture.number) at \(path)")
    try save(picture.bytes, at: path)
  }

  private func newFolder() -> String { WorkspacePath.joined(Self.folder, "album \(pictures.new().number)") }

  /// Writes half of a picture, and the rest a little later.
  private mutating func dropSlowly(into folder: String) throws {
    let picture = pictures.new()
    let path = WorkspacePath.joined(folder, "p\(picture.number).jpg")
    try files.createFolder(folder)
    try files.save(path, [])
    let writer = try files.open(path)
    world.trace("\(name): person writes half of picture \(picture.number) at \(path)")
    writer.write(Array(picture.bytes.prefix(picture.bytes.count / 2)))
    let done = pictures.beginWriting(path, on: device)
    // Some copy tools keep the file open meanwhile, others close it and go on later.
    let staysOpen = random.oneIn(2)
    if !staysOpen { writer.close() }
    let (world, device, power, files) = (world, device, device.powerLosses, files)
    world.timeline.schedule(after: Int64(random.draw(below: 6_000)) * 1_000_000) {
      done()
      guard device.powerLosses == power, staysOpen || device.files.person.bytes(path) != nil else { return }
      world.pictures.save(picture.bytes, over: nil)
      if staysOpen {
        writer.write(picture.bytes)
        writer.close()
      } else {
        try? files.save(path, picture.bytes)
      }
      files.sync()
      world.trace("\(device.name): person writes the rest of picture \(picture.number)")
    }
  }

  private mutating func dropNoPhoto(into folder: String) throws {
    let picture = pictures.new()
    let bytes = random.pick([[], Array("no picture".utf8), picture.bytes.dropLast(3)]) ?? []
    let path = WorkspacePath.joined(folder, "p\(picture.number).jpg")
    world.trace("\(name): person drops what is no picture at \(path)")
    try files.createFolder(folder)
    try files.saveDurably(path, bytes)
  }

  private mutating func save(_ bytes: [UInt8], at path: String) throws {
    pictures.save(bytes, over: files.bytes(path))
    try files.createFolder(WorkspacePath.folder(of: path))
    if random.oneIn(2) { try files.saveByRename(path, bytes) } else { try files.saveDurably(path, bytes) }
  }

  /// Makes the task that a folder of photos lacks.
  private mutating func makeTask() throws {
    let tasks = Set(device.names)
    let folders = Set(device.photos.map { WorkspacePath.folder(of: $0) }).subtracting([Self.folder])
    // One that an editor has removed and is about to write again is not lacking.
    let lacking = folders.map { WorkspacePath.name(of: $0) + ".json" }
      .filter { !tasks.contains($0) && !world.buffers.isBeingWritten($0, on: device) }
    let file = random.pick(lacking.sorted())
    guard let file else { return }
    let text = #"{"title": "\#(world.words.new())"}"#
    world.words.save(text, over: nil, on: device)
    world.trace("\(name): person makes \(file): \(text)")
    device.accident = []
    try files.saveDurably("tasks/\(file)", Array(text.utf8))
  }

  // MARK: One photo

  private mutating func replace(_ photo: String) throws {
    let picture = pictures.new()
    world.trace("\(name): person replaces \(photo) by picture \(picture.number)")
    try save(picture.bytes, at: photo)
  }

  private func newName(beside photo: String) -> String {
    WorkspacePath.joined(WorkspacePath.folder(of: photo), "r\(pictures.new().number).jpg")
  }

  private func move(_ photo: String, to target: String) throws {
    guard photo != target, !pictures.isBeingWritten(target, on: device) else { return }
    world.trace("\(name): person moves \(photo) to \(target)")
    pictures.replace(files.bytes(target))
    try files.createFolder(WorkspacePath.folder(of: target))
    try files.rename(photo, target)
  }

  private func swap(_ photo: String, _ other: String) throws {
    guard photo != other else { return }
    let aside = newName(beside: photo)
    try move(photo, to: aside)
    try move(other, to: photo)
    try move(aside, to: other)
  }

  private mutating func copy(_ photo: String, into folder: String) throws {
    guard let bytes = files.bytes(photo) else { return }
    let path = WorkspacePath.joined(folder, "c\(pictures.new().number).jpg")
    world.trace("\(name): person copies \(photo) to \(path)")
    try files.createFolder(folder)
    pictures.save(bytes, over: nil)
    try files.saveDurably(path, bytes)
  }

  private func remove(_ photo: String) throws {
    world.trace("\(name): person removes \(photo)")
    pictures.remove(files.bytes(photo), isStored: try device.isStored(photo))
    try files.remove(photo)
  }

  /// Removes all photos at once, as by accident: nothing is to be deleted before a person says so.
  private func removeAll(_ photos: [String]) throws {
    guard photos.count >= 3, photos == device.photos else { return }
    let isKnown = try photos.allSatisfy { try device.isStored($0) }
    let numbers = Set(photos.compactMap { files.bytes($0).flatMap(pictures.number) })
    for photo in photos { try remove(photo) }
    guard isKnown else { return }
    device.photoAccident = (numbers, world.server.photoRows(of: device.user.id).count)
  }

  // MARK: Folders

  /// Removes a task and the folder of its photos, the one or the other first.
  private mutating func removeWithPhotos(_ task: String) throws {
    let folder = Self.folder(of: task)
    guard !pictures.isBeingWritten(folder, on: device) else { return }
    let person = Person(device: device, world: world, random: random.fork())
    let isTaskFirst = random.oneIn(2)
    if isTaskFirst { try person.remove(task) }
    for photo in files.paths(below: folder) { try remove(photo) }
    try? files.removeFolder(folder)
    if !isTaskFirst { try person.remove(task) }
  }

  /// Renames a task's file and the folder of its photos alike, the one or the other first.
  private mutating func renameWithPhotos(_ task: String) throws {
    let folder = Self.folder(of: task)
    guard !pictures.isBeingWritten(folder, on: device) else { return }
    let person = Person(device: device, world: world, random: random.fork())
    let isTaskFirst = random.oneIn(2)
    let new = "\(world.words.new())"
    if isTaskFirst { try person.move(task, to: new + ".json") }
    if !files.paths(below: folder).isEmpty {
      world.trace("\(name): person renames \(folder) to \(new)")
      try files.rename(folder, WorkspacePath.joined(Self.folder, new))
    }
    if !isTaskFirst { try person.move(task, to: new + ".json") }
  }

  private mutating func renameFolder(of photo: String) throws {
    let folder = WorkspacePath.folder(of: photo)
    guard folder != Self.folder, !pictures.isBeingWritten(folder, on: device) else { return }
    let new = newFolder()
    world.trace("\(name): person renames \(folder) to \(new)")
    try files.rename(folder, new)
  }
}

extension Device {
  /// The paths of the files in the photos' folders, sorted.
  var photos: [String] { files.person.paths(below: Photographer.folder) }

  /// Whether the file at a path, as it is now, is known to be on the server.
  func isStored(_ photo: String) throws -> Bool {
    guard let bytes = files.person.bytes(photo) else { return false }
    return try texts(
      """
      SELECT path AS text FROM photo
      WHERE state = 'stored' AND absent_since IS NULL AND content LIKE '%\(Picture.sha256(bytes))%'
      """
    ).contains(photo)
  }
}
