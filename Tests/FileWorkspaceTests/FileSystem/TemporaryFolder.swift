import Foundation

/// A real folder of one test, removed with its content at the end.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func full(_ relative: String) -> String { "\(path)/\(relative)" }

  func createFolder(_ relative: String) throws {
    try FileManager.default.createDirectory(atPath: full(relative), withIntermediateDirectories: true)
  }

  /// Writes in place, as `echo text > file`.
  func save(_ relative: String, _ bytes: [UInt8]) throws {
    guard let file = fopen(full(relative), "w") else { throw POSIXError(.EIO) }
    defer { fclose(file) }
    fwrite(bytes, 1, bytes.count, file)
  }

  func bytes(_ relative: String) -> [UInt8]? { FileManager.default.contents(atPath: full(relative)).map(Array.init) }
}
