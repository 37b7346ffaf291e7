/// The lines of .gitattributes by which git has the files of rows merged column by column.
public enum GitAttributes {
  /// The file, directly in the workspace; its patterns mean the folder in which it lies, wherever the repository's root is.
  public static let fileName = ".gitattributes"
  /// The merge driver's name in git's configuration.
  public static let driver = "tidemark"

  /// The line for a collection's files.
  static func line(for folder: String) -> String { "\(pattern(for: folder)) merge=\(driver)" }

  /// The text with a line for every folder that has none yet; nil where nothing is missing.
  ///
  /// A line of the person's own that says how these files are merged stays the last word.
  public static func adding(_ folders: [String], to text: String?) -> String? {
    let text = text ?? ""
    let lines = text.split(whereSeparator: \.isNewline)
    let missing = folders.filter { folder in
      let pattern = pattern(for: folder)
      return !lines.contains { line in
        guard line.hasPrefix(pattern + " ") || line.hasPrefix(pattern + "\t") else { return false }
        let words = line.dropFirst(pattern.count).split { $0 == " " || $0 == "\t" }
        return words.contains { ["merge", "-merge", "!merge", "binary"].contains($0) || $0.hasPrefix("merge=") }
      }
    }
    guard !missing.isEmpty else { return nil }
    let end = text.utf8.contains(UInt8(ascii: "\r")) ? "\r\n" : "\n"
    var added = text.isEmpty || text.last?.isNewline ?? false ? text : text + end
    if !text.isEmpty { added += end }
    added += "# Rows are merged column by column; 'tidemark merge-driver --install' tells git how." + end
    for folder in missing { added += line(for: folder) + end }
    return added
  }

  /// A pattern that means the JSON files directly in a folder, whatever characters its name has.
  private static func pattern(for folder: String) -> String {
    var escaped = ""
    for character in folder {
      if "*?[\\".contains(character) { escaped.append("\\") }
      escaped.append(character)
    }
    let pattern = "/\(escaped)/*.json"
    guard pattern.contains(where: { $0 == " " || $0 == "\t" || $0 == "\"" }) else { return pattern }
    return "\"" + pattern.reduce(into: "") { $0 += $1 == "\\" || $1 == "\"" ? "\\\($1)" : String($1) } + "\""
  }
}
