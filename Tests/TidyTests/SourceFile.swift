import Foundation

/// A Swift file of the project, as text.
struct SourceFile {
  /// From `Sources` on: `OfflineEngine/Wake.swift`.
  var path: String
  /// The lines without comments and without what stands in quotes.
  var lines: [Substring]

  var module: String { String(path.prefix { $0 != "/" }) }

  /// What the file imports.
  var imports: [String] {
    lines.compactMap { line in
      let words = line.split(separator: " ")
      guard let place = words.firstIndex(of: "import"),
        words[..<place].allSatisfy({ $0.first == "@" || $0 == "public" })
      else { return nil }
      return words.last.map(String.init)
    }
  }

  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// Every file below `Sources`.
  static let all: [SourceFile] = {
    let sources = root.appending(path: "Sources")
    let paths =
      FileManager.default.enumerator(atPath: sources.path(percentEncoded: false))?.compactMap { $0 as? String } ?? []
    return paths.filter { $0.hasSuffix(".swift") }.sorted().compactMap { path in
      guard let text = try? String(contentsOf: sources.appending(path: path), encoding: .utf8) else { return nil }
      return SourceFile(path: path, lines: text.split(separator: "\n").map(code))
    }
  }()

  private static func code(_ line: Substring) -> Substring {
    var code = ""
    var isQuoted = false
    var before: Character?
    for character in line {
      if character == "\"", before != "\\" { isQuoted.toggle() }
      if !isQuoted {
        if character == "/", before == "/" { return Substring(code.dropLast()) }
        code.append(character)
      }
      before = before == "\\" ? nil : character
    }
    return Substring(code)
  }

  /// The first line with a word that does not begin in the middle of another.
  func line(with word: String) -> Substring? {
    lines.first { line in
      line.ranges(of: word).contains { range in
        guard let first = word.first, first.isLetter, range.lowerBound > line.startIndex else { return true }
        let before = line[line.index(before: range.lowerBound)]
        return !(before.isLetter || before.isNumber || before == "_" || before == ".")
      }
    }
  }
}
