import LosslessJSON
import Randomness
import SupabaseAPI

@testable import OfflineEngine

/// A table in memory that does what a database does, with judgements of its own.
struct ModelServer {
  static let table = TableDescription(name: "tasks", columns: [])
  static let columns = ["id", "title", "done", "rank", "at"]

  /// A row in the server's own types.
  struct Row: Equatable {
    var id: Int
    var title: String
    var done: Bool
    var rank: Int?
    var at: Int

    var json: JSONObject {
      [
        "id": .number(JSONNumber(Int64(id))), "title": .string(title), "done": .bool(done),
        "rank": rank.map { .number(JSONNumber(Int64($0))) } ?? .null, "at": .string(Self.time(at)),
      ]
    }

    static func time(_ number: Int) -> String { "2026-10-18T13:\(number / 50 + 10):\(number % 50 + 10).5+00:00" }

    mutating func set(_ change: Change) {
      if let title = change.title { self.title = title }
      if let done = change.done { self.done = done }
      if let rank = change.rank { self.rank = rank }
      if let at = change.at { self.at = at }
    }
  }

  /// Values for some columns; a rank of null is `.some(nil)`.
  struct Change {
    var title: String?
    var done: Bool?
    var rank: Int??
    var at: Int?

    var json: JSONObject {
      var json = JSONObject()
      if let title { json["title"] = .string(title) }
      if let done { json["done"] = .bool(done) }
      if let rank { json["rank"] = rank.map { .number(JSONNumber(Int64($0))) } ?? .null }
      if let at { json["at"] = .string(Row.time(at)) }
      return json
    }
  }

  /// A condition, and what it means.
  struct Condition {
    let filter: Filter
    let holds: @Sendable (Row) -> Bool
  }

  /// A query, and what it means.
  struct Query {
    var request: TableRequest
    var conditions: [Condition]
    var order: [(Order, @Sendable (Row, Row) -> Int)]

    /// The rows as the server gives them.
    func answer(_ rows: [Row]) -> [JSONObject] {
      let matching = rows.filter { row in conditions.allSatisfy { $0.holds(row) } }
      let sorted = matching.sorted { left, right in
        for (_, compare) in order {
          let sign = compare(left, right)
          if sign != 0 { return sign < 0 }
        }
        return left.id < right.id
      }
      let cut = sorted.dropFirst(request.offset ?? 0).prefix(request.limit ?? .max)
      return cut.map { request.columns.map($0.json.picking) ?? $0.json }
    }
  }

  /// A write, and what it means: it changes the rows and gives those that it wrote.
  struct ModelWrite {
    var write: Write
    let run: @Sendable (inout [Row]) -> [Row]
  }

  var rows: [Row] = []
  var clock = 0

  /// Does a write.
  ///
  /// - Returns: The rows that it wrote, deleted or changed.
  mutating func run(_ write: ModelWrite) -> [Row] { write.run(&rows) }
}

// MARK: Random queries and writes

extension ModelServer {
  static func condition(_ random: inout SeededRandom) -> Condition {
    let number = Int.random(in: 0...5, using: &random)
    let value = JSONValue.number(JSONNumber(Int64(number)))
    switch Int.random(in: 0...7, using: &random) {
    case 0: return Condition(filter: .eq("done", false)) { !$0.done }
    case 1: return Condition(filter: .is("done", .yes)) { $0.done }
    case 2: return Condition(filter: .gt("rank", value)) { $0.rank.map { $0 > number } ?? false }
    case 3: return Condition(filter: .in("rank", [value, 1])) { $0.rank == number || $0.rank == 1 }
    case 4: return Condition(filter: .is("rank", .null)) { $0.rank == nil }
    case 5: return Condition(filter: .neq("rank", value)) { $0.rank.map { $0 != number } ?? false }
    case 6:
      let time = JSONValue.string(Row.time(number * 10))
      return Condition(filter: .lt("at", time)) { $0.at < number * 10 }
    default:
      let (one, other) = (condition(&random), condition(&random))
      return random.once(in: 2)
        ? Condition(filter: .or([one.filter, other.filter])) { one.holds($0) || other.holds($0) }
        : Condition(filter: .and([one.filter, other.filter])) { one.holds($0) && other.holds($0) }
    }
  }

  static func query(_ random: inout SeededRandom) -> Query {
    let conditions = (0..<Int.random(in: 0...2, using: &random)).map { _ in condition(&random) }
    var order: [(Order, @Sendable (Row, Row) -> Int)] = []
    let nullsFirst = random.once(in: 2)
    switch Int.random(in: 0...3, using: &random) {
    case 0:
      order.append(
        (Order("rank", .ascending, nulls: nullsFirst ? .first : nil), { Self.compare($0.rank, $1.rank, nullsFirst) }))
    case 1:
      order.append(
        (
          Order("rank", .descending, nulls: nullsFirst ? nil : .last),
          { left, right in
            guard let one = left.rank, let other = right.rank else {
              return Self.compare(left.rank, right.rank, nullsFirst)
            }
            return other - one
          }
        ))
    case 2: order.append((Order("at", .descending), { $1.at - $0.at }))
    default: break
    }
    order.append((Order("id"), { $0.id - $1.id }))
    var request = TableRequest.select(
      "tasks", columns: selection(&random), filters: conditions.map(\.filter), order: order.map(\.0))
    if random.once(in: 3) { request.limit = Int.random(in: 1...6, using: &random) }
    if request.limit != nil, random.once(in: 3) { request.offset = Int.random(in: 1...3, using: &random) }
    return Query(request: request, conditions: conditions, order: order)
  }

