import Foundation

/// The folder of the tests, where the recorded answers lie.
let testFolder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
