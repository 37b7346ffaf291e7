import CLinuxFiles

/// What kind of file system a folder lies on, as far as watching it is concerned.
public struct FileSystemKind: Sendable, Hashable {
  /// Its name, for a person.
  public var name: String

  /// The kind that `statfs(2)` gives as a number; `nil` for one whose changes the kernel reports, whoever makes them.
  ///
  /// On the others a change is made by another machine or another process than the one that asks the kernel: watches can
  /// be set there and even report this machine's own changes, but never the others'.
  public init?(number: UInt) {
    guard let name = Self.withoutEvents[number] else { return nil }
    self.name = name
  }

  /// The numbers of `linux/magic.h` and of the file systems' own sources.
  private static let withoutEvents: [UInt: String] = [
    0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB", 0x0102_1997: "9P", 0x6573_5546: "FUSE",
    0x00C3_6400: "Ceph", 0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda", 0x564C: "NCP",
    0x786F_4256: "a VirtualBox shared folder", 0xBACB_ACBC: "a VMware shared folder", 0x0BD0_0BD0: "Lustre",
    0x0116_1970: "GFS2", 0x7461_636F: "OCFS2",
  ]
}

extension LiveFileSystem {
  /// Where a folder's file system does not report the changes that others make to it, which kind it is.
  public func kindWithoutEvents(_ folder: String) -> FileSystemKind? {
    let number = tm_file_system_kind(folder.isEmpty ? root : "\(root)/\(folder)")
    return number < 0 ? nil : FileSystemKind(number: UInt(number))
  }
}
