import LosslessJSON
import SQLite

/// One call of a function, read and ready to run.
struct FunctionTask: Sendable {
  let service: RestService
  let request: StandInRequest
  let function: StoredFunction
  let arguments: [String: SQLiteValue]
  let plan: ReadPlan
  let range: RowRange
  let preferences: Preferences
  let media: MediaType
  let caller: Caller
  let now: Timestamp
  let profile: String?

  /// Whether it runs in a transaction that may not write, as PostgREST chooses.
  private var isReadOnly: Bool {
    request.method == "GET" || request.method == "HEAD" || function.volatility != .volatile
  }

  /// Runs it in a transaction of its own.
  func run(in database: Database) throws -> StandInAnswer {
    let journal = ChangeJournal()
    // Within one transaction the function and the filters on its rows see the same state.
    let answer = try database.transaction {
      let answer = try self.answer(database, journal)
      guard preferences.rollsBack == true, service.allowsRollback else { return answer }
      throw RolledBack(answer: answer)
    }
    service.publish(journal.changes)
    return answer
  }

  private func answer(_ database: Database, _ journal: ChangeJournal) throws -> StandInAnswer {
    try checkOrder()
    let context = ReadQuery.Context(caller: caller, schema: service.schema, now: now)
    // The function's own rows come later: what is asked of them is looked at first.
    _ = try ReadQuery(plan, context, source: SQLText(sql: "nothing"))
    guard function.grants.contains(caller.role) else {
      throw DatabaseFault("42501", "permission denied for function \(function.name)")
    }
    let run = FunctionRun(
      function: function, arguments: arguments, database: database, service: service,
      caller: function.isDefiner ? Caller(role: .service, subject: caller.subject) : caller, now: now,
      isReadOnly: isReadOnly, journal: journal)
    let source = try run.rows()
    let read = try ReadQuery(plan, context, source: source)
    try read.checkGrants()
    let answer = try ReadAnswer(
      request: request, range: range, preferences: preferences, media: media, profile: profile,
      allowsRollback: service.allowsRollback, function: function
    ).answer(read, in: database)
    guard function.returns == .void else { return answer }
    return StandInAnswer(
      status: 204, fields: answer.fields.filter { $0.name != "Content-Type" && $0.name != "Content-Profile" })
  }

  /// PostgREST fetches from a function only the columns that are selected, filtered or needed to embed.
  private func checkOrder() throws(DatabaseFault) {
    var known: Set<String> = []
    for item in plan.select {
      switch item {
      case .everything: return
      case .field(let field, _, _): known.insert(field.column)
      case .relation, .aggregate: continue
      }
    }
    if plan.select.isEmpty, plan.children.isEmpty { return }
    for filter in plan.filters { Self.addColumns(of: filter, to: &known) }
    for child in plan.children { known.formUnion(child.relationship?.columns.map(\.own) ?? []) }
    for term in plan.order where term.relation == nil && !known.contains(term.field.column) {
      throw DatabaseFault("42703", "column \(plan.table.name).\(term.field.column) does not exist")
    }
  }

  private static func addColumns(of node: FilterNode, to known: inout Set<String>) {
    switch node {
    case .condition(let field, _, _): known.insert(field.column)
    case .group(_, _, let nodes): for node in nodes { addColumns(of: node, to: &known) }
    }
  }
}
