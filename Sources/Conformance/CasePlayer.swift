import LosslessJSON

/// Plays recorded cases against one running stand-in.
final class CasePlayer {
  /// What became of a case.
  enum Outcome: Equatable {
    case asRecorded
    /// It needs PostgreSQL, and the server says that it does not do it.
    case refused
    case different([String])

    var isGood: Bool { if case .different = self { false } else { true } }
  }

  private let port: Int
  private let publishableKey: String
  private let serviceKey: String
  private var wire: Wire?

  init(port: Int, publishableKey: String, serviceKey: String) {
    self.port = port
    self.publishableKey = publishableKey
    self.serviceKey = serviceKey
  }

  /// Lays the rows, sends the request, and compares.
  func play(_ recorded: RecordedCase) -> Outcome {
    do {
      let wire = try wire ?? Wire(port: port)
      // A connection that failed is not used again.
      self.wire = nil
      let service = [("apikey", serviceKey)]
      let laid = try wire.request("PUT", "/stand-in/rows", service, body: recorded.setup.serialized())
      guard laid.status == 200 else { return .different(["the rows cannot be laid out: \(laid.status) \(laid.text)"]) }
      let answer = try wire.request(
        recorded.method, "/rest/v1\(recorded.path)", [("apikey", publishableKey)] + recorded.fields,
        body: recorded.body)
      let after = try wire.request("GET", "/stand-in/rows", service).json
      self.wire = wire
      let differences = CaseComparison(recorded: recorded).differences(answer, after: after)
      if differences.isEmpty { return .asRecorded }
      if recorded.needsPostgreSQL {
        if CaseComparison.isRefusal(answer, to: recorded.method) { return .refused }
        return .different(["needs PostgreSQL, and is neither as recorded nor refused"] + differences)
      }
      return .different(differences)
    } catch {
      return .different(["\(error)"])
    }
  }
}
