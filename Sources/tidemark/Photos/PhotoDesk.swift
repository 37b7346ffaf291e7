import Daemon
import FileWorkspace
import Images
import LosslessJSON
import OfflineEngine

/// What the actions on photos' files have in common.
struct PhotoDesk {
  let workspace: WorkspaceFolder
  let folders: PhotoFolders
  let files: PhotoFiles
  private let context: CommandContext

  init(_ context: CommandContext) throws {
    self.context = context
    workspace = try context.workspaceFolder()
    folders = PhotoFolders(try workspace.settings())
    guard !folders.isEmpty else {
      throw CommandFailure(
        message: "no collection of tidemark.json has photos; add \"photos\": {\"folder\": \"photos\"} to one")
    }
    let live = try LiveFileSystem(root: workspace.path)
    files = PhotoFiles(files: live) { LiveClock().now().nanoseconds / 1_000_000 }
  }

  /// The folder of photos that a word means: a row's file, a folder of photos, or a row's key or its beginning.
  func folder(of word: String) throws -> String {
    if let path = try? context.path(word, in: workspace), let found = folders.folder(path) {
      if workspace.has(found.row) || workspace.has(path) { return found.photos }
      throw CommandFailure(message: "there is no file '\(Terminal.safe(found.row))'; 'tidemark list' shows the rows")
    }
    let rows = try context.read { transaction, settings, files in
      try RowListing(transaction, settings, files: files).rows()
    }.filter { row in
      row.key == word || word.utf8.count >= 4 && row.key?.hasPrefix(word) ?? false
        || WorkspacePath.name(of: row.path) == word + ".json"
    }
    guard rows.count <= 1 else {
      throw CommandFailure(message: "'\(Terminal.safe(word))' means \(rows.count) rows; give the path of one")
    }
    guard let row = rows.first else {
      throw CommandFailure(
        message: "there is no row '\(Terminal.safe(word))'; 'tidemark list' shows them, with the paths of their files")
    }
    guard let found = folders.folder(row.path) else {
      throw CommandFailure(message: "the rows beside '\(Terminal.safe(row.path))' have no photos in tidemark.json")
    }
    return found.photos
  }

  /// All photos, with what a running watcher tells of the transfer at hand.
  func photos() throws -> [ListedPhoto] {
    var photos = try context.read { transaction, settings, files in
      try PhotoList(transaction, settings, files: files).photos()
    }
    let transfer = try status().photos["transfer"]
    if let path = transfer?["path"]?.stringValue, let percent = transfer?["percent"]?.int64Value {
      for index in photos.indices { photos[index].noteTransfer(of: path, percent: Int(percent)) }
    }
    return photos
  }

  /// The photo that a path means, also where its file is not here.
  func listed(_ word: String) throws -> ListedPhoto {
    let path = try context.path(word, in: workspace)
    guard let photo = try photos().first(where: { PathKey($0.path) == PathKey(path) }) else {
      throw CommandFailure(message: "there is no photo '\(Terminal.safe(word))'; 'tidemark photos list' shows them")
    }
    return photo
  }

  /// What a running watcher, or else the state on the disk, says of the workspace.
  func status() throws -> StatusReport { try StatusCommand.report(of: workspace) }

  /// The path of a photo whose file is here.
  func photo(_ word: String) throws -> String {
    let path = try context.path(word, in: workspace)
    guard folders.folder(ofPhoto: path) != nil else {
      throw CommandFailure(message: "'\(Terminal.safe(word))' is no path of a photo, such as 'photos/NAME/front.jpg'")
    }
    guard workspace.has(path) else {
      throw CommandFailure(
        message: "there is no file '\(Terminal.safe(path))'; 'tidemark photos list' shows the photos")
    }
    return path
  }

  /// Makes sure that a file outside is a photo, before anything is done.
  func check(_ file: String) throws {
    do throws(PhotoProblem) { _ = try ImageInfo(photo: file) } catch {
      throw CommandFailure(message: "'\(Terminal.safe(file))': \(Terminal.safe(error.description))")
    }
  }

  /// Does something to each of several photos, and says what was done.
  ///
  /// - Parameter work: Gives the path that the photo has then.
  func each(
    _ sources: [String], _ word: String, _ work: (String) throws -> String
  ) throws -> ExitStatus {
    var done: [JSONValue] = []
    defer { if context.terminal.isJSON { context.terminal.print(["photos": .array(done)]) } }
    for source in sources {
      let path: String
      do { path = try work(source) } catch let error as WorkspaceRequestError {
        throw CommandFailure(message: Terminal.safe("\(error)"))
      }
      done.append(["path": .string(path), "from": .string(source)])
      if !context.terminal.isJSON { context.terminal.print(Terminal.safe("\(word) \(path)")) }
    }
    return .success
  }
}

extension Arguments {
  /// All words but the first, of which there is at least one.
  func rest(_ name: String) throws(UsageError) -> [String] {
    guard positional.count >= 2 else { throw UsageError(message: "\(name) is missing") }
    return Array(positional.dropFirst())
  }
}
