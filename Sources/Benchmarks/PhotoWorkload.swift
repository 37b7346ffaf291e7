import Glibc

extension Bench {
  /// What a watcher's memory must stay under, whatever is dropped.
  private static let memoryMax = 60_000_000.0

  func photos(_ count: Int) async throws -> [Measurement] {
    try await sendPhotos(count, bytes: 2_000_000, workload: "photos", size: count)
  }

  func largePhoto(megabytes: Int) async throws -> [Measurement] {
    try await sendPhotos(1, bytes: megabytes * 1_000_000, workload: "photo-large", size: megabytes)
  }

  private func sendPhotos(_ count: Int, bytes: Int, workload: String, size: Int) async throws -> [Measurement] {
    let stage = try await stage(isLogging: false)
    try await stage.liftLimit()
    let workspace = try stage.workspace("a")
    try Files.write("\(workspace)/tasks/kitchen.json", #"{"title": "Kitchen"}"#)
    try stage.run(["-C", workspace, "sync"])
    let source = "\(stage.path)/photos"
    try Files.makeFolder(source)
    var sample = SampleTasks(seed: seed &+ 6)
    let files = try (0..<count).map { index in
      let path = "\(source)/\(index).jpg"
      try SamplePhoto.write(path, bytes: bytes, &sample)
      return path
    }
    sync()
    let watcher = try stage.watch(workspace)
    stage.idle(.seconds(1))
    let folder = "\(workspace)/photos/kitchen"
    try Files.makeFolder("\(workspace)/photos")
    try Files.makeFolder(folder)
    let start = ContinuousClock.now
    for (index, file) in files.enumerated() {
      // A second name is made at once, so that what is measured is not the copying.
      guard link(file, "\(folder)/\(index).jpg") == 0 else { throw Files.Failure(folder) }
    }
    var rows = 0
    while rows < count {
      guard ContinuousClock.now - start < .seconds(1_200), watcher.status == nil else {
        throw watcher.failure("waited in vain for \(count) photos; there are \(rows)")
      }
      stage.idle(.milliseconds(50))
      rows = try await stage.photoCount()
    }
    let seconds = (ContinuousClock.now - start).seconds
    let peak = try watcher.memory("VmHWM")
    try stage.stop(watcher)
    sync()
    let curl = try stage.curlUploads(files)
    await stage.end()
    return [
      Measurement(
        workload: workload, size: size, what: "photos dropped → all rows on the server", unit: .seconds,
        values: [seconds], limits: [Limit(name: "curl -T of the same files, one after another", value: curl)]),
      Measurement(
        workload: "\(workload) memory", size: size, what: "watch, peak while photos were dropped", unit: .bytes,
        values: [peak], limits: [Limit(name: "what it must stay under", value: Self.memoryMax)]),
    ]
  }
}

/// A photo of any size: a JPEG of 8 by 8 pixels, and behind it what a telephone would put there, such as a film.
private enum SamplePhoto {
  static func write(_ path: String, bytes: Int, _ sample: inout SampleTasks) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw Files.Failure(path) }
    defer { close(descriptor) }
    var piece = picture
    var rest = bytes
    while rest > 0 {
      piece = Array(piece.prefix(rest))
      guard piece.withUnsafeBytes({ Glibc.write(descriptor, $0.baseAddress, $0.count) }) == piece.count else {
        throw Files.Failure(path)
      }
      rest -= piece.count
      let words = (0..<8_192).map { _ in sample.random.next() }
      piece = words.withUnsafeBytes { Array($0) }
    }
  }

  /// ITU-T T.81, baseline: tables, one component, one block, and the end.
  private static let picture: [UInt8] = {
    let head: [UInt8] = [
      0xFF, 0xD8, 0xFF, 0xE0, 0, 16, 0x4A, 0x46, 0x49, 0x46, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0xFF, 0xDB, 0, 67, 0,
    ]
    let frame: [UInt8] = [0xFF, 0xC0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0]
    // One code each for direct and alternating current: a difference of none, and the end of the block.
    let codes = [0x00, 0x10].flatMap { kind -> [UInt8] in
      [0xFF, 0xC4, 0, 20, kind, 1] + [UInt8](repeating: 0, count: 15) + [0]
    }
    let scan: [UInt8] = [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0x3F, 0xFF, 0xD9]
    return head + [UInt8](repeating: 16, count: 64) + frame + codes + scan
  }()
}
