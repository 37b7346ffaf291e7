/// What a request reads, resolved against the schema: the request's own table, and the tables embedded in it.
struct ReadPlan: Sendable {
  let table: Table
  /// How many tables are around it.
  let depth: Int
  /// The name that filters and answers use.
  let name: String
  /// How it is embedded; `nil` for the request's own table.
  let relationship: Relationship?
  let isInner: Bool
  let isSpread: Bool
  /// The table's own columns that are wanted.
  let select: [SelectItem]
  var filters: [FilterNode] = []
  var order: [OrderTerm] = []
  var window = Window()
  var children: [ReadPlan] = []

  /// The table's name in database errors.
  ///
  /// PostgREST calls an embedded table by its name and depth, but for one behind a junction.
  var shownName: String {
    depth == 0 || relationship?.kind == .manyToMany ? table.name : "\(table.name)_\(depth)"
  }

  /// Whether `count` alone is selected, which is no column.
  ///
  /// PostgreSQL takes `photos.count` for `count(photos)`, and so clients count related rows where aggregate functions
  /// are off.
  var countsRows: Bool {
    guard select.count == 1, children.isEmpty, case .field(let field, _, _) = select[0], field.path.isEmpty else {
      return false
    }
    return field.column == "count" && table.index(of: "count") == nil
  }

  /// A column that is selected beside `count`, which cannot be.
  var columnBesideCount: String? {
    guard table.index(of: "count") == nil, !countsRows else { return nil }
    var hasCount = false
    var beside: String?
    for item in select {
      switch item {
      case .field(let field, _, _) where field.column == "count": hasCount = true
      case .field(let field, _, _): beside = beside ?? field.column
      case .everything: beside = beside ?? table.columns.first?.name
      case .relation, .aggregate: continue
      }
    }
    return hasCount ? beside : nil
  }

  /// Whether nothing of it is shown, as in `photos()`.
  var isEmpty: Bool { select.isEmpty && children.allSatisfy(\.isEmpty) }

  /// Plans a request for a table.
  ///
  /// - Parameters:
  ///   - query: What is asked.
  ///   - table: The table, or what a function returns.
  ///   - schema: Where the related tables are.
  ///   - filtersRoot: Whether the conditions on the own table belong to the read; for a write they choose its rows.
  ///   - rowCountMax: The greatest number of rows of each table, `nil` for a write, which is never cut.
  init(
    _ query: RestQuery, of table: Table, in schema: Schema, filtersRoot: Bool, rowCountMax: Int?
  ) throws(RestError) {
    self.init(query.select, table: table)
    children = try Self.children(query.select, depth: 1)
    // The errors come in PostgREST's order: names of embedded tables first, then the relationships.
    for filter in query.filters where filtersRoot || !filter.path.isEmpty {
      try change(filter.path[...]) { $0.filters.append(filter.value) }
    }
    for order in query.order { try change(order.path[...]) { $0.order = order.value } }
    for range in query.ranges { try change(range.path[...]) { $0.window = range.value } }
    self = try resolved(to: table, in: schema, rowCountMax: rowCountMax)
    try checkRelatedOrders()
    if hasAggregate(query.select) { throw RestError(400, "PGRST123", "Use of aggregate functions is not allowed") }
  }

  private init(_ select: [SelectItem], table: Table) {
    self.table = table
    depth = 0
    name = table.name
    relationship = nil
    isInner = false
    isSpread = false
    self.select = Self.own(select)
  }

  private static func own(_ select: [SelectItem]) -> [SelectItem] {
    select.filter { if case .relation = $0 { false } else { true } }
  }

  // MARK: Embedded tables

  /// An embedded table before its relationship is known.
  private init(_ relation: SelectedRelation, depth: Int) throws(RestError) {
    table = Table(
      name: relation.name, columns: [], primaryKey: [], uniques: [], foreignKeys: [], owner: nil, version: nil,
      grants: [])
    self.depth = depth
    name = relation.alias ?? relation.name
    relationship = nil
    isInner = relation.isInner
    isSpread = relation.isSpread
    select = Self.own(relation.select)
    hint = relation.hint
    children = try Self.children(relation.select, depth: depth + 1)
  }

  private var hint: String?

  private static func children(_ select: [SelectItem], depth: Int) throws(RestError) -> [ReadPlan] {
    var children: [ReadPlan] = []
    for item in select {
      if case .relation(let relation) = item { children.append(try ReadPlan(relation, depth: depth)) }
    }
    return children
  }

  /// Changes the table at the end of a path.
  private mutating func change(_ path: ArraySlice<String>, _ body: (inout ReadPlan) -> Void) throws(RestError) {
    guard let name = path.first else {
      body(&self)
      return
    }
    guard let index = children.firstIndex(where: { $0.name == name || $0.table.name == name }) else {
      throw Self.notEmbedded(name)
    }
    try children[index].change(path.dropFirst(), body)
  }

  private static func notEmbedded(_ name: String) -> RestError {
    RestError(
      400, "PGRST108", "'\(name)' is not an embedded resource in this request",
      hint: "Verify that '\(name)' is included in the 'select' query parameter.")
  }

  /// The plan with every embedded table's relationship found.
  private func resolved(to table: Table, in schema: Schema, rowCountMax: Int?) throws(RestError) -> ReadPlan {
    var plan = self
    plan.children = []
    for child in children {
      let relationship = try Relationship.find(from: table, child.table.name, hint: child.hint, in: schema)
      let related = ReadPlan(child, by: relationship, rowCountMax: rowCountMax)
      plan.children.append(try related.resolved(to: relationship.other, in: schema, rowCountMax: rowCountMax))
    }
    return plan
  }

  private init(_ plan: ReadPlan, by relationship: Relationship, rowCountMax: Int?) {
    table = relationship.other
    depth = plan.depth
    name = plan.name
    self.relationship = relationship
    isInner = plan.isInner
    isSpread = plan.isSpread
    select = plan.select
    filters = plan.filters
    order = plan.order
    window = rowCountMax == nil ? Window() : plan.window
    window.limit = [window.limit.map { max(0, $0) }, rowCountMax].compactMap { $0 }.min()
    children = plan.children
  }

  // MARK: Checks

  private func checkRelatedOrders() throws(RestError) {
    for term in order {
      guard let relation = term.relation else { continue }
      guard let child = children.first(where: { $0.name == relation }) else { throw Self.notEmbedded(relation) }
      guard child.relationship?.isToOne == true else {
        throw RestError(
          400, "PGRST118", "A related order on '\(child.name)' is not possible",
          details: "'\(table.name)' and '\(child.name)' do not form a many-to-one or one-to-one relationship")
      }
    }
    for child in children { try child.checkRelatedOrders() }
  }

  private func hasAggregate(_ select: [SelectItem]) -> Bool {
    select.contains { item in
      switch item {
      case .aggregate: true
      case .relation(let relation): hasAggregate(relation.select)
      case .everything, .field: false
      }
    }
  }
}
