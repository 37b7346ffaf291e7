/// What was probably meant by a word that is none of those known.
enum Spelling {
  /// The nearest of `words`, where one is near enough: a letter missing, added, changed or in its neighbour's place
  /// counts one, and a third of the word may be wrong.
  static func nearest(to word: String, among words: [String]) -> String? {
    let limit = max(1, word.count / 3)
    return words.map { (word: $0, distance: distance(word, $0)) }.filter { $0.distance <= limit }
      .min { $0.distance < $1.distance }?.word
  }

  /// `; did you mean '…'?`, or nothing.
  static func question(_ word: String, among words: [String]) -> String {
    nearest(to: word, among: words).map { "; did you mean '\($0)'?" } ?? ""
  }

  /// The optimal string alignment distance.
  private static func distance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left), Array(right))
    var rows = [Array(0...right.count)]
    for (i, letter) in left.enumerated() {
      var row = [i + 1]
      for (j, other) in right.enumerated() {
        var best = min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (letter == other ? 0 : 1))
        if i > 0, j > 0, letter == right[j - 1], left[i - 1] == other { best = min(best, rows[i - 1][j - 1] + 1) }
        row.append(best)
      }
      rows.append(row)
    }
    return rows[left.count][right.count]
  }
}
