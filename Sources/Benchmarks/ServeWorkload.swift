import Glibc
import LosslessJSON
import StandInServer

extension Bench {
  /// Connections that ask at the same time.
  private static let clients = 4

  /// Reads of one row by its key and inserts of one row, over connections that stay open, beside a bare handler.
  func serve(_ count: Int) async throws -> [Measurement] {
    let stage = try await stage(isLogging: false)
    try await stage.seed(min(count, 1_000), seed: seed &+ 9)
    guard let bare = BareFront() else { throw KeepAliveLoad.Failure(description: "the bare handler cannot listen") }
    let ids = stage.seeded.compactMap { $0["id"]?.stringValue }
    let reads = (0..<count).map { stage.request("GET", "/rest/v1/tasks?id=eq.\(ids[$0 % ids.count])") }
    var sample = SampleTasks(seed: seed &+ 10)
    let inserts = (0..<count).map { _ in
      stage.request("POST", "/rest/v1/tasks", body: JSONValue.object(sample.row()).serialized())
    }
    let server = KeepAliveLoad(port: stage.port, connections: Self.clients)
    let limit = KeepAliveLoad(port: bare.port, connections: Self.clients)
    // Each is measured between two looks at what it is measured beside.
    _ = try limit.run(Array(reads.prefix(count / 10)), expecting: "HTTP/1.1 200")
    _ = try server.run(Array(reads.prefix(count / 10)), expecting: "HTTP/1.1 200")
    let bareReads = try limit.run(reads, expecting: "HTTP/1.1 200")
    let readSeconds = try server.run(reads, expecting: "HTTP/1.1 200")
    let bareInserts = try limit.run(inserts, expecting: "HTTP/1.1 200")
    let insertSeconds = try server.run(inserts, expecting: "HTTP/1.1 201")
    await stage.end()
    withExtendedLifetime(bare) {}
    func measurement(_ what: String, _ seconds: Double, _ bare: Double, aim: Double) -> Measurement {
      Measurement(
        workload: what, size: count, what: "the time of one request, \(Self.clients) connections", unit: .seconds,
        values: [seconds / Double(count)],
        limits: [
          Limit(name: "a bare libmicrohttpd handler", value: bare / Double(count)),
          Limit(name: "the aim: \(Int(aim)) a second", value: 1 / aim),
        ])
    }
    return [
      measurement("serve read", readSeconds, bareReads, aim: 5_000),
      measurement("serve insert", insertSeconds, bareInserts, aim: 2_000),
    ]
  }
}
