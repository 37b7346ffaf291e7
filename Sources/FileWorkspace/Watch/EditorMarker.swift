/// The files by which editors say that they have a file open.
///
/// vim's swap file `.NAME.swp` (further sessions take `.swo`, `.swn` and so on), the lock links `.#NAME` of emacs and
/// joe, LibreOffice's `.~lock.NAME#`. Writing a file that an editor shows makes it warn at the next save, or overwrite.
public enum EditorMarker {
  /// Tells for each file in a listing that is open in an editor which marker says so.
  ///
  /// - Parameter names: All names of one folder.
  /// - Returns: The marker's name by the file's name; only files of the listing.
  /// - Complexity: O(n).
  public static func marked(among names: some Sequence<String>) -> [PathKey: String] {
    let names = Array(names)
    let marked = markers(among: names)
    if marked.isEmpty { return [:] }
    let present = Set(names.map(PathKey.init))
    return marked.filter { present.contains($0.key) }
  }

  /// The markers in a listing by the names of the files they are for, whether those are there or not.
  static func markers(among names: some Sequence<String>) -> [PathKey: String] {
    var markers: [PathKey: String] = [:]
    for marker in names {
      guard let file = file(markedBy: marker) else { continue }
      markers[PathKey(file)] = marker
    }
    return markers
  }

  /// Asks for one file whether an editor has it open, without listing its folder.
  ///
  /// Knows the first four of vim's swap names; a fifth session of one file whose first four have ended goes unnoticed.
  ///
  /// - Returns: The marker's path; nil when there is none or it cannot be told.
  public static func name(for path: String, in files: any FileSystem) -> String? {
    let folder = WorkspacePath.folder(of: path)
    let name = WorkspacePath.name(of: path)
    let names = ["swp", "swo", "swn", "swm"].map { ".\(name).\($0)" } + [".#\(name)", ".~lock.\(name)#"]
    for candidate in names {
      let marker = WorkspacePath.joined(folder, candidate)
      if let status = try? files.status(marker), status.kind == .file || status.kind == .link { return marker }
    }
    return nil
  }

  /// The file that a name is a marker for; nil for a name that is no marker.
  public static func file(markedBy name: String) -> String? {
    if name.hasPrefix(".~lock."), name.hasSuffix("#") { return nonEmpty(name.dropFirst(7).dropLast()) }
    if name.hasPrefix(".#") { return nonEmpty(name.dropFirst(2)) }
    guard name.hasPrefix("."), let dot = name.lastIndex(of: ".") else { return nil }
    let ending = name[name.index(after: dot)...]
    guard ending.count == 3, ending.hasPrefix("sw"), let last = ending.last, ("a"..."z").contains(last) else {
      return nil
    }
    return dot == name.startIndex ? nil : nonEmpty(name[name.index(after: name.startIndex)..<dot])
  }

  private static func nonEmpty(_ text: Substring) -> String? { text.isEmpty ? nil : String(text) }
}
