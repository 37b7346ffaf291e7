import LosslessJSON

/// The settings of one person on one machine, for all their workspaces.
///
/// ```json
/// {"mergeTool": ["meld", "$MINE", "$BASE", "$THEIRS", "-o", "$MERGED"]}
/// ```
///
/// What names a program stands here and never in tidemark.json, which comes with a clone: nobody else may choose what runs.
public struct UserSettings: Sendable, Hashable {
  /// The program that brings the versions of a conflict together, and its words; nil for the editor.
  public var mergeTool: [String]?

  /// The file's place below the person's folder of settings.
  public static let path = "tidemark/settings.json"

  /// The files that a merge tool is given: names that stand for them in its words.
  public static let mergeFiles = ["BASE", "MINE", "THEIRS", "MERGED"]

  /// Settings in which nothing is set.
  public init() {}

  /// Reads the bytes of the file.
  ///
  /// - Throws: `SettingsError` with the place of the first mistake.
  public init(parsing bytes: [UInt8]) throws(SettingsError) {
    let root = try SettingsNode(parsing: bytes)
    try root.requireObject(of: ["mergeTool"])
    mergeTool = try root["mergeTool"].map(Self.mergeTool)
  }

  private static func mergeTool(_ node: SettingsNode) throws(SettingsError) -> [String] {
    let what = "a program and its words, such as [\"meld\", \"$MINE\", \"$BASE\", \"$THEIRS\", \"-o\", \"$MERGED\"]"
    var words: [String] = []
    var isTold = false
    for element in try node.elements(what) {
      let word = try element.text("a word of the command")
      if word.unicodeScalars.contains("\0") { throw element.error("a word cannot hold \\u0000") }
      for name in variables(in: word) {
        guard mergeFiles.contains(name) else {
          let known = mergeFiles.map { "$" + $0 }.joined(separator: ", ")
          throw element.error("unknown file \(JSONError.quoted("$" + name)); expected one of \(known)")
        }
        isTold = isTold || name == "MERGED"
      }
      words.append(word)
    }
    if words.isEmpty { throw node.error("no words; expected \(what)") }
    if !isTold { throw node.error("the tool is not told where the result goes; expected \"$MERGED\" among its words") }
    return words
  }

  /// The names behind a dollar sign in a word.
  private static func variables(in word: String) -> [String] {
    word.split(separator: "$", omittingEmptySubsequences: false).dropFirst()
      .map { String($0.prefix { $0.isASCII && ($0.isUppercase || $0 == "_") }) }.filter { !$0.isEmpty }
  }

  /// The words of the merge tool with the files' paths in the places of their names.
  public func mergeToolWords(_ paths: [String: String]) -> [String]? {
    mergeTool?.map { word in
      var parts = word.split(separator: "$", omittingEmptySubsequences: false).map(String.init)
      for index in parts.indices.dropFirst() {
        let name = String(parts[index].prefix { $0.isASCII && ($0.isUppercase || $0 == "_") })
        parts[index] = paths[name].map { $0 + parts[index].dropFirst(name.count) } ?? "$" + parts[index]
      }
      return parts.joined()
    }
  }

  /// The JSON Schema of the file.
  public static let schema: JSONValue = [
    "$schema": "http://json-schema.org/draft-07/schema#", "title": "Tidemark, for one person", "type": "object",
    "properties": [
      "mergeTool": [
        "description":
          "The program for 'tidemark resolve --edit' and its words, with $BASE, $MINE, $THEIRS and $MERGED for the files.",
        "type": "array", "minItems": 1, "items": ["type": "string", "pattern": "\\S"],
        "contains": ["type": "string", "pattern": "\\$MERGED"],
      ]
    ],
    "patternProperties": ["^\\$": true], "additionalProperties": false,
  ]
}
