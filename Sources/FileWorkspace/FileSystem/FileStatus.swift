/// What a directory entry is, never looking through a symbolic link.
public enum FileKind: String, Sendable, Hashable {
  /// A regular file.
  case file
  /// A folder.
  case folder
  /// A symbolic link.
  case link
  /// A pipe, socket or device.
  case other

  /// The word with its article, for messages.
  public var phrase: String {
    switch self {
    case .file: "a file"
    case .folder: "a folder"
    case .link: "a symbolic link"
    case .other: "a pipe, socket or device"
    }
  }
}

/// The numbers by which a file is known again after a rename, as long as it is not written anew.
///
/// An inode number is used again soon after its file is gone, so the birth time goes with it where there is one.
public struct FileIdentity: Sendable, Hashable {
  /// The inode number.
  public var inode: UInt64
  /// When the inode was made; nil on file systems that do not remember it.
  public var born: FileTime?

  /// Makes an identity from its two parts.
  public init(inode: UInt64, born: FileTime?) {
    self.inode = inode
    self.born = born
  }
}

/// The four numbers that say, without reading, whether a file may have changed.
///
/// A change time cannot be set by a program, so content that was changed under an old modification time still shows.
public struct FileStamp: Sendable, Hashable {
  /// Bytes.
  public var size: Int64
  /// Modification time, which any program may set.
  public var modified: FileTime
  /// Change time of the inode, kept by the kernel.
  public var changed: FileTime
  /// The inode number.
  public var inode: UInt64

  /// Makes a stamp from its four numbers.
  public init(size: Int64, modified: FileTime, changed: FileTime, inode: UInt64) {
    self.size = size
    self.modified = modified
    self.changed = changed
    self.inode = inode
  }
}

/// What the kernel says of one directory entry.
public struct FileStatus: Sendable, Hashable {
  /// What the entry is.
  public var kind: FileKind
  /// Bytes.
  public var size: Int64
  /// Modification time, which any program may set.
  public var modified: FileTime
  /// Change time of the inode, kept by the kernel.
  public var changed: FileTime
  /// When the inode was made; nil where the file system does not say.
  public var born: FileTime?
  /// The inode number.
  public var inode: UInt64
  /// The device number; says nothing about whether a rename can work (bind mounts, subvolumes).
  public var device: UInt64
  /// The kernel's number of the mount, 0 where it does not say; it means something within one run only.
  public var mount: UInt64
  /// Permission bits, without the kind.
  public var mode: UInt32
  /// User id of the owner.
  public var owner: UInt32
  /// Group id.
  public var group: UInt32
  /// How many names the file has.
  public var links: UInt32

  /// Makes a status; the defaults are those of an ordinary file of user 0.
  public init(
    kind: FileKind, size: Int64, modified: FileTime, changed: FileTime, born: FileTime?, inode: UInt64,
    device: UInt64 = 0, mount: UInt64 = 0, mode: UInt32 = 0o644, owner: UInt32 = 0, group: UInt32 = 0,
    links: UInt32 = 1
  ) {
    self.kind = kind
    self.size = size
    self.modified = modified
    self.changed = changed
    self.born = born
    self.inode = inode
    self.device = device
    self.mount = mount
    self.mode = mode
    self.owner = owner
    self.group = group
    self.links = links
  }

  /// The inode and its birth time.
  public var identity: FileIdentity { FileIdentity(inode: inode, born: born) }

  /// The numbers that tell a changed file from an unchanged one.
  public var stamp: FileStamp { FileStamp(size: size, modified: modified, changed: changed, inode: inode) }

  /// True for a modification time within the first day of 1970: a copy tool was interrupted and the file is not whole.
  public var isMarkedUnfinished: Bool { modified.nanoseconds >= 0 && modified.nanoseconds < 86_400 * 1_000_000_000 }
}

/// One entry of a folder with its status.
public struct FolderEntry: Sendable, Hashable {
  /// The name inside its folder.
  public var name: String
  /// What the kernel says of it.
  public var status: FileStatus

  /// Makes an entry.
  public init(name: String, status: FileStatus) {
    self.name = name
    self.status = status
  }
}

/// Everything that one pass over a folder found.
public struct FolderListing: Sendable {
  /// The folder itself, as it was when the listing began.
  public var folder: FileStatus
  /// The entries in the order of the file system, without `.` and `..`.
  public var entries: [FolderEntry]
  /// Names that are not UTF-8, which no path in a workspace can carry.
  public var unreadableNames: [[UInt8]]
  /// False when the folder changed while it was listed, so that a file renamed meanwhile may be missing or double.
  public var isSteady: Bool

  /// Makes a listing.
  public init(folder: FileStatus, entries: [FolderEntry], unreadableNames: [[UInt8]] = [], isSteady: Bool = true) {
    self.folder = folder
    self.entries = entries
    self.unreadableNames = unreadableNames
    self.isSteady = isSteady
  }
}

/// A file's bytes with the status that held before and after they were read.
public struct FileContent: Sendable {
  /// The whole content.
  public var bytes: [UInt8]
  /// The status that held before and after.
  public var status: FileStatus

  /// Makes a content.
  public init(bytes: [UInt8], status: FileStatus) {
    self.bytes = bytes
    self.status = status
  }

  /// The hash of the bytes.
  public var hash: ContentHash { ContentHash(of: bytes) }
}

extension FileIdentity {
  /// The identity as it is kept.
  var text: String { "\(inode) \(born.map { String($0.nanoseconds) } ?? "-")" }

  init?(text: String) {
    let words = text.split(separator: " ")
    guard words.count == 2, let inode = UInt64(words[0]) else { return nil }
    self.init(inode: inode, born: Int64(words[1]).map { FileTime(nanoseconds: $0) })
  }
}
