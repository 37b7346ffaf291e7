/// What a name in a collection folder stands for.
public enum NameKind: Sendable, Hashable {
  /// A row's file.
  case row
  /// A side file of the row whose main file is `main`.
  case sideFile(SideFileKind, main: String)
  /// A note that says why `main` cannot be read.
  case problemNote(main: String)
  /// A temporary, backup or lock file, or one that the system or an editor hides.
  case ignored
  /// Anything else: not a row, and not to be touched.
  case other
}

/// The files that stand beside a row's file and wait for a person.
public enum SideFileKind: String, Sendable, Hashable, CaseIterable {
  /// The person's version where two changed the same thing.
  case mine
  /// The person's version of a write that the server refused.
  case refused
  /// The person's version of a row whose delete met a change.
  case deleted
}

extension FileNames {
  /// What a name directly in a collection folder stands for.
  ///
  /// Endings are compared whatever their case, because some file systems do.
  public static func kind(of name: String) -> NameKind {
    if isIgnored(name) { return .ignored }
    let lowered = asciiLowered(name)
    for kind in SideFileKind.allCases where lowered.hasSuffix(".\(kind.rawValue).json") {
      let stem = name.dropLast(kind.rawValue.utf8.count + 6)
      if !stem.isEmpty { return .sideFile(kind, main: stem + ".json") }
    }
    if lowered.hasSuffix(".problem.txt") {
      let stem = name.dropLast(12)
      if !stem.isEmpty { return .problemNote(main: stem + ".json") }
    }
    return name.hasSuffix(".json") ? .row : .other
  }

  /// Whether a name directly in a collection folder is a row's file.
  public static func isRowFile(_ name: String) -> Bool { kind(of: name) == .row }

  /// The name of a side file: `x.mine.json` for `x.json`.
  public static func sideFile(_ kind: SideFileKind, of main: String) -> String {
    "\(stem(of: main)).\(kind.rawValue).json"
  }

  /// The name of the note about a file that cannot be read: `x.problem.txt` for `x.json`.
  public static func problemNote(of main: String) -> String { stem(of: main) + ".problem.txt" }

  /// The name without `.json`.
  private static func stem(of main: String) -> String {
    main.hasSuffix(".json") ? String(main.dropLast(5)) : main
  }

  static func asciiLowered(_ text: String) -> String {
    String(decoding: text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
