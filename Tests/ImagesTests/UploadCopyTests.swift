import Foundation
import Images
import Testing

@Suite("Copies of photos for sending") struct UploadCopyTests {
  static let placed = ["turned.jpg", "progressive.jpg", "placed.png", "placed.webp", "placed.heic", "placed.avif"]

  /// Makes a copy, and makes sure that the photo stayed as it was.
  private func copy(
    _ name: String, _ way: UploadCopy, in scratch: Scratch
  ) throws -> (format: ImageFormat, info: ImageInfo, bytes: [UInt8])? {
    let before = try fixture(name)
    let photo = try scratch.file(name, before)
    let target = scratch.folder.appending(path: "copy")
    try? FileManager.default.removeItem(at: target)
    let format = try way.make(
      from: photo, info: try ImageInfo(photo: photo), to: target.path(percentEncoded: false))
    #expect(Array(try Data(contentsOf: URL(filePath: photo))) == before)
    guard let format else {
      #expect(!FileManager.default.fileExists(atPath: target.path(percentEncoded: false)))
      return nil
    }
    let info = try ImageInfo(photo: target.path(percentEncoded: false))
    #expect(info.format == format)
    return (format, info, Array(try Data(contentsOf: target)))
  }

  @Test("a copy without the place is the same picture otherwise, and says when it was taken", arguments: placed)
  func withoutPlace(name: String) throws {
    let scratch = try Scratch()
    let before = try ImageInfo(photo: path(name))
    #expect(before.hasLocation)
    let made = try #require(try copy(name, UploadCopy(stripsLocation: true), in: scratch))
    #expect(!made.info.hasLocation)
    #expect((made.format, made.info.width, made.info.height) == (before.format, before.width, before.height))
    #expect((made.info.orientation, made.info.taken) == (before.orientation, before.taken))
    for word in ["GPS", "WGS-84", "52,31.2N", "13,24.3E"] {
      #expect(Data(made.bytes).range(of: Data(word.utf8)) == nil, "\(word) is in the copy")
    }
    // The pixels, decoded without loss, are those that they were.
    let pixels = ImageRendition(format: .png)
    let copied = try scratch.file("copied", made.bytes)
    #expect(try pixels.make(from: copied).bytes == pixels.make(from: path(name)).bytes)
  }

  @Test(
    "bytes outside of the place stay where they were", arguments: ["progressive.jpg", "placed.webp", "placed.heic"])
  func inPlace(name: String) throws {
    let scratch = try Scratch()
    let made = try #require(try copy(name, UploadCopy(stripsLocation: true), in: scratch))
    let before = try fixture(name)
    #expect(made.bytes.count == before.count)
    #expect(zip(made.bytes, before).count { $0 != $1 } < 500)
  }

  static let sizes: [(String, ImageFormat, Int, Int)] = [
    ("progressive.jpg", .jpeg, 13, 20), ("placed.png", .png, 20, 13), ("placed.webp", .webp, 20, 13),
    ("placed.heic", .jpeg, 20, 13), ("placed.avif", .avif, 20, 13), ("turned.jpg", .jpeg, 10, 20),
  ]

  @Test("a copy is at most as large as is set, and is shown the same way up", arguments: sizes)
  func smaller(name: String, format: ImageFormat, width: Int, height: Int) throws {
    let scratch = try Scratch()
    let before = try ImageInfo(photo: path(name))
    let made = try #require(try copy(name, UploadCopy(longestEdge: 20), in: scratch))
    #expect((made.format, made.info.width, made.info.height) == (format, width, height))
    #expect((made.info.orientation, made.info.taken) == (before.orientation, before.taken))
    #expect(made.info.hasLocation == before.hasLocation)
    let bare = try #require(try copy(name, UploadCopy(stripsLocation: true, longestEdge: 20), in: scratch))
    #expect((bare.info.width, bare.info.height, bare.info.hasLocation) == (width, height, false))
  }

  @Test("a HEIC becomes a JPEG where that is set, and keeps its time")
  func heic() throws {
    let scratch = try Scratch()
    let made = try #require(try copy("placed.heic", UploadCopy(convertsHEIC: true), in: scratch))
    #expect((made.format, made.info.width, made.info.height) == (.jpeg, 48, 32))
    #expect(made.info.taken == CaptureTime(exif: "2026:10:18 13:00:27", offset: "+02:00"))
    #expect(try copy("placed.avif", UploadCopy(convertsHEIC: true), in: scratch) == nil)
  }

  @Test(
    "what needs no copy gets none",
    arguments: [
      ("turned.jpg", UploadCopy()), ("turned.jpg", UploadCopy(longestEdge: 40)),
      ("moving.gif", UploadCopy(longestEdge: 5)),
      ("two-colours.png", UploadCopy(stripsLocation: true, longestEdge: 40, convertsHEIC: true)),
    ])
  func none(name: String, way: UploadCopy) throws {
    #expect(try copy(name, way, in: try Scratch()) == nil)
  }

  @Test("a copy that would still say where it was taken is not made")
  func kept() throws {
    let scratch = try Scratch()
    // Nothing closes the packet, so nobody can say where it ends.
    var bytes = try fixture("placed.webp")
    let end = try #require(Data(bytes).range(of: Data("</x:xmpmeta>".utf8)))
    bytes.replaceSubrange(end, with: Array("            ".utf8))
    let inner = try #require(Data(bytes).range(of: Data("</rdf:RDF>".utf8)))
    bytes.replaceSubrange(inner, with: Array("          ".utf8))
    let photo = try scratch.file("open.webp", bytes)
    let target = scratch.folder.appending(path: "copy").path(percentEncoded: false)
    #expect(throws: PhotoProblem.keepsLocation(.webp)) {
      _ = try UploadCopy(stripsLocation: true).make(from: photo, info: try ImageInfo(photo: photo), to: target)
    }
    #expect(!FileManager.default.fileExists(atPath: target))
  }

  @Test("a name with brackets is a name")
  func brackets() throws {
    let scratch = try Scratch()
    let photo = try scratch.file("IMG.jpg[1]", try fixture("turned.jpg"))
    let target = scratch.folder.appending(path: "copy[Q=1]").path(percentEncoded: false)
    let made = try UploadCopy(longestEdge: 10).make(from: photo, info: try ImageInfo(photo: photo), to: target)
    #expect(made == .jpeg)
  }
}
