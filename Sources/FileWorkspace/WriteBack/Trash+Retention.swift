/// How long the trash keeps texts.
public struct TrashRetention: Sendable, Hashable {
  /// The age at which a text goes.
  public var ageMax: Duration
  /// How many bytes the texts may have together; the oldest go first.
  public var bytesMax: Int64
  /// Texts younger than this stay, however many there are.
  public var ageMin: Duration

  /// Thirty days or 256 MiB, whichever comes first; what came within the last day stays.
  public init(
    ageMax: Duration = .seconds(30 * 86_400), bytesMax: Int64 = 256 << 20, ageMin: Duration = .seconds(86_400)
  ) {
    self.ageMax = ageMax
    self.bytesMax = bytesMax
    self.ageMin = ageMin
  }

  /// Which of the texts go.
  ///
  /// - Parameters:
  ///   - texts: Age and size of each.
  ///   - now: Milliseconds since 1970.
  /// - Returns: The indices of those that go.
  public func outdated(_ texts: [(at: Int64, bytes: Int64)], now: Int64) -> [Int] {
    let (oldest, youngest) = (now - ageMax.milliseconds, now - ageMin.milliseconds)
    var kept: Int64 = 0
    var going: [Int] = []
    for index in texts.indices.sorted(by: { texts[$0].at > texts[$1].at }) {
      kept += texts[index].bytes
      let text = texts[index]
      if text.at < oldest || (kept > bytesMax && text.at < youngest) { going.append(index) }
    }
    return going
  }
}

extension Duration {
  fileprivate var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}

extension Trash {
  /// Removes the texts that have been kept long enough.
  ///
  /// - Returns: How many went.
  @discardableResult
  public func sweep(_ retention: TrashRetention = TrashRetention()) throws(FileSystemError) -> Int {
    let entries = try entries()
    let going = retention.outdated(entries.map { ($0.at, $0.bytes) }, now: now())
    for index in going {
      // The text first: notes alone are no text, and go with the next sweep's names or stay harmless.
      try files.unlink(entries[index].path)
      do {
        try files.unlink(entries[index].path + Self.notesSuffix)
      } catch .absent {
        // A text without notes.
      }
    }
    return going.count
  }
}