  private static func compare(_ left: Int?, _ right: Int?, _ nullsFirst: Bool) -> Int {
    guard let left, let right else {
      if left == nil, right == nil { return 0 }
      return (left == nil) == nullsFirst ? -1 : 1
    }
    return left - right
  }

  private static func selection(_ random: inout SeededRandom) -> [String]? {
    switch Int.random(in: 0...5, using: &random) {
    case 0: ["id", "title"]
    case 1: ["id", "done", "rank", "at"]
    case 2: ["title", "done"]
    default: nil
    }
  }

  static func change(_ random: inout SeededRandom) -> Change {
    var change = Change()
    if random.once(in: 2) { change.title = "Title \(Int.random(in: 0...9, using: &random))" }
    if random.once(in: 2) { change.done = random.once(in: 2) }
    if random.once(in: 3) { change.rank = .some(random.once(in: 4) ? nil : Int.random(in: 0...5, using: &random)) }
    if random.once(in: 5) { change.at = Int.random(in: 0...59, using: &random) }
    if change.json.isEmpty { change.title = "Other" }
    return change
  }

  /// A write that the server takes.
  func write(_ random: inout SeededRandom) -> ModelWrite {
    let key = { (id: Int) in RowKey([.number(JSONNumber(Int64(id)))]) }
    let id = Int.random(in: 0...14, using: &random)
    let isThere = rows.contains { $0.id == id }
    let kind = Int.random(in: 0...5, using: &random)
    if kind == 0 || (kind == 1 && !isThere) { return inserting(id, isThere: isThere, &random) }
    var request = WriteRequest()
    if random.once(in: 2) { request.selection = random.once(in: 2) ? "*" : "id,done" }
    var meant: @Sendable (Row) -> Bool = { $0.id == id }
    var pinned = key(id)
    if random.once(in: 3) {
      let condition = Self.condition(&random)
      pinned = RowKey([JSONValue]())
      request.conditions = [condition.filter]
      meant = condition.holds
    } else {
      request.conditions = [.eq("id", pinned.values[0])]
      request.rowKeys = [pinned]
      if random.once(in: 4) {
        let condition = Self.condition(&random)
        request.conditions.append(condition.filter)
        meant = { $0.id == id && condition.holds($0) }
      }
    }
    let reached = meant
    if kind == 2 {
      let write = Write(
        table: "tasks", operation: .delete, key: pinned, values: [:], base: nil, coalesces: false, request: request)
      return ModelWrite(write: write) { rows in
        let gone = rows.filter(reached)
        rows.removeAll(where: reached)
        return gone
      }
    }
    let change = Self.change(&random)
    let write = Write(
      table: "tasks", operation: .update, key: pinned, values: change.json, base: nil, coalesces: false,
      request: request)
    return ModelWrite(write: write) { rows in
      var changed: [Row] = []
      for index in rows.indices where reached(rows[index]) {
        rows[index].set(change)
        changed.append(rows[index])
      }
      return changed
    }
  }

  private func inserting(_ id: Int, isThere: Bool, _ random: inout SeededRandom) -> ModelWrite {
    var change = Self.change(&random)
    if random.once(in: 2) {  // A device that names every column.
      change = Change(
        title: "New", done: random.once(in: 2), rank: .some(Int.random(in: 0...5, using: &random)),
        at: Int.random(in: 0...59, using: &random))
    }
    var row = change.json
    row["id"] = .number(JSONNumber(Int64(id)))
    var request = WriteRequest()
    if random.once(in: 2) { request.selection = "*" }
    request.rowKeys = [RowKey([.number(JSONNumber(Int64(id)))])]
    let isUpsert = isThere || random.once(in: 3)
    request.ignoresDuplicates = isUpsert && random.once(in: 3)
    if random.once(in: 3) { request.rows = [row] }
    let ignores = request.ignoresDuplicates
    let write = Write(
      table: "tasks", operation: isUpsert ? .upsert : .insert,
      key: request.rows == nil ? request.rowKeys[0] : RowKey([]),
      values: request.rows == nil ? row : [:], base: nil, coalesces: false, request: request)
    let change2 = change
    let stamp = clock
    return ModelWrite(write: write) { rows in
      if let index = rows.firstIndex(where: { $0.id == id }) {
        if ignores { return [] }
        rows[index].set(change2)
        return [rows[index]]
      }
      var made = Row(id: id, title: "", done: false, rank: nil, at: stamp)
      made.set(change2)
      rows.append(made)
      return [made]
    }
  }
}
