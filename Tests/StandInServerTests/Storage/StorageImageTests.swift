import Foundation
import Images
import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Images from Storage") struct StorageImageTests {
  private let scratch = FileManager.default.temporaryDirectory.appending(path: "image-\(UUID().uuidString)")

  private func desk() throws -> StorageDesk {
    let desk = try StorageDesk()
    let fixture = testFolder.deletingLastPathComponent().appending(path: "ImagesTests/Fixtures/two-colours.png")
    let bytes = Array(try Data(contentsOf: fixture))
    for bucket in ["notes", "shop"] {
      _ = try desk.ask("POST", "object/\(bucket)/p.png", as: .service, [("Content-Type", "image/png")], body: bytes)
    }
    return desk
  }

  private func size(_ answer: Wire.Answer) throws -> String {
    try Data(answer.body).write(to: scratch)
    defer { try? FileManager.default.removeItem(at: scratch) }
    let info = try ImageInfo(path: scratch.path(percentEncoded: false))
    return "\(answer.status) \(answer.field("Content-Type") ?? "") \(info.width)x\(info.height)"
  }

  @Test("an image is given in the size and the format that are asked for")
  func render() throws {
    let desk = try desk()
    let cases = [
      ("authenticated/notes/p.png?width=10&height=10&resize=cover&quality=80", "200 image/png 10x10"),
      ("authenticated/notes/p.png?width=10&height=10&resize=contain", "200 image/png 10x5"),
      ("authenticated/notes/p.png?width=10&height=10&resize=fill", "200 image/png 10x10"),
      ("authenticated/notes/p.png?width=10", "200 image/png 10x5"),
      ("authenticated/notes/p.png?height=0&width=99999", "200 image/png 40x20"),
      ("authenticated/notes/p.png?format=webp", "200 image/webp 40x20"),
      ("public/shop/p.png?width=20", "200 image/png 20x10"),
    ]
    for (path, expected) in cases { #expect(try size(try desk.ask("GET", "render/image/\(path)")) == expected) }
    let modern = [("Accept", "image/avif,image/webp,*/*")]
    #expect(try size(try desk.ask("GET", "render/image/public/shop/p.png", modern)) == "200 image/avif 40x20")
    #expect(
      try size(try desk.ask("GET", "render/image/public/shop/p.png?format=origin", modern)) == "200 image/png 40x20")
  }

  @Test("what is signed is what is given")
  func signed() throws {
    let desk = try desk()
    let body: JSONValue = ["expiresIn": 60, "transform": ["width": 20, "quality": 50]]
    let url = try desk.json("POST", "object/sign/notes/p.png", body).json.text("signedURL")
    #expect(url.hasPrefix("/render/image/sign/notes/p.png?token="))
    #expect(try size(try desk.ask("GET", url.dropFirst() + "&width=1", as: .nobody)) == "200 image/png 20x10")
  }

  @Test("what is no image, and what nobody can mean, is refused")
  func refusals() throws {
    let desk = try desk()
    _ = try desk.put("notes/t", "text", type: "image/png")
    #expect(try desk.ask("GET", "render/image/authenticated/notes/t?width=10").json.text("statusCode") == "422")
    for query in ["width=-1", "width=x", "resize=crop", "quality=10", "quality=101", "format=bmp"] {
      let answer = try desk.ask("GET", "render/image/authenticated/notes/p.png?\(query)")
      #expect(answer.problem == "400 400 Error InvalidRequest")
    }
    #expect(try desk.ask("GET", "render/image/authenticated/notes/x.png").problem == "400 404 not_found NoSuchKey")
    #expect(
      try desk.ask("GET", "render/image/authenticated/notes/p.png", as: .nobody).json.text("code") == "InvalidRequest")
  }
}
