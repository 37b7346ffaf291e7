import Foundation
import Testing

/// Compares a text with a file beside the tests; a missing file is written and fails the run, so that it gets read.
func expectGolden(
  _ actual: String, _ name: String, at location: SourceLocation = #_sourceLocation, in testFile: String = #filePath
) throws {
  let file = URL(fileURLWithPath: testFile).deletingLastPathComponent().appendingPathComponent("Goldens/\(name).txt")
  let isRecording = ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] != nil
  guard !isRecording, let expected = try? String(contentsOf: file, encoding: .utf8) else {
    try actual.write(to: file, atomically: true, encoding: .utf8)
    Issue.record("recorded \(file.lastPathComponent): read the diff, run again", sourceLocation: location)
    return
  }
  #expect(actual == expected, sourceLocation: location)
}
