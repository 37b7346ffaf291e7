import Foundation
import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Resumable uploads") struct ResumableTests {
  private static let tus = [("Tus-Resumable", "1.0.0")]

  private static func metadata(_ bucket: String, _ key: String, _ more: [(String, String)] = []) -> String {
    ([("bucketName", bucket), ("objectName", key)] + more).map { name, value in
      "\(name) \(Data(value.utf8).base64EncodedString())"
    }.joined(separator: ",")
  }

  private func create(
    _ desk: StorageDesk, _ bucket: String = "notes", _ key: String = "a b", length: Int,
    as person: StorageDesk.Person = .ann,
    _ more: [(String, String)] = [], body: [UInt8]? = nil
  ) throws -> Wire.Answer {
    let type = body == nil ? [] : [("Content-Type", "application/offset+octet-stream")]
    return try desk.ask(
      "POST", "upload/resumable", as: person,
      Self.tus + [
        ("Upload-Length", String(length)),
        (
          "Upload-Metadata",
          Self.metadata(
            bucket, key, [("contentType", "image/png"), ("cacheControl", "60"), ("metadata", #"{"k":"v"}"#)])
        ),
      ] + type + more, body: body)
  }

  /// The part of a location that a desk asks for.
  private func path(_ answer: Wire.Answer) throws -> String {
    let location = try #require(answer.field("Location"))
    #expect(location.hasPrefix("http://localhost/storage/v1/upload/resumable/"))
    return String(location.dropFirst("http://localhost/storage/v1/".count))
  }

  private func patch(
    _ desk: StorageDesk, _ path: String, _ offset: Int, _ text: String, as person: StorageDesk.Person = .ann,
    _ more: [(String, String)] = []
  ) throws -> Wire.Answer {
    try desk.ask(
      "PATCH", path, as: person,
      Self.tus + [("Upload-Offset", String(offset)), ("Content-Type", "application/offset+octet-stream")] + more,
      body: Array(text.utf8))
  }

  @Test("an upload in several requests becomes an object with the last byte, and not before")
  func whole() throws {
    let desk = try StorageDesk()
    let made = try create(desk, length: 10)
    #expect(made.status == 201)
    #expect(made.field("Upload-Expires") == "Mon, 19 Oct 2026 13:00:27 GMT")
    let path = try path(made)
    let first = try patch(desk, path, 0, "012345")
    #expect((first.status, first.field("Upload-Offset"), first.field("Tus-Complete")) == (204, "6", nil))
    let asked = try desk.ask("HEAD", path, Self.tus)
    #expect((asked.status, asked.field("Upload-Offset"), asked.field("Upload-Length")) == (200, "6", "10"))
    #expect(asked.field("Cache-Control") == "no-store")
    #expect(asked.field("Upload-Metadata")?.hasPrefix("bucketName ") == true)
    #expect(try desk.ask("GET", "object/notes/a%20b").json.text("code") == "NoSuchKey")
    let last = try patch(desk, path, 6, "6789")
    #expect((last.status, last.field("Upload-Offset"), last.field("Tus-Complete")) == (204, "10", "1"))
    let got = try desk.ask("GET", "object/notes/a%20b")
    #expect(
      (got.text, got.field("Content-Type"), got.field("Cache-Control")) == ("0123456789", "image/png", "max-age=60"))
    #expect(try desk.ask("GET", "object/info/notes/a%20b").json["metadata"] == ["k": "v"])
    #expect(try desk.ask("HEAD", path, Self.tus).status == 404)
  }

  @Test("bytes may come with the creation, and nothing is an object at once")
  func creation() throws {
    let desk = try StorageDesk()
    let part = try create(desk, length: 4, body: Array("01".utf8))
    #expect((part.status, part.field("Upload-Offset"), part.field("Tus-Complete")) == (201, "2", nil))
    #expect(try patch(desk, try path(part), 2, "23").status == 204)
    let empty = try create(desk, "notes", "empty", length: 0)
    #expect((empty.status, empty.field("Tus-Complete")) == (201, "1"))
    #expect(try desk.ask("GET", "object/notes/empty").status == 200)
    let whole = try create(desk, "notes", "whole", length: 2, body: Array("ok".utf8))
    #expect((whole.status, whole.field("Upload-Offset")) == (201, "2"))
    #expect(try desk.ask("GET", "object/notes/whole").text == "ok")
  }

  @Test("an upload that is broken off goes on from what had come in, also after the server began anew")
  func brokenOff() throws {
    let data = FileManager.default.temporaryDirectory.appending(path: "stand-in-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: data) }
    let location: String
    do {
      let desk = try StorageDesk { $0.dataFolder = data.path(percentEncoded: false) }
      location = try path(try create(desk, length: 10))
      // The connection ends in the middle of the body.
      let cut = StorageDesk.Cut(desk)
      try cut.send(
        "PATCH", location,
        desk.fields(.ann) + Self.tus
          + [
            ("Upload-Offset", "0"), ("Content-Type", "application/offset+octet-stream"), ("Content-Length", "10"),
          ], "0123")
      cut.end()
      while try desk.ask("HEAD", location, Self.tus).field("Upload-Offset") != "4" {}
      desk.project.server.stop()
    }
    let desk = try StorageDesk { $0.dataFolder = data.path(percentEncoded: false) }
    #expect(try desk.ask("HEAD", location, Self.tus).field("Upload-Offset") == "4")
    #expect(try patch(desk, location, 4, "456789").field("Tus-Complete") == "1")
    #expect(try desk.ask("GET", "object/notes/a%20b").text == "0123456789")
  }

  @Test("who else writes to an upload asks the holder to let go, and waits in vain for one that is silent")
  func locks() throws {
    let desk = try StorageDesk()
    let path = try path(try create(desk, length: 10))
    let head =
      desk.fields(.ann) + Self.tus + [("Upload-Offset", "0"), ("Content-Type", "application/offset+octet-stream")]
    let holder = StorageDesk.Cut(desk)
    try holder.send("PATCH", path, head + [("Content-Length", "10")], "")
    // A second writer is turned away as soon as the holder has the lock; before, its offset is wrong.
    var second = try patch(desk, path, 5, "")
    while second.status == 409 { second = try patch(desk, path, 5, "") }
    #expect(second.status == 503)
    #expect(second.text == "acquiring lock timeout")
    try holder.more("0123")
    // It lets go, though its own request is not whole yet.
    while try patch(desk, path, 0, "").status != 204 {}
    try holder.more("456789")
    #expect(try holder.read() == "400 Request aborted due to lock acquired")
    holder.end()
  }

  static let refusals: [([(String, String)], String, Int)] = [
    ([("Upload-Offset", "3")], "Upload-Offset conflict", 409),
    ([("Upload-Offset", "")], "Upload-Offset header required", 403),
    ([("Tus-Resumable", "0.2")], "Tus-Resumable Required", 412),
    ([("Content-Type", "text/plain")], "Content-Type must be application/offset+octet-stream", 403),
  ]

  @Test("a request that breaks the protocol is told so in plain text with a true status", arguments: refusals)
  func protocolErrors(change: [(String, String)], text: String, status: Int) throws {
    let desk = try StorageDesk()
    let path = try path(try create(desk, length: 10))
    var fields = Self.tus + [("Upload-Offset", "0"), ("Content-Type", "application/offset+octet-stream")]
    fields.removeAll { $0.0 == change[0].0 }
    let answer = try desk.ask("PATCH", path, fields + change.filter { !$0.1.isEmpty }, body: Array("0".utf8))
    #expect((answer.status, answer.text) == (status, text))
    #expect(answer.field("Content-Type")?.hasPrefix("text/plain") == true)
    #expect(try desk.ask("HEAD", path, Self.tus).field("Upload-Offset") == "0")
  }

  @Test("what may not be uploaded is refused before a byte is sent, with a true status")
  func creationErrors() throws {
    let desk = try StorageDesk { $0.objectBytesMax = 100 }
    #expect(try create(desk, "nowhere", length: 1).status == 404)
    #expect(try create(desk, "photos", "\(StorageDesk.bobID)/x", length: 1).status == 403)
    #expect(try create(desk, length: 101).status == 413)
    #expect(try create(desk, "small", length: 11).status == 413)
    #expect(try create(desk, "notes", "a#b", length: 1).status == 400)
    _ = try desk.put("notes/a%20b", "x")
    #expect(try create(desk, length: 1).status == 409)
    #expect(try create(desk, length: 1, [("x-upsert", "true")]).status == 201)
    #expect(try desk.ask("POST", "upload/resumable", Self.tus).status == 400)
    // The token is looked at first, by another layer.
    let late = try create(desk, length: 1, as: .nobody, [("Authorization", "Bearer a.b.c")])
    #expect(late.problem == "400 403 Unauthorized AccessDenied")
  }

  @Test("rights are looked at with every request, and so is x-upsert")
  func rights() throws {
    let desk = try StorageDesk()
    let path = try path(try create(desk, "photos", "\(StorageDesk.annID)/x", length: 4))
    #expect(try patch(desk, path, 0, "01", as: .bob).status == 403)
    #expect(try desk.ask("HEAD", path, as: .bob, Self.tus).status == 404)
    #expect(try patch(desk, path, 0, "01").status == 204)
    // Somebody else of the same user was faster.
    _ = try desk.put("photos/\(StorageDesk.annID)/x", "fast")
    #expect(try patch(desk, path, 2, "23").status == 409)
    #expect(try patch(desk, path, 2, "23", [("x-upsert", "true")]).status == 204)
    #expect(try desk.ask("GET", "object/photos/\(StorageDesk.annID)/x").text == "0123")
  }

  @Test("an upload ends with its day or when it is given up, and what is unknown is not found")
  func ends() throws {
    let desk = try StorageDesk()
    let given = try path(try create(desk, length: 4))
    #expect(try desk.ask("DELETE", given, Self.tus).status == 204)
    #expect(try desk.ask("HEAD", given, Self.tus).status == 404)
    #expect(try patch(desk, given, 0, "0").status == 404)
    #expect(try patch(desk, "upload/resumable/AAAA", 0, "0").status == 404)
    let old = try path(try create(desk, length: 4))
    desk.project.clock.advance(seconds: 86_400)
    #expect(try desk.ask("HEAD", old, Self.tus).status == 410)
    let tooMuch = try path(try create(desk, length: 2))
    #expect(try patch(desk, tooMuch, 0, "012").status == 413)
  }

  @Test("a signed upload goes on without a token of a user")
  func signed() throws {
    let desk = try StorageDesk()
    let key = "\(StorageDesk.annID)/s"
    let token = try desk.ask("POST", "object/upload/sign/photos/\(key)").json.text("token")
    let fields = Self.tus + [("x-signature", token)]
    let made = try desk.ask(
      "POST", "upload/resumable/sign", as: .nobody,
      fields + [("Upload-Length", "4"), ("Upload-Metadata", Self.metadata("photos", key))])
    #expect(made.status == 201)
    let path = String((made.field("Location") ?? "").dropFirst("http://localhost/storage/v1/".count))
    #expect(path.hasPrefix("upload/resumable/sign/"))
    #expect(try patch(desk, path, 0, "0123", as: .nobody, [("x-signature", token)]).field("Tus-Complete") == "1")
    #expect(try desk.ask("GET", "object/photos/\(key)").text == "0123")
    let other = try desk.ask(
      "POST", "upload/resumable/sign", as: .nobody,
      fields + [("Upload-Length", "4"), ("Upload-Metadata", Self.metadata("photos", "\(StorageDesk.annID)/t"))])
    #expect(other.status == 400)
  }

  @Test("the server says what it can do")
  func options() throws {
    let answer = try StorageDesk().ask("OPTIONS", "upload/resumable", as: .nobody)
    #expect((answer.status, answer.field("Tus-Version")) == (204, "1.0.0"))
    #expect(answer.field("Tus-Extension")?.contains("creation") == true)
  }
}
