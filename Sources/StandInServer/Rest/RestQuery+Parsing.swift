extension RestQuery {
  /// Reads the query string of a request.
  ///
  /// - Parameters:
  ///   - query: The text behind the question mark.
  ///   - readsFunction: Whether a parameter without an operator is an argument of a function.
  init(parsing query: String, readsFunction: Bool = false) throws(RestError) {
    guard QueryText.isUTF8(query) else { throw RestError(400, "PGRST100", "the query string is not UTF-8") }
    let parameters = QueryText.parameters(query).compactMap { name, value in value.map { (name: name, value: $0) } }
    for (name, value) in parameters {
      let words = name.split(separator: ".", omittingEmptySubsequences: false)
      switch words.last {
      case "order": addOrder(try QueryGrammar.path(name), try QueryGrammar.order(value))
      case "limit": addRange(try QueryGrammar.path(name)) { $0.limit = $0.limit ?? Int(value) }
      case "offset":
        addRange(try QueryGrammar.path(name)) { if $0.offset == 0 { $0.offset = max(0, Int(value) ?? 0) } }
      case "and", "or":
        let before = try QueryGrammar.path(name)
        let word = "\(before.contains("not") ? "not." : "")\(words[words.count - 1])"
        filters.append(
          Placed(path: before.filter { $0 != "not" }, value: try QueryGrammar.logic("\(word)\(value)")))
      default:
        guard name != "select", name != "columns", name != "on_conflict" else { continue }
        switch try QueryGrammar.parameter(name, value, mayBeArgument: readsFunction) {
        case .filter(let path, let node): filters.append(Placed(path: path, value: node))
        case .argument(let name): arguments.append((name, value))
        }
      }
    }
    if let value = parameters.first(where: { $0.name == "select" })?.value, !value.isEmpty {
      select = try SelectGrammar.items(value)
    }
    columns = try parameters.first { $0.name == "columns" }.map { (found) throws(RestError) in
      try QueryGrammar.names("columns parameter", found.value)
    }
    onConflict = try parameters.first { $0.name == "on_conflict" }.map { (found) throws(RestError) in
      try QueryGrammar.names("on_conflict parameter", found.value)
    }
  }

  /// Of two orders for one table the first counts.
  private mutating func addOrder(_ path: [String], _ terms: [OrderTerm]) {
    guard !order.contains(where: { $0.path == path }) else { return }
    order.append(Placed(path: path, value: terms))
  }

  private mutating func addRange(_ path: [String], _ change: (inout Window) -> Void) {
    if let index = ranges.firstIndex(where: { $0.path == path }) {
      change(&ranges[index].value)
    } else {
      var window = Window()
      change(&window)
      ranges.append(Placed(path: path, value: window))
    }
  }
}
