import Foundation
import Images
import Testing

@Suite("Images") struct ImageTests {
  static let formats: [(String, ImageFormat)] = [
    ("two-colours.png", .png), ("two-colours.webp", .webp), ("two-colours.gif", .gif), ("two-colours.heic", .heic),
    ("two-colours.avif", .avif), ("two-colours.tif", .tiff),
  ]

  @Test("an image's head says its format and its size, whatever the file is called", arguments: formats)
  func heads(name: String, format: ImageFormat) throws {
    let scratch = try Scratch()
    let renamed = try scratch.file("photo.txt", Array(try Data(contentsOf: URL(filePath: path(name)))))
    let info = try ImageInfo(path: renamed)
    #expect((info.format, info.width, info.height) == (format, 40, 20))
    #expect((info.orientation, info.takenAt, info.hasLocation) == (1, nil, false))
  }

  @Test("a photo that is to be turned has the size that it is looked at in, its time and its place")
  func camera() throws {
    let info = try ImageInfo(path: path("turned.jpg"))
    #expect((info.format, info.width, info.height, info.orientation) == (.jpeg, 20, 40, 6))
    #expect(info.takenAt == "2026:10:18 13:00:27")
    #expect(info.takenAtOffset == "+02:00")
    #expect(info.hasLocation)
  }

  @Test("what is no image, or only the beginning of one, is refused")
  func refused() throws {
    let scratch = try Scratch()
    let text = try scratch.file("a.jpg", Array("not an image".utf8))
    #expect(throws: ImageError.notAnImage(path: text)) { try ImageInfo(path: text) }
    let nothing = try scratch.file("b.jpg", [])
    #expect(throws: ImageError.notAnImage(path: nothing)) { try ImageInfo(path: nothing) }
    let whole = Array(try Data(contentsOf: URL(filePath: path("two-colours.png"))))
    let cut = try scratch.file("c.png", Array(whole[..<20]))
    #expect(throws: ImageError.self) { try ImageInfo(path: cut) }
    #expect(throws: ImageError.self) { try ImageInfo(path: scratch.folder.appending(path: "missing").path()) }
  }

  static let boxes: [(Int?, Int?, ImageRendition.Resize, Int, Int)] = [
    (10, 10, .cover, 10, 10), (10, 10, .contain, 10, 5), (10, 10, .fill, 10, 10), (10, nil, .cover, 10, 5),
    (nil, 10, .contain, 20, 10), (400, 400, .contain, 40, 20), (nil, nil, .cover, 40, 20),
  ]

  @Test("a rendition fits its box as it is told, and is never larger than the image", arguments: boxes)
  func renditions(width: Int?, height: Int?, resize: ImageRendition.Resize, wide: Int, high: Int) throws {
    let scratch = try Scratch()
    let rendition = ImageRendition(width: width, height: height, resize: resize)
    let made = try rendition.make(from: path("two-colours.png"))
    let info = try ImageInfo(path: try scratch.file("made", made.bytes))
    #expect(made.format == .png)
    #expect((info.width, info.height) == (wide, high))
  }

  @Test("a rendition is turned upright and says nothing of time and place")
  func upright() throws {
    let scratch = try Scratch()
    let made = try ImageRendition(width: 10).make(from: path("turned.jpg"))
    let info = try ImageInfo(path: try scratch.file("made", made.bytes))
    #expect((info.width, info.height, info.orientation) == (10, 20, 1))
    #expect((info.takenAt, info.hasLocation) == (nil, false))
  }

  @Test(
    "a rendition comes in the format that is asked for, and HEIC as JPEG", arguments: [ImageFormat.webp, .avif, .jpeg])
  func chosenFormat(format: ImageFormat) throws {
    let scratch = try Scratch()
    let made = try ImageRendition(format: format).make(from: path("two-colours.png"))
    #expect(made.format == format)
    #expect(try ImageInfo(path: try scratch.file("made", made.bytes)).format == format)
    #expect(try ImageRendition().make(from: path("two-colours.heic")).format == .jpeg)
  }
}
