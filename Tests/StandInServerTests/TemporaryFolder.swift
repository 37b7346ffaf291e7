import Foundation

/// Lends a folder that is not there yet, and removes it.
func withFolder(_ body: (String) throws -> Void) throws {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("stand-in-\(UUID().uuidString)").path
  defer { try? FileManager.default.removeItem(atPath: folder) }
  try body(folder)
}

/// All bytes of all files of a folder, one file after the other.
func bytes(under folder: String) throws -> [UInt8] {
  try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
    .flatMap { name in FileManager.default.contents(atPath: "\(folder)/\(name)").map { Array($0) } ?? [] }
}
