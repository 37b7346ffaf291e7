/// A reader of bytes that strangers wrote, and what must hold of it whatever they are.
enum FuzzTarget: String, Sendable, CaseIterable {
  /// The JSON parser.
  case json
  /// A row's file.
  case rows
  /// The merges of rows' files: three texts with a byte FF between them.
  case merges
  /// Names that rows and people give files.
  case names
  /// The reader of `tidemark.json`.
  case settings
  /// The state files of a git repository: their texts with a byte FF between them.
  case git
  /// Photos: what they are, whether they are whole, and their copies for sending.
  case photos
  /// The framing of WebSocket, at either end.
  case frames
  /// Realtime at either end: a text a line.
  case realtime
  /// The answers of a project's services: the head's fields, and behind an empty line the body.
  case answers
  /// The stand-in's reading of a PostgREST request: its query, behind `/rest/v1/`.
  case query
  /// Any request to the stand-in: method and target, fields, and behind an empty line the body.
  case requests

  /// Reads the bytes.
  ///
  /// - Returns: What does not hold; `nil` when all is well.
  func fault(_ bytes: [UInt8]) -> String? {
    switch self {
    case .json: Self.json(bytes)
    case .rows: Self.rows(bytes)
    case .merges: Self.merges(bytes)
    case .names: Self.names(bytes)
    case .settings: Self.settings(bytes)
    case .git: Self.git(bytes)
    case .photos: Self.photos(bytes)
    case .frames: Self.frames(bytes)
    case .realtime: Self.realtime(bytes)
    case .answers: Self.answers(bytes)
    case .query: Self.query(bytes)
    case .requests: Self.requests(bytes)
    }
  }
}
