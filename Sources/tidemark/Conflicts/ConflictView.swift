import FileWorkspace
import LosslessJSON
import OfflineEngine

/// A conflict as lines of a terminal: what the person saw, what they set, and what the server has, column by column.
///
/// Short values stand beside each other in a table. Where one is long, both sides stand beside each other (or below each
/// other on a narrow terminal), each with what it removed from the base and added to it.
struct ConflictView {
  /// How many cells a line may take.
  var width: Int
  /// Whether colours may be used.
  var isColored: Bool

  private static let indent = "    "
  /// The least cells in which a side can be read beside the other.
  private static let sideLeast = 28
  /// What a value of a table may take.
  private static let cellMax = 40

  func lines(of entry: ConflictEntry) -> [String] {
    let shape = Shape(entry)
    let columns = entry.columns.map { ShownColumn($0, shape) }
    let fitting = fitting(columns, shape)
    var lines = heading(entry, shape)
    lines += table(columns.filter { fitting.contains($0.name) }, shape)
    for column in columns where !fitting.contains(column.name) { lines += long(column, shape) }
    if columns.isEmpty { lines.append(Self.indent + "no column of yours differs") }
    return lines
  }

  private func heading(_ entry: ConflictEntry, _ shape: Shape) -> [String] {
    let write = entry.mutation.write
    let place = Terminal.safe(entry.path ?? "\(write.table) \(write.key.text)")
    let when = entry.mutation.conflictedAt.text
    var texts = ["\(entry.mutation.id)  \(write.operation.word)  \(bold(place))  met at \(when)"]
    texts.append(Self.indent + Terminal.safe(entry.mutation.message))
    texts.append(Self.indent + shape.sentence)
    if let side = entry.side { texts.append(Self.indent + "yours is in \(Terminal.safe(side))") }
    return texts
  }

  // MARK: Short values

  /// The columns whose values all fit into a table of the terminal's width.
  private func fitting(_ columns: [ShownColumn], _ shape: Shape) -> Set<String> {
    var fitting = columns.filter { column in
      column.cells(shape).allSatisfy { !$0.contains("\n") && TextWidth.of(Terminal.safe($0)) <= Self.cellMax }
    }
    // The widest goes, until the rest fits.
    while !fitting.isEmpty, tableWidth(fitting, shape) > width {
      let widest = fitting.indices.max { fitting[$0].widest(shape) < fitting[$1].widest(shape) } ?? 0
      fitting.remove(at: widest)
    }
    return Set(fitting.map(\.name))
  }

  private func rows(_ columns: [ShownColumn], _ shape: Shape) -> [[String]] {
    [["", "column"] + shape.titles] + columns.map { [$0.isDisputed ? "*" : " ", $0.name] + $0.cells(shape) }
  }

  private func tableWidth(_ columns: [ShownColumn], _ shape: Shape) -> Int {
    TextTable.lines(rows(columns, shape), indent: Self.indent).map(TextWidth.of).max() ?? 0
  }

  private func table(_ columns: [ShownColumn], _ shape: Shape) -> [String] {
    guard !columns.isEmpty else { return [] }
    var lines = TextTable.lines(rows(columns, shape), indent: Self.indent)
    lines[0] = dim(lines[0])
    return lines
  }

  // MARK: Long values

  private func long(_ column: ShownColumn, _ shape: Shape) -> [String] {
    let name = Self.indent + (column.isDisputed ? "*" : " ") + "  " + bold(Terminal.safe(column.name))
    let margin = Self.indent + "   "
    let room = max(10, width - margin.count)
    let sides = column.sides(shape)
    let side = (room - 3) / 2
    let isBeside =
      sides.count == 2 && side >= Self.sideLeast && !sides.contains { TextWidth.isRightToLeft($0.to + ($0.from ?? "")) }
    let blocks = sides.map { side in
      side.from.map { MarkedText(WordDiff(from: $0, to: side.to), isColored: isColored) } ?? MarkedText(side.to)
    }
    guard isBeside else {
      return [name]
        + zip(sides, blocks).flatMap { side, block in
          [margin + dim(side.title + ":")]
            + block.lines(width: room - 2, isColored: isColored).map { margin + "  " + $0.text }
        }
    }
    let titles = sides.map { MarkedLine(text: dim($0.title), width: $0.title.count) }
    let (left, right) = (
      [titles[0]] + blocks[0].lines(width: side, isColored: isColored),
      [titles[1]] + blocks[1].lines(width: side, isColored: isColored)
    )
    return [name]
      + (0..<max(left.count, right.count)).map { row in
        let first = row < left.count ? left[row] : MarkedLine(text: "", width: 0)
        let second = row < right.count ? right[row].text : ""
        let gap = String(repeating: " ", count: max(0, side - first.width))
        let line = margin + first.text + gap + " │" + (second.isEmpty ? "" : " " + second)
        return line
      }
  }

