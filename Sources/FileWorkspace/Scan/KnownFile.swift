/// What is remembered of a file that was read, by which a scan tells whether it must be read again.
public struct KnownFile: Sendable, Hashable {
  /// The numbers that held when it was read.
  public var stamp: FileStamp
  /// When it was read, by this machine's clock.
  public var readAt: FileTime
  /// The hash of what it said; needed only where the stamp is not certain.
  public var hash: ContentHash?

  /// Makes a memory.
  public init(stamp: FileStamp, readAt: FileTime, hash: ContentHash? = nil) {
    self.stamp = stamp
    self.readAt = readAt
    self.hash = hash
  }

  /// How coarse a file system's clock may be, in nanoseconds (FAT's is the coarsest, at two seconds).
  static let coarsestTick: Int64 = 2_000_000_000

  /// True when a later change would surely show in the stamp.
  ///
  /// A file read within one tick of its last change may change again under the same numbers.
  public var isCertain: Bool {
    stamp.changed.nanoseconds < readAt.nanoseconds - Self.coarsestTick
  }
}

/// By what a collection's folder is known again within one run.
public struct FolderIdentity: Sendable, Hashable {
  /// The kernel's number of the mount, 0 where it does not say.
  public var mount: UInt64
  /// The device number.
  public var device: UInt64
  /// Inode and birth time of the folder.
  public var file: FileIdentity

  /// Takes the identity from a folder's status.
  public init(_ status: FileStatus) {
    mount = status.mount
    device = status.device
    file = status.identity
  }
}
