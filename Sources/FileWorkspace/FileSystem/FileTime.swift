/// A moment as a file system tells it, in nanoseconds since 1970-01-01 UTC.
///
/// One signed integer reaches from 1677 to 2262; times beyond that are moved to the nearer end.
public struct FileTime: Sendable, Hashable, Comparable {
  /// Nanoseconds since 1970-01-01 00:00:00 UTC.
  public let nanoseconds: Int64

  /// Makes a time from nanoseconds since 1970.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// Makes a time from the two numbers that the kernel gives.
  public init(seconds: Int64, nanoseconds: UInt32) {
    let (whole, isTooFar) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isJustTooFar) = whole.addingReportingOverflow(Int64(nanoseconds))
    self.nanoseconds = isTooFar || isJustTooFar ? (seconds < 0 ? .min : .max) : sum
  }

  /// Orders by time, earlier first.
  public static func < (left: FileTime, right: FileTime) -> Bool { left.nanoseconds < right.nanoseconds }
}
