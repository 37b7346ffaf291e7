import Foundation
import Images
import Randomness
import Testing

@Suite("Photos by their content") struct PhotoCheckTests {
  static let photos: [(String, ImageFormat, Int, Int)] = [
    ("turned.jpg", .jpeg, 20, 40), ("progressive.jpg", .jpeg, 32, 48), ("two-colours.png", .png, 40, 20),
    ("placed.png", .png, 48, 32), ("two-colours.webp", .webp, 40, 20), ("placed.webp", .webp, 48, 32),
    ("two-colours.gif", .gif, 40, 20), ("moving.gif", .gif, 24, 16), ("two-colours.heic", .heic, 40, 20),
    ("placed.heic", .heic, 48, 32), ("two-colours.avif", .avif, 40, 20), ("placed.avif", .avif, 48, 32),
  ]

  @Test("a whole photo is one, whatever it is called", arguments: photos)
  func whole(name: String, format: ImageFormat, width: Int, height: Int) throws {
    let scratch = try Scratch()
    let info = try ImageInfo(photo: try scratch.file("notes.txt", try fixture(name)))
    #expect((info.format, info.width, info.height) == (format, width, height))
  }

  @Test("a photo that ends anywhere before its end is none", arguments: photos)
  func truncated(name: String, format: ImageFormat, width: Int, height: Int) throws {
    let scratch = try Scratch()
    let whole = try fixture(name)
    let cut = try scratch.file("cut", whole)
    for length in (1..<whole.count).reversed() {
      #expect(truncate(cut, off_t(length)) == 0)
      do throws(PhotoProblem) {
        _ = try ImageInfo(photo: cut)
        Issue.record("the first \(length) of \(whole.count) bytes passed for a photo")
      } catch {
        // Too little to say what it would have become, or a photo that is not whole.
        let isTold = if case .otherKind = error { length < 24 } else { error == .truncated(format) }
        #expect(isTold, "\(length) bytes: \(error)")
      }
    }
  }

  @Test("what lies behind a picture does no harm, and does not make half a picture whole")
  func trailers() throws {
    let scratch = try Scratch()
    let film = Array("....ftypmp42 a film of a moment".utf8) + [UInt8](repeating: 0xFF, count: 200_000)
    for name in ["turned.jpg", "progressive.jpg", "two-colours.png", "moving.gif", "two-colours.webp"] {
      let whole = try fixture(name)
      _ = try ImageInfo(photo: try scratch.file("whole", whole + film))
    }
    for name in ["turned.jpg", "progressive.jpg"] {
      let half = Array(try fixture(name).dropLast(60))
      #expect(throws: PhotoProblem.truncated(.jpeg)) {
        _ = try ImageInfo(photo: try scratch.file("half", half + [UInt8](repeating: 0, count: 200_000)))
      }
    }
  }

  static let others: [(String, String)] = [
    ("%PDF-1.4\n1 0 obj\n", "PDF document"), ("just some words\n", "ASCII text"),
    ("<html><body>Sign in</body></html>", "HTML document"), ("GIX89a and more words", "ASCII text"),
  ]

  @Test("what is something else is named", arguments: others)
  func otherKinds(text: String, kind: String) throws {
    let scratch = try Scratch()
    let file = try scratch.file("IMG_1.jpg", Array(text.utf8))
    #expect(throws: PhotoProblem.otherKind(kind)) { _ = try ImageInfo(photo: file) }
    #expect(PhotoProblem.otherKind(kind).description.contains("not a photo but \(kind)"))
  }

  @Test("a picture of a format that browsers do not show is no photo, and an empty file is one that is empty")
  func notPhotos() throws {
    let scratch = try Scratch()
    #expect(throws: PhotoProblem.otherKind("TIFF image data")) { _ = try ImageInfo(photo: path("two-colours.tif")) }
    #expect(throws: PhotoProblem.empty) { _ = try ImageInfo(photo: try scratch.file("a.jpg", [])) }
    for missing in ["/nowhere/a.jpg", scratch.folder.path(percentEncoded: false)] {
      #expect { _ = try ImageInfo(photo: missing) } throws: { error in
        if case PhotoProblem.unreadable = error { true } else { false }
      }
    }
  }

  @Test("no bytes bring it down, whether random or a photo's with some of them changed")
  func noise() throws {
    let scratch = try Scratch()
    var random = SeededRandom(seed: 20_261_018)
    let heads = try Self.photos.map { Array(try fixture($0.0).prefix(16)) } + [[]]
    for head in heads {
      for _ in 0..<40 {
        let noise = (0..<Int.random(in: 0...600, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        _ = try? ImageInfo(photo: try scratch.file("noise", head + noise))
      }
    }
    for (name, _, _, _) in Self.photos {
      for _ in 0..<40 {
        var bytes = try fixture(name)
        for _ in 0..<4 {
          bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        _ = try? ImageInfo(photo: try scratch.file("noise", bytes))
      }
    }
  }

  static let times: [(String, String?, Int?)] = [
    ("2026:10:18 13:00:27", "+02:00", 1_792_321_227), ("2026:10:18 13:00:27", "-03:30", 1_792_341_027),
    ("2026:10:18 13:00:27", nil, 1_792_324_827), ("2026:10:18 13:00:27", "summer", 1_792_324_827),
    ("2024:02:29 00:00:00", "+00:00", 1_709_164_800), ("0000:00:00 00:00:00", nil, nil),
    ("2023:02:29 10:00:00", nil, nil), ("    :  :     :  :  ", nil, nil), ("2026", nil, nil), ("", nil, nil),
  ]

  @Test("a camera's time is a moment, by its own distance from UTC or else by ours", arguments: times)
  func captureTimes(text: String, offset: String?, moment: Int?) {
    #expect(CaptureTime(exif: text, offset: offset)?.secondsSince1970(otherwiseOffset: 3600) == moment)
  }
}
