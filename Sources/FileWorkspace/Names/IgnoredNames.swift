extension FileNames {
  /// Whether a name is one that editors, browsers, copy tools and systems leave beside real files: never a row or a
  /// photo, and never touched.
  public static func isIgnored(_ name: String) -> Bool {
    guard let first = name.utf8.first else { return true }
    // Swap, undo, lock and temporary files of most programs, O_TMPFILE's "#123", and macOS's and NFS's leftovers.
    if first == UInt8(ascii: ".") || first == UInt8(ascii: "#") { return true }
    if name.utf8.last == UInt8(ascii: "~") { return true }
    let lowered = asciiLowered(name)
    if ignoredNames.contains(lowered) { return true }
    // By their bytes: `hasSuffix` and `contains` compare characters, which takes a hundred times as long.
    let bytes = Array(lowered.utf8)
    if ignoredEndings.contains(where: { bytes.count >= $0.count && bytes.suffix($0.count).elementsEqual($0) }) {
      return true
    }
    if holdsConflictMark(bytes) { return true }
    return isTemporary(name)
  }

  /// Vim tries whether it may write with "4913"; the others belong to Windows.
  private static let ignoredNames: Set<String> = ["4913", "thumbs.db", "desktop.ini"]

  private static let ignoredEndings: [[UInt8]] = [
    ".tmp", ".orig", ".rej", ".bak", ".part", ".partial", ".crdownload", ".download", ".swp", ".swo", ".swx",
    "_exiftool_tmp", "_original", "___jb_tmp___", "___jb_old___", ".osl-tmp", ".kate-swp", ".vsctmp",
  ].map { Array($0.utf8) }

  /// What Syncthing puts into the names of its copies.
  private static let conflictMark = Array(".sync-conflict-".utf8)

  private static func holdsConflictMark(_ name: [UInt8]) -> Bool {
    name.indices.contains { name[$0] == conflictMark[0] && name[$0...].starts(with: conflictMark) }
  }

  /// Names with six random letters or digits, as mkstemp makes them: sed, emacs, perl, patch and Qt.
  private static func isTemporary(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    guard bytes.count > 6, bytes.suffix(6).allSatisfy(isLetterOrDigit) else { return false }
    let head = bytes.dropLast(6)
    if ["sed", "tmp", "XX"].contains(where: { head.elementsEqual($0.utf8) }) { return true }
    // "t.json.oAbCdEf" of patch and "t.json.AbCdEf" of Qt: always behind a whole file name.
    guard let dot = head.lastIndex(of: UInt8(ascii: ".")) else { return false }
    let marker = head[(dot + 1)...]
    guard marker.isEmpty || marker.elementsEqual("o".utf8) else { return false }
    return head[..<dot].dropFirst().contains(UInt8(ascii: "."))
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}
