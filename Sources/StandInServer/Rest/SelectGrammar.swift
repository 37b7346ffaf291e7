/// PostgREST's grammar of `select=`: `id,name:title,done::text,detail->>colour,photos:task_photos!inner(id)`.
enum SelectGrammar {
  static func items(_ text: String) throws(RestError) -> [SelectItem] {
    var scanner = QueryScanner("select parameter", text)
    let items = try items(&scanner, depth: 0)
    guard scanner.isAtEnd else { throw scanner.failure(expecting: "\",\" or end of input") }
    return items
  }

  /// Deeper nesting is refused rather than answered from an overflown stack.
  private static let depthMax = 20

  private static let aggregates = ["avg", "count", "max", "min", "sum"]

  private static func items(_ scanner: inout QueryScanner, depth: Int) throws(RestError) -> [SelectItem] {
    guard depth <= depthMax else { throw scanner.failure(expecting: "at most \(depthMax) levels") }
    var items: [SelectItem] = []
    repeat {
      scanner.skipBlanks()
      items.append(try item(&scanner, depth: depth))
      scanner.skipBlanks()
    } while scanner.take(",")
    return items
  }

  private static func item(_ scanner: inout QueryScanner, depth: Int) throws(RestError) -> SelectItem {
    if scanner.take("*") {
      guard scanner.isAtEnd || scanner.next == "," || scanner.next == ")" else {
        throw scanner.failure(expecting: "\")\", \",\" or end of input")
      }
      return .everything
    }
    if scanner.take("...") {
      let name = try scanner.fieldName()
      guard let relation = try relation(&scanner, name, alias: nil, isSpread: true, depth: depth) else {
        throw scanner.failure(expecting: "\"(\"")
      }
      return .relation(relation)
    }
    let alias = try scanner.attempt { (scanner) throws(RestError) -> String? in
      guard let name = try? scanner.fieldName(), scanner.take(":"), scanner.next != ":" else { return nil }
      return name
    }
    scanner.skipBlanks()
    let field = try scanner.field()
    if field.path.isEmpty, field.column == "count", scanner.take("()") {
      try takeCast(&scanner)
      return .aggregate
    }
    if field.path.isEmpty, let found = try relation(&scanner, field.column, alias: alias, isSpread: false, depth: depth)
    {
      return .relation(found)
    }
    var cast: String?
    if scanner.take("::") { cast = try scanner.fieldName() }
    if scanner.take(".") {
      let word = scanner.until(["("])
      guard aggregates.contains(word), scanner.take("()") else {
        throw scanner.failure(expecting: "an aggregate function")
      }
      try takeCast(&scanner)
      return .aggregate
    }
    guard scanner.isAtEnd || scanner.next == "," || scanner.next == ")" || scanner.next == " " else {
      throw scanner.failure(
        expecting: "letter, digit, \"-\", \"->>\", \"->\", \"::\", \".\", \")\", \",\" or end of input")
    }
    return .field(field, alias: alias, cast: cast)
  }

  private static func takeCast(_ scanner: inout QueryScanner) throws(RestError) {
    if scanner.take("::") { _ = try scanner.fieldName() }
  }

  /// `!hint!inner(…)` behind a name, or `nil` when neither a hint nor a parenthesis follows.
  private static func relation(
    _ scanner: inout QueryScanner, _ name: String, alias: String?, isSpread: Bool, depth: Int
  ) throws(RestError) -> SelectedRelation? {
    var hint: String?
    var isInner: Bool?
    var count = 0
    while count < 2, scanner.take("!") {
      count += 1
      let word = try scanner.fieldName()
      switch word {
      case "inner": isInner = isInner ?? true
      case "left": isInner = isInner ?? false
      default: hint = hint ?? word
      }
    }
    guard scanner.take("(") else {
      guard count == 0 else { throw scanner.failure(expecting: "\"(\"") }
      return nil
    }
    scanner.skipBlanks()
    let select = scanner.next == ")" ? [] : try items(&scanner, depth: depth + 1)
    guard scanner.take(")") else { throw scanner.failure(expecting: "\")\", \",\" or end of input") }
    return SelectedRelation(
      name: name, alias: alias, hint: hint, isInner: isInner ?? false, isSpread: isSpread, select: select)
  }
}
