import LosslessJSON
import StandInServer
import SupabaseAPI
import WebSocket

/// What comes over the network.
extension FuzzTarget {
  /// Bytes say the same in one piece and one by one, and no message is longer than it may be.
  static func frames(_ bytes: [UInt8]) -> String? {
    let longest = 4_096
    for role in [WebSocketEnd.Role.server, .client(randomBytes: { Array(repeating: 7, count: $0) })] {
      let (whole, piecewise) = (
        WebSocketEnd(role, messageBytesMax: longest), WebSocketEnd(role, messageBytesMax: longest)
      )
      let messages = whole.receive(bytes)
      // libwslay judges the reason of a close before it is whole, so a close that is none may be seen at another time.
      let others = bytes.flatMap { piecewise.receive([$0]) }.filter(isNoClose)
      if messages.filter(isNoClose) != others { return "in one piece they say \(messages), one by one \(others)" }
      for message in messages {
        switch message {
        case .text(let text) where text.utf8.count > longest: return "a text that is too long"
        case .binary(let bytes) where bytes.count > longest: return "a message that is too long"
        default: break
        }
      }
    }
    return nil
  }

  private static func isNoClose(_ message: WebSocketMessage) -> Bool {
    if case .close = message { false } else { true }
  }

  private static let standIn = Result {
    var configuration = StandInConfiguration()
    configuration.auth.passwordCost = 4  // Passwords take their time by intention.
    return try StandIn(configuration)
  }

  /// Whatever a query says, the server has an answer that is its own: never a failure.
  static func query(_ bytes: [UInt8]) -> String? {
    guard case .success(let standIn) = Self.standIn else { return "no stand-in: \(Self.standIn)" }
    // What a request line can hold.
    let target = String(decoding: bytes.filter { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }, as: UTF8.self)
    let answer = standIn.answer(
      StandInRequest(
        method: "GET", target: "/rest/v1/\(target)", fields: [("Host", "localhost"), ("apikey", standIn.serviceKey)],
        body: []))
    if answer.status >= 500, answer.status != 501 {
      return "\(answer.status): \(String(decoding: answer.body, as: UTF8.self))"
    }
    let isJSON = answer.fields.contains { $0.name == "Content-Type" && $0.value.hasPrefix("application/json") }
    return isJSON && (try? JSONValue(parsing: answer.body)) == nil ? "an answer that is no JSON" : nil
  }

  /// Whatever is asked, the stand-in has an answer of its own.
  static func requests(_ bytes: [UInt8]) -> String? {
    guard case .success(let standIn) = Self.standIn else { return "no stand-in: \(Self.standIn)" }
    let (head, body) = parted(bytes)
    let words = head.first?.split(separator: " ", maxSplits: 1).map(String.init) ?? []
    guard words.count == 2, words[1].hasPrefix("/"), !words[1].hasPrefix("/stand-in/") else { return nil }
    let fields = head.dropFirst().compactMap { line -> (name: String, value: String)? in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      return (String(line[..<colon]), String(line[line.index(after: colon)...].drop { $0 == " " }))
    }
    let answer = standIn.answer(
      StandInRequest(
        method: words[0], target: words[1],
        fields: [("Host", "localhost"), ("apikey", standIn.serviceKey)] + fields, body: body))
    return answer.status >= 500 && answer.status != 501 && answer.status != 544
      ? "\(answer.status): \(String(decoding: answer.body, as: UTF8.self))" : nil
  }

  /// The lines of a head, and what follows the first empty one.
  private static func parted(_ bytes: [UInt8]) -> (head: [String], body: [UInt8]) {
    var head: [String] = []
    var rest = bytes[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let line = rest[..<end]
      rest = rest[(end + 1)...]
      if line.isEmpty { break }
      head.append(String(decoding: line, as: UTF8.self))
    }
    return (head, Array(rest))
  }

  /// Whatever the other end says, a client has its next time to do something, and a server says JSON.
  static func realtime(_ bytes: [UInt8]) -> String? {
    let texts = bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    var session = RealtimeSession(tables: ["tasks"]) { 0.5 }
    _ = session.start(at: .zero)
    _ = session.take(.socket(.opened), at: .seconds(1))
    _ = session.take(.token(Secret("token")), at: .seconds(1))
    for (number, text) in texts.enumerated() {
      for action in session.take(.socket(.text(text)), at: .seconds(2 + number)) {
        if case .send(let text) = action, (try? JSONValue(parsing: text)) == nil { return "a client says no JSON" }
      }
      if session.due > .seconds(1 << 39) { return "a client that never does anything again" }
    }
    guard case .success(let standIn) = Self.standIn else { return "no stand-in: \(Self.standIn)" }
    for form in ["1.0.0", "2.0.0"] {
      let said = Said()
      let link = standIn.openRealtime("/realtime/v1/websocket?apikey=\(standIn.publishableKey)&vsn=\(form)") {
        if case .text(let text) = $0 { said.add(text) }
      }
      guard let link else { return "no connection" }
      for text in texts { link.receive(text) }
      _ = link.tick()
      link.close()
      if let text = said.texts.first(where: { (try? JSONValue(parsing: $0)) == nil }) { return "a server says \(text)" }
    }
    return nil
  }

  /// An answer is taken, or told from one with words; never anything else.
  static func answers(_ bytes: [UInt8]) -> String? {
    let (head, body) = parted(bytes)
    var fields = HTTPFields()
    var status = 200
    for line in head {
      if let number = Int(line), (100...599).contains(number) { status = number }
      guard let colon = line.firstIndex(of: ":") else { continue }
      fields.add(String(line[..<colon]), String(line[line.index(after: colon)...].drop { $0 == " " }))
    }
    let response = HTTPResponse(status: status, fields: fields, body: body)
    _ = response.retryAfter
    var request = TableRequest.select("tasks", columns: ["id"], filters: [], limit: 10)
    request.count = .exact
    for isCounted in [true, false] {
      if !isCounted { request.count = nil }
      do throws(SupabaseError) {
        let answer = try TableAnswer(judging: response, to: request)
        if let total = answer.total, total < 0 { return "fewer than no rows" }
      } catch {
        if "\(error)".isEmpty { return "a failure without words" }
        _ = (error.retryAfter, error.mayHaveReachedServer, error.isConnectivity)
      }
    }
    if let json = try? JSONValue(parsing: body) {
      do throws(SupabaseError) {
        let session = try Session(json: json, serverDate: response.serverDate)
        guard let again = try? Session(json: session.json) else { return "a session that cannot be stored" }
        if again.expiresAt != session.expiresAt { return "a stored session ends at another time" }
      } catch {
        if "\(error)".isEmpty { return "a failure without words" }
      }
    }
    _ = AccessTokenClaims(Secret(String(decoding: body, as: UTF8.self)))
    return nil
  }
}
