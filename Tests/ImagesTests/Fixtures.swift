import Foundation

/// Images of 40 by 20 pixels, the left half red, the right half blue; `turned.jpg` is to be turned by a quarter.
///
/// Those that are `placed`, and `progressive.jpg`, have 48 by 32 pixels of many colours and say where they were taken, in EXIF
/// and in XMP.
private let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")

func path(_ name: String) -> String { fixtures.appending(path: name).path(percentEncoded: false) }

func fixture(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path(name)))) }

/// A folder that goes with its test.
final class Scratch {
  let folder = FileManager.default.temporaryDirectory.appending(path: "images-\(UUID().uuidString)")

  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func file(_ name: String, _ bytes: [UInt8]) throws -> String {
    let place = folder.appending(path: name)
    try Data(bytes).write(to: place)
    return place.path(percentEncoded: false)
  }
}
