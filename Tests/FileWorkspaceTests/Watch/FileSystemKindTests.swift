import Testing

@testable import FileWorkspace

@Suite("Kinds of file systems") struct FileSystemKindTests {
  /// Numbers as `linux/magic.h` and the file systems' sources have them.
  static let withoutEvents: [(number: UInt, name: String)] = [
    (0x6969, "NFS"), (0xFF53_4D42, "CIFS"), (0xFE53_4D42, "SMB"), (0x0102_1997, "9P"), (0x6573_5546, "FUSE"),
    (0x00C3_6400, "Ceph"), (0x5346_414F, "AFS"), (0x786F_4256, "a VirtualBox shared folder"),
  ]

  @Test("those on which others' changes are not reported are known by name", arguments: withoutEvents)
  func unreported(number: UInt, name: String) { #expect(FileSystemKind(number: number)?.name == name) }

  @Test(
    "those of this machine alone are reported",
    arguments: [
      ("ext4", 0xEF53), ("btrfs", 0x9123_683E), ("XFS", 0x5846_5342), ("tmpfs", 0x0102_1994), ("overlay", 0x794C_7630),
      ("F2FS", 0xF2F5_2010), ("ZFS", 0x2FC1_2FC1), ("bcachefs", 0xCA45_1A4E), ("exFAT", 0x2011_BAB0),
      ("FAT", 0x4D44), ("NTFS", 0x7366_746E),
    ] as [(String, UInt)])
  func reported(name: String, number: UInt) { #expect(FileSystemKind(number: number) == nil, "\(name)") }

  @Test("a folder that is not there has no kind")
  func absent() throws {
    let folder = try TemporaryFolder()
    #expect(try LiveFileSystem(root: folder.path).kindWithoutEvents("none") == nil)
  }
}