  private func bold(_ text: String) -> String { isColored ? "\u{1B}[1m\(text)\u{1B}[0m" : text }

  private func dim(_ text: String) -> String { isColored ? "\u{1B}[2m\(text)\u{1B}[0m" : text }
}

/// Which of the three versions there are.
private enum Shape {
  /// Both have values.
  case both
  /// The person deleted the row, and somebody changed it.
  case deletedHere
  /// The person changed the row, and somebody deleted it.
  case gone

  init(_ entry: ConflictEntry) {
    self =
      entry.mutation.write.operation == .delete ? .deletedHere : entry.mutation.server == nil ? .gone : .both
  }

  var titles: [String] {
    switch self {
    case .both: ["base", "mine", "theirs"]
    case .deletedHere: ["base", "theirs"]
    case .gone: ["base", "mine"]
    }
  }

  var sentence: String {
    switch self {
    case .both: "both of you changed the columns with a *"
    case .deletedHere: "mine: you deleted the row; theirs: the changes below"
    case .gone: "mine: the changes below; theirs: the row was deleted"
    }
  }
}

/// A column of a conflict in words.
private struct ShownColumn {
  var name: String
  var isDisputed: Bool
  private let base: JSONValue?
  private let mine: JSONValue?
  private let theirs: JSONValue?

  init(_ column: ConflictEntry.Column, _ shape: Shape) {
    (name, isDisputed) = (column.name, column.isDisputed)
    (base, mine, theirs) = (column.base, column.mine, column.theirs)
  }

  /// The values as cells of a table.
  func cells(_ shape: Shape) -> [String] {
    let all = [
      base?.serialized() ?? "(unknown)", mine?.serialized() ?? "(unset)", theirs?.serialized() ?? "(unset)",
    ]
    switch shape {
    case .both: return all
    case .deletedHere: return [all[0], all[2]]
    case .gone: return [all[0], all[1]]
    }
  }

  func widest(_ shape: Shape) -> Int { cells(shape).map { TextWidth.of(Terminal.safe($0)) }.max() ?? 0 }

  /// A version beside that from which it was made.
  struct Side {
    var title: String
    var from: String?
    var to: String
  }

  /// The versions that there are, each beside the base; beside each other where the base is not known.
  func sides(_ shape: Shape) -> [Side] {
    let (mineText, theirsText) = (Self.text(mine), Self.text(theirs))
    guard let base = base.map(Self.text) else {
      switch shape {
      case .both:
        return [Side(title: "mine", to: mineText), Side(title: "theirs, beside mine", from: mineText, to: theirsText)]
      case .deletedHere: return [Side(title: "theirs", to: theirsText)]
      case .gone: return [Side(title: "mine", to: mineText)]
      }
    }
    let (left, right) = (
      Side(title: "mine, from base", from: base, to: mineText),
      Side(title: "theirs, from base", from: base, to: theirsText)
    )
    switch shape {
    case .both: return [left, right]
    case .deletedHere: return [right]
    case .gone: return [left]
    }
  }

  /// A value to be read: a text with its own line ends, in quotes, anything else as JSON.
  private static func text(_ value: JSONValue?) -> String {
    guard let value else { return "(unset)" }
    if let text = value.stringValue { return "\"\(text)\"" }
    return value.serialized(.pretty)
  }
}
