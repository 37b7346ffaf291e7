import LosslessJSON
import StandInServer
import SupabaseAPI
import Synchronization

/// Judges a device's requests as they leave and as the server takes them.
struct Judge: Sendable {
  let world: World
  let device: Device
  private let patience = Patience()

  /// Until when the server has asked one run of the program to leave it alone.
  private final class Patience: Sendable {
    let end = Atomic<Int64>(0)
  }

  private static let tablePath = "\(SimulatedServer.origin)/rest/v1/tasks?"
  private static let tables = [
    (path: tablePath, name: "tasks"), (path: "\(SimulatedServer.origin)/rest/v1/task_photos?", name: "task_photos"),
  ]

  /// Looks at a request that is about to leave: one user's writes leave in the order in which they were queued.
  func leaves(_ request: HTTPRequest) {
    // Whoever calls for a sync wants one now.
    if request.url.hasPrefix(Self.tablePath), world.timeline.now < patience.end.load(ordering: .relaxed),
      !device.isCommanded
    {
      world.complain("\(device.name): a request leaves before the time that the server has asked for is over")
    }
    let keys = writtenKeys(request)
    guard !keys.isEmpty else { return }
    device.noteLeaving(keys)
    let queued = Set(device.queuedKeys(limit: keys.count, besides: device.unknownTable(besides: table(of: request))))
    if !keys.isSubset(of: queued) {
      world.complain("\(device.name): a write of \(keys.sorted()) leaves before those of \(queued.sorted())")
    }
    // What a file shows because the server said so is nobody's edit. Settings may have a gone row made again, all of it.
    let isMadeAgain = request.method == "POST" && world.day.conflicts == "mine"
    if request.url.hasPrefix(Self.tablePath), !isMadeAgain, let body = request.body {
      let words = world.words.untyped(in: String(decoding: body, as: UTF8.self), on: device)
      if !words.isEmpty { world.complain("\(device.name): a write holds \(words), which nobody has typed there") }
    }
  }

  /// Looks at an answer that has come back to the device.
  func hears(_ answer: HTTPResponse, to request: HTTPRequest) {
    if let table = table(of: request), !writtenKeys(request).isEmpty {
      let code = (try? JSONValue(parsing: answer.body))?["code"]?.stringValue ?? ""
      if Self.unknownCodes.contains(code) { device.noteUnknown(table) }
    }
    guard request.url.hasPrefix(Self.tablePath) else { return }
    // A command reads for itself: the program beside it may still wait.
    if request.method == "GET", (200...206).contains(answer.status), !device.isCommanded { device.hasRead = true }
    if let seconds = answer.fields["Retry-After"].flatMap(Int64.init), !device.isCommanded {
      patience.end.store(world.timeline.now + seconds * 1_000_000_000, ordering: .relaxed)
    }
    // Nobody else writes, and nothing goes wrong: a write that finds its row moved on was guarded with too old a version,
    // unless one to the row was sent before and nobody knew what came of that: what was queued behind it is asked about.
    let isInDoubt = device.noteHeard(writtenKeys(request))
    let isWrite = request.method == "PATCH" || request.method == "DELETE"
    if isWrite, answer.status == 200, answer.body == Array("[]".utf8), world.isUndisturbed, !isInDoubt {
      world.complain(
        "\(device.name): \(request.method) \(request.url.dropFirst(SimulatedServer.origin.count)) meets its own writes")
    }
  }

  /// Has the server answer, and looks at what the request did there.
  func answer(_ request: HTTPRequest, with fault: StandInFault.Kind?) -> (answer: HTTPResponse, isWhole: Bool) {
    let isDelete = request.method == "DELETE" && request.url.hasPrefix(Self.tablePath)
    let before = isDelete ? world.server.rows(of: device.user.id) : [:]
    let photos = endangeredPhotos(request)
    let updated = request.method == "PATCH" && request.url.hasPrefix(Self.tablePath) ? writtenKeys(request) : []
    let rows = updated.sorted().map { (id: $0, row: world.server.row($0)) }
    let answer = world.server.answer(request, with: fault)
    for (id, row) in rows { judgeUpdate(of: id, request, before: row) }
    if let photos { judge(request, before: photos) }
    if request.method == "POST", request.url.hasPrefix(Self.tablePath) { world.noteNewRows(of: device.user.id) }
    if isDelete {
      let after = world.server.rows(of: device.user.id)
      for (id, row) in before.sorted(by: { $0.key < $1.key }) where after[id] == nil {
        judgeDelete(id, row, of: before)
      }
    }
    if fault == nil { judge(answer.answer, to: request) }
    return answer
  }

