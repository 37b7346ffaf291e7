import Foundation
import Testing

/// Pictures of the tests for images.
private enum Picture: String {
  case red = "two-colours.png"
  case turned = "turned.jpg"
  case moving = "moving.gif"

  var path: String { "\(Tidemark.packageRoot)/Tests/ImagesTests/Fixtures/\(rawValue)" }
  var bytes: Data { get throws { try Data(contentsOf: URL(fileURLWithPath: path)) } }
}

extension Replica {
  fileprivate func bytes(_ name: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)"))
  }

  /// The names in a folder, without hidden ones.
  fileprivate func names(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(path)/\(folder)").filter { !$0.hasPrefix(".") }.sorted()
  }
}

@Suite("What commands do to photos' files", .timeLimit(.minutes(3))) struct PhotoCommandTests {
  /// A workspace with two tasks; nothing is sent.
  private func workspace(_ site: Site) async throws -> Replica {
    let a = try await site.workspace("a", isFirst: true)
    try await a.run("offline").expectSuccess()
    try a.write("tasks/kitchen.json", #"{"title": "Kitchen"}"#)
    try a.write("tasks/garden.json", #"{"title": "Garden"}"#)
    return a
  }

  @Test("add copies files whole under their own names, with their times, into the row's folder")
  func add() async throws {
    let site = try await Site()
    let a = try await workspace(site)
    let added = try await a.ask("photos", "add", "tasks/kitchen.json", Picture.red.path, Picture.turned.path)
    let photos = try #require(added["photos"] as? [[String: String]])
    #expect(photos.map { $0["path"] } == ["photos/kitchen/two-colours.png", "photos/kitchen/turned.jpg"])
    #expect(try a.bytes("photos/kitchen/turned.jpg") == Picture.turned.bytes)
    let times = try [Picture.turned.path, "\(a.path)/photos/kitchen/turned.jpg"].map {
      try FileManager.default.attributesOfItem(atPath: $0)[.modificationDate] as? Date
    }
    #expect(times[0] == times[1])
    #expect(try a.names(".tidemark/tmp") == [])
    // By the name of the file alone, and by the folder of the photos.
    #expect(
      try await a.run("photos", "add", "garden", Picture.red.path).output == "added photos/garden/two-colours.png\n")
    let inside = try await Tidemark.run(["photos", "add", ".", Picture.moving.path], in: "\(a.path)/photos/garden")
    #expect(inside.output == "added photos/garden/moving.gif\n", "\(inside.errors)")
  }

  @Test("add leaves everything as it was where one of the files is no photo, has its name taken, or has no row")
  func refused() async throws {
    let site = try await Site()
    let a = try await workspace(site)
    try a.write("words.jpg", "only words\n")
    let cut = Data(try Picture.turned.bytes.dropLast(9))
    try cut.write(to: URL(fileURLWithPath: "\(a.path)/cut.jpg"))
    let tries: [(task: String, file: String, words: String)] = [
      ("kitchen", "\(a.path)/words.jpg", "not a photo but ASCII text"),
      ("kitchen", "\(a.path)/cut.jpg", "incomplete picture"),
      ("kitchen", "\(a.path)/none.jpg", "No such file"), ("kitchen", a.path, "no regular file"),
      ("tasks/none.json", Picture.turned.path, "there is no file 'tasks/none.json'"),
      ("nothing", Picture.turned.path, "there is no row 'nothing'"),
    ]
    for (task, file, words) in tries {
      let done = try await a.run("photos", "add", task, Picture.red.path, file)
      #expect(done.status == 1 && done.errors.contains(words), "\(done.errors)")
      #expect(!a.exists("photos/kitchen"))
    }
    try await a.run("photos", "add", "kitchen", Picture.red.path).expectSuccess()
    let again = try await a.run("photos", "add", "kitchen", Picture.red.path)
    #expect(again.status == 1 && again.errors.contains("a file lies there already"), "\(again.errors)")
  }

  @Test("move, copy, replace and remove are what they say of the files, and what goes is in the trash")
  func changes() async throws {
    let site = try await Site()
    let a = try await workspace(site)
    try await a.run("photos", "add", "kitchen", Picture.red.path, Picture.turned.path).expectSuccess()
    let (red, turned) = ("photos/kitchen/two-colours.png", "photos/kitchen/turned.jpg")
    #expect(try await a.run("photos", "move", "garden", red).output == "moved photos/garden/two-colours.png\n")
    #expect(try await a.run("photos", "copy", "garden", turned).output == "copied to photos/garden/turned.jpg\n")
    #expect(try a.names("photos/garden") == ["turned.jpg", "two-colours.png"])
    #expect(try a.names("photos/kitchen") == ["turned.jpg"])
    try await a.run("photos", "replace", turned, Picture.moving.path).expectSuccess()
    #expect(try a.bytes(turned) == Picture.moving.bytes)
    #expect(try a.bytes("photos/garden/turned.jpg") == Picture.turned.bytes)
    try await a.run("photos", "remove", "photos/garden/two-colours.png").expectSuccess()
    #expect(try a.names("photos/garden") == ["turned.jpg"])
    let trash = try await a.entries("trash")
    #expect(trash.map { $0["origin"] as? String } == [turned, "photos/garden/two-colours.png"])
    for (entry, picture) in zip(trash, [Picture.turned, .red]) {
      #expect(try a.bytes(entry["file"] as? String ?? "") == picture.bytes)
    }
    try await a.run("restore", "photos/garden/two-colours.png").expectSuccess()
    #expect(try a.bytes("photos/garden/two-colours.png") == Picture.red.bytes)
    #expect(try await a.entries("trash").count == 1)
    let missing = try await a.run("photos", "remove", "photos/garden/none.png")
    #expect(missing.status == 1 && missing.errors.contains("there is no file"), "\(missing.errors)")
    let row = try await a.run("photos", "remove", "tasks/kitchen.json")
    #expect(row.status == 1 && row.errors.contains("no path of a photo"), "\(row.errors)")
    #expect(a.exists("tasks/kitchen.json"))
  }

  @Test("an action is needed, and each has its help")
  func help() async throws {
    let none = try await Tidemark.run(["photos"])
    #expect(none.status == 2 && none.errors.contains("an action is missing"))
    let help = try await Tidemark.run(["photos", "--help"]).output
    for action in ["add", "move", "copy", "replace", "remove"] {
      #expect(help.contains("\n  \(action) "))
      #expect(try await Tidemark.run(["photos", action, "--help"]).output.hasPrefix("tidemark photos \(action) "))
    }
  }
}
