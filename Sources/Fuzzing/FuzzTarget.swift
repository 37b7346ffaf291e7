import FileWorkspace
import LosslessJSON
import StandInServer
import WebSocket

/// A reader of bytes that strangers wrote, and what must hold of it whatever they are.
enum FuzzTarget: String, Sendable, CaseIterable {
  /// The JSON parser.
  case json
  /// The stand-in's reading of a PostgREST request: its query, behind `/rest/v1/`.
  case query
  /// The framing of WebSocket, at either end.
  case frames
  /// The reader of `tidemark.json`.
  case settings

  /// Reads the bytes.
  ///
  /// - Returns: What does not hold; `nil` when all is well.
  func fault(_ bytes: [UInt8]) -> String? {
    switch self {
    case .json: Self.json(bytes)
    case .query: Self.query(bytes)
    case .frames: Self.frames(bytes)
    case .settings: Self.settings(bytes)
    }
  }

  /// Bytes that mean something, to begin with.
  var corpus: [[UInt8]] {
    switch self {
    case .json: Self.jsonTexts.map { Array($0.utf8) }
    case .query: Self.queries.map { Array($0.utf8) }
    case .frames: Self.connections
    case .settings: Self.settingsTexts.map { Array($0.utf8) }
    }
  }

  // MARK: What must hold

  /// A text is read alike as a value and as a document; what was read is written so that it reads the same.
  private static func json(_ bytes: [UInt8]) -> String? {
    let document = try? JSONDocument(parsing: bytes)
    do throws(JSONError) {
      let value = try JSONValue(parsing: bytes)
      guard let document else { return "a value that is no document" }
      if document.value != value { return "the document says another value" }
      for style in [JSONStyle.compact, .pretty] where (try? JSONValue(parsing: value.serialized(style))) != value {
        return "what was written reads as another value"
      }
      guard let object = value.objectValue, let name = object.names.first else { return nil }
      let edited = document.setting(name, to: .string("x"))
      let reread = try? JSONDocument(parsing: edited.bytes)
      return reread?.value[name] == .string("x") ? nil : "an edit does not read back"
    } catch {
      if document != nil { return "a document that is no value" }
      let lines = bytes.count { $0 == UInt8(ascii: "\n") } + bytes.count { $0 == UInt8(ascii: "\r") } + 1
      return error.position.line < 1 || error.position.line > lines || error.position.column < 1
        ? "the error lies outside of the text" : nil
    }
  }

  private static let standIn = try? StandIn(StandInConfiguration())

  /// Whatever a query says, the server has an answer that is its own: never a failure.
  private static func query(_ bytes: [UInt8]) -> String? {
    guard let standIn else { return "no stand-in" }
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

  /// Bytes say the same in one piece and one by one, and no message is longer than it may be.
  private static func frames(_ bytes: [UInt8]) -> String? {
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

  /// Settings are taken, or refused with a place and a reason; never anything else.
  private static func settings(_ bytes: [UInt8]) -> String? {
    do throws(SettingsError) {
      let settings = try WorkspaceSettings(parsing: bytes)
      if settings.collections.isEmpty { return "settings without a collection" }
      return settings.collections.contains { $0.folder.contains("..") || $0.folder.hasPrefix("/") }
        ? "a folder outside of the workspace" : nil
    } catch {
      return "\(error)".isEmpty ? "an error without words" : nil
    }
  }
}