  /// An update that the server has taken already is not made a second time: it would pass for another change.
  ///
  /// Another one may say what the row says already: what the server has filled in, typed by somebody who has not seen it.
  private func judgeUpdate(of id: String, _ request: HTTPRequest, before: JSONObject?) {
    guard var before, var after = world.server.row(id), before != after else { return }
    let last = device.updates.updateValue((request.body, after["updated_at"] ?? .null), forKey: id)
    let isMadeBefore = last.map { $0.body == request.body && $0.version == before["updated_at"] } ?? false
    before["updated_at"] = nil
    after["updated_at"] = nil
    if isMadeBefore, before == after {
      world.complain("\(device.name): \(id) is updated again to what it says already")
    }
  }

  /// What nobody removed is not deleted, and what was removed by accident waits for a person's word.
  ///
  /// - Parameter rows: The user's rows before. Where somebody else has deleted some that went, what is left may be few.
  private func judgeDelete(_ id: String, _ row: JSONObject, of rows: [String: JSONObject]) {
    if device.accident.contains(id), device.accident.count(where: { rows[$0] != nil }) >= Device.manyFiles,
      device.rowCountAtAccident == world.newRowCount(of: device.user.id)
    {
      world.complain("\(device.name): \(id), one of many files that went at once, is deleted unasked")
    }
    // Settings may say that this device's delete stands whatever the row says by now.
    guard world.day.conflicts == "hold" else { return }
    let overdue = device.overdueWords
    let words = world.words.unreplaced(in: JSONValue.object(row).serialized())
      .filter { !world.words.copied.contains($0) && !overdue.contains($0) }
    if !words.isEmpty { world.complain("\(device.name): \(id) is deleted although nobody removed \(words)") }
  }

  /// A server that nothing is wrong with refuses nothing but a stale token and a key that is taken.
  private func judge(_ answer: HTTPResponse, to request: HTTPRequest) {
    guard answer.status >= 400, answer.status != 401, answer.status != 409 else { return }
    if answer.status == 403, request.url.hasSuffix("/auth/v1/user") { return }  // How that one says 401.
    if isExpected(answer, to: request) { return }
    world.complain(
      "\(device.name): \(request.method) \(request.url.dropFirst(SimulatedServer.origin.count)) breaks the protocol: "
        + "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
  }

  /// What a server answers that does not know a table or a column yet (PostgREST).
  private static let unknownCodes: Set = ["PGRST204", "PGRST205", "42P01", "42703"]

  /// The table that a request is about.
  private func table(of request: HTTPRequest) -> String? {
    Self.tables.first { request.url.hasPrefix($0.path) }?.name
  }

  /// The keys of the rows that a request writes.
  private func writtenKeys(_ request: HTTPRequest) -> Set<String> {
    guard let table = Self.tables.first(where: { request.url.hasPrefix($0.path) }) else { return [] }
    switch request.method {
    case "POST":
      let body = request.body.flatMap { try? JSONValue(parsing: $0) }
      let rows = body?.arrayValue ?? [body].compactMap(\.self)
      return Set(rows.compactMap { $0["id"]?.stringValue })
    case "PATCH", "DELETE": return Self.keys(in: request.url.dropFirst(table.path.count).utf8)
    default: return []
    }
  }

  /// The UUIDs in a text.
  private static func keys(in text: Substring.UTF8View) -> Set<String> {
    var keys: Set<String> = []
    for part in text.split(whereSeparator: { !isOfUUID($0) }) where part.count == 36 {
      keys.insert(String(Substring(part)))
    }
    return keys
  }

  private static func isOfUUID(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "-"): true
    default: false
    }
  }
}
