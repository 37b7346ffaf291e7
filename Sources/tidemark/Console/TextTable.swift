/// Rows of words in columns of even width.
enum TextTable {
  /// A longer cell pushes only its own line aside, not everybody's.
  private static let widthMax = 60

  /// The lines, without spaces at their ends; every cell is escaped.
  static func lines(_ rows: [[String]], indent: String = "") -> [String] {
    let rows = rows.map { $0.map(Terminal.safe) }
    var widths: [Int] = []
    for row in rows {
      for (column, cell) in row.enumerated() {
        if column == widths.count { widths.append(0) }
        if TextWidth.of(cell) <= widthMax { widths[column] = max(widths[column], TextWidth.of(cell)) }
      }
    }
    return rows.map { row in
      let cells = row.enumerated().map { column, cell in
        column == row.count - 1
          ? cell : cell + String(repeating: " ", count: max(0, widths[column] - TextWidth.of(cell)))
      }
      var line = indent + cells.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
