import Foundation
import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("The files of Storage") struct StorageDurabilityTests {
  /// A data folder that goes with its test.
  private final class DataFolder {
    let url = FileManager.default.temporaryDirectory.appending(path: "stand-in-\(UUID().uuidString)")
    var path: String { url.path(percentEncoded: false) }

    deinit { try? FileManager.default.removeItem(at: url) }

    func names(_ folder: String) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: "\(path)/storage/\(folder)")
    }
  }

  @Test("objects, buckets and their metadata outlive the server")
  func restart() throws {
    let data = DataFolder()
    do {
      let desk = try StorageDesk { $0.dataFolder = data.path }
      _ = try desk.put("notes/a", "hello", [("x-metadata", "eyJrIjogInYifQ==")])
      _ = try desk.json("POST", "bucket", as: .service, ["name": "new"])
      _ = try desk.json("PUT", "bucket/small", as: .service, ["file_size_limit": 5])
      desk.project.server.stop()
    }
    let desk = try StorageDesk { $0.dataFolder = data.path }
    #expect(try desk.ask("GET", "object/notes/a").text == "hello")
    #expect(try desk.ask("GET", "object/info/notes/a").json["metadata"] == ["k": "v"])
    #expect(try desk.ask("GET", "bucket/new", as: .service).status == 200)
    #expect(try desk.ask("GET", "bucket/small", as: .service).json["file_size_limit"] == 5)
  }

  @Test("there is one file for each object, under a name that the server made, and none of what was refused")
  func files() throws {
    let data = DataFolder()
    let desk = try StorageDesk { $0.dataFolder = data.path }
    _ = try desk.put("notes/../../x", "one")
    _ = try desk.put("notes/../../x", "two", [("x-upsert", "true")])
    _ = try desk.put("notes/../../x", "three")
    _ = try desk.put("small/b", "0123456789A")
    let objects = try data.names("objects")
    #expect(objects.count == 1 && UUIDText.normalised(objects[0]) == objects[0])
    #expect(try data.names("incoming").isEmpty)
    _ = try desk.json(
      "POST", "object/copy", ["bucketId": "notes", "sourceKey": "../../x", "destinationKey": "y"])
    #expect(try data.names("objects").count == 2)
    _ = try desk.json("DELETE", "object/notes", ["prefixes": ["../../x", "y"]])
    #expect(try data.names("objects").isEmpty)
    let mode = try FileManager.default.attributesOfItem(atPath: "\(data.path)/storage")[.posixPermissions] as? Int
    #expect(mode == 0o700)
  }

  @Test("an upload that the client breaks off leaves nothing")
  func brokenOff() throws {
    let data = DataFolder()
    let desk = try StorageDesk { $0.dataFolder = data.path }
    let cut = StorageDesk.Cut(desk)
    try cut.send("POST", "object/notes/a", desk.fields(.ann) + [("Content-Length", "10")], "0123")
    while try data.names("incoming").isEmpty {}
    cut.end()
    while try !data.names("incoming").isEmpty {}
    #expect(try desk.ask("GET", "object/notes/a").json.text("code") == "NoSuchKey")
  }

  @Test("what a killed server left behind is removed, and what has a row stays")
  func leftovers() throws {
    let data = DataFolder()
    do {
      let desk = try StorageDesk { $0.dataFolder = data.path }
      _ = try desk.put("notes/a", "hello")
      desk.project.server.stop()
    }
    for folder in ["objects", "incoming", "resumable"] {
      try Data("x".utf8).write(to: data.url.appending(path: "storage/\(folder)/left"))
    }
    let desk = try StorageDesk { $0.dataFolder = data.path }
    #expect(try data.names("objects").count == 1)
    #expect(try data.names("incoming").isEmpty)
    #expect(try data.names("resumable").isEmpty)
    #expect(try desk.ask("GET", "object/notes/a").text == "hello")
  }

  @Test("an object whose file is gone is told apart from one that never was")
  func bytesGone() throws {
    let data = DataFolder()
    let desk = try StorageDesk { $0.dataFolder = data.path }
    _ = try desk.put("notes/a", "hello")
    for name in try data.names("objects") {
      try FileManager.default.removeItem(atPath: "\(data.path)/storage/objects/\(name)")
    }
    let answer = try desk.ask("GET", "object/notes/a")
    #expect(answer.problem == "400 404 Not found NoSuchKey")
    #expect(answer.field("Cache-Control") == "no-store")
  }

  @Test("a download that began goes on with the content it began with")
  func replacedMeanwhile() throws {
    let desk = try StorageDesk()
    let large = String(repeating: "0123456789", count: 800_000)
    _ = try desk.put("notes/a", large)
    try desk.send("GET", "object/notes/a", desk.fields(.ann), nil)
    let other = StorageDesk.Cut(desk)
    try other.send(
      "PUT", "object/notes/a", desk.fields(.ann) + [("Content-Length", "3")], "new")
    #expect(try other.read().hasPrefix("200"))
    let got = try desk.project.wire.read(to: "GET")
    #expect(got.text == large || got.text == "new")
    #expect(try desk.ask("GET", "object/notes/a").text == "new")
  }

  @Test("without a data folder a temporary one goes with the server")
  func temporary() throws {
    let path: String
    do {
      let files = ObjectFiles(folder: nil)
      let file = try files.makeIncoming("x")
      path = file.path
      #expect(path.hasPrefix("/tmp/tidemark-stand-in."))
      #expect(FileManager.default.fileExists(atPath: path))
    }
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("the folder of a server that was killed goes with the next one")
  func abandoned() throws {
    let name = "tidemark-test-\(UUID().uuidString)"
    let path = "/tmp/\(name).AAAAAA"
    try FileManager.default.createDirectory(atPath: "\(path)/objects", withIntermediateDirectories: true)
    for file in ["lock", "objects/x"] { try Data().write(to: URL(filePath: "\(path)/\(file)")) }
    let first = try #require(TemporaryFolder(named: name))
    #expect(!FileManager.default.fileExists(atPath: path))
    let second = try #require(TemporaryFolder(named: name))
    #expect(FileManager.default.fileExists(atPath: first.path))
    #expect(first.path != second.path)
  }

  @Test("a truncated answer stops in the middle of an object")
  func truncated() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "0123456789")
    desk.project.server.faults = [StandInFault(.truncate)]
    try desk.send("GET", "object/notes/a", desk.fields(.ann), nil)
    #expect(throws: (any Error).self) { try desk.project.wire.read(to: "GET") }
  }
}
