import Glibc

/// Names of photos' files.
enum PhotoNames {
  /// How names of photos end, in lower case.
  private static let endings: Set<String> = [
    "jpg", "jpeg", "jpe", "png", "webp", "gif", "heic", "heif", "avif",
  ]

  /// Whether a name looks like a photo's, whatever lies under it.
  static func looksLikePhoto(_ name: String) -> Bool {
    let (_, ending) = parts(of: name)
    return endings.contains(FileNames.asciiLowered(ending))
  }

  /// Whether a name is left alone: a temporary one, or one that the settings name.
  static func isIgnored(_ name: String, _ settings: PhotosSettings) -> Bool {
    FileNames.isIgnored(name) || settings.ignore.contains { fnmatch($0, name, 0) == 0 }
  }

  /// The name under which a photo comes into a folder.
  ///
  /// It follows from the row's name and the photo's id alone, so that it is the same on every device and at every time
  /// where the same names are taken.
  ///
  /// - Parameter isTaken: Whether a name, folded, is another file's.
  static func fileName(for name: String, id: String, isTaken: (_ folded: String) -> Bool) -> String {
    let composed = FileNames.composed(name)
    let (stem, ending) = parts(of: composed)
    guard FileNames.isSafe(composed), !FileNames.isIgnored(composed) else {
      return FileNames.fileName(title: stem, id: id, fileExtension: ending, isTaken: isTaken)
    }
    if !isTaken(FileNames.folded(composed)) { return composed }
    let dotted = ending.isEmpty ? "" : "." + ending
    for mark in [String(id.suffix(8)), id] {
      let room = 255 - mark.utf8.count - dotted.utf8.count - 1
      let marked = "\(WorkspacePath.cut(stem, bytesMax: room))-\(mark)\(dotted)"
      if !isTaken(FileNames.folded(marked)) { return marked }
    }
    return FileNames.fileName(title: stem, id: id, fileExtension: ending, isTaken: isTaken)
  }

  /// A name before its last dot and behind it.
  private static func parts(of name: String) -> (stem: String, ending: String) {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return (name, "") }
    return (String(name[..<dot]), String(name[name.index(after: dot)...]))
  }
}
