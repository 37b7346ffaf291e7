import Foundation
import Testing

/// Pictures that the tests for images have, too.
enum Picture: String, CaseIterable {
  case red = "two-colours.png"
  case turned = "turned.jpg"
  case moving = "moving.gif"
  case placed = "placed.heic"

  var path: String { "\(Tidemark.packageRoot)/Tests/ImagesTests/Fixtures/\(rawValue)" }
  var bytes: Data { get throws { try Data(contentsOf: URL(fileURLWithPath: path)) } }
}

extension Replica {
  func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")) }

  /// The names in a folder, without hidden ones; none where there is no folder.
  func names(_ folder: String) -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: "\(path)/\(folder)")
    return (names ?? []).filter { !$0.hasPrefix(".") }.sorted()
  }

  /// Copies a picture into a folder, as a person's program would.
  func drop(_ picture: Picture, at name: String) throws {
    let folder = URL(fileURLWithPath: "\(path)/\(name)").deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: picture.path, toPath: "\(path)/\(name)")
  }

  /// The photos with their states.
  func photos() async throws -> [String: String] {
    let listed = try await run("photos", "list", "--json").json()["photos"] as? [[String: Any]] ?? []
    let states = listed.compactMap { photo in
      (photo["path"] as? String).map { ($0, photo["state"] as? String ?? "") }
    }
    return Dictionary(states) { first, _ in first }
  }
}
