import LosslessJSON
import OfflineEngine
import StandInServer
import SupabaseAPI

@testable import FileWorkspace

/// Photos of a world without decoders: a head, some bytes, and an end.
enum FakePhoto {
  /// A whole photo with these words in it.
  static func bytes(_ words: String) -> [UInt8] { Array("JPEG<\(words)>".utf8) }

  static let inspect: PhotoInspector = { file throws(PhotoFault) in
    var bytes = [UInt8](repeating: 0, count: Int(file.status.size))
    do {
      let count = try bytes.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
      bytes.removeLast(bytes.count - count)
    } catch {
      throw PhotoFault("\(error)")
    }
    guard !bytes.isEmpty else { throw PhotoFault("the file is empty") }
    guard bytes.starts(with: "JPEG<".utf8) else { throw PhotoFault("not a photo") }
    guard bytes.last == UInt8(ascii: ">") else { throw PhotoFault("incomplete picture") }
    return PhotoFacts(contentType: "image/jpeg", width: 4, height: 3)
  }
}

extension TaskWorld {
  /// A workspace whose photos are sent and fetched.
  func photoReplica(_ more: JSONObject = [:]) throws -> Replica {
    let photos: JSONObject = ["folder": "photos", "table": "task_photos"]
    return try replica(photos: photos.overlaid(with: more))
  }

  /// The photos' rows by their names' order.
  var photoRows: [JSONObject] {
    let rows = ask("GET", "/rest/v1/task_photos?select=*&user_id=eq.\(session.user.id)&limit=100000").arrayValue ?? []
    return rows.compactMap(\.objectValue).sorted { ($0["name"]?.stringValue ?? "") < ($1["name"]?.stringValue ?? "") }
  }

  /// The bytes of the bucket's objects by their keys.
  var objects: [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    let list = ask(
      "POST", "/storage/v1/object/list/photos", ["prefix": .string("\(session.user.id)/"), "limit": 10_000])
    for object in list.arrayValue ?? [] {
      guard let name = object["name"]?.stringValue else { continue }
      found["\(session.user.id)/\(name)"] = raw("GET", "/storage/v1/object/photos/\(session.user.id)/\(name)").allBytes
    }
    return found
  }

  /// The words of all photos: where each row says its bytes are, by the name in the row.
  var photos: [String: String] {
    let objects = objects
    return Dictionary(
      photoRows.map { row in
        let bytes = objects[row["object_path"]?.stringValue ?? ""]
        return (row["name"]?.stringValue ?? "", bytes.map { String(decoding: $0, as: UTF8.self) } ?? "nothing")
      }
    ) { "\($0), \($1)" }
  }

  @discardableResult
  func ask(_ method: String, _ target: String, _ body: JSONValue? = nil) -> JSONValue {
    server.asOwner(method, target, body)
  }

  private func raw(_ method: String, _ target: String, _ body: JSONValue? = nil) -> StandInAnswer {
    server.answerOwner(method, target, body)
  }
}

extension Replica {
  /// Drops a photo into a folder.
  func drop(_ path: String, _ words: String) throws {
    try files.person.createFolder("photos/" + WorkspacePath.folder(of: path))
    try files.person.save("photos/\(path)", FakePhoto.bytes(words))
  }

  /// The photos' files as a person sees them, with their words.
  var photos: [String: String] {
    Dictionary(
      uniqueKeysWithValues: files.person.paths(below: "photos").map { path in
        (String(path.dropFirst(7)), String(decoding: files.person.bytes(path) ?? [], as: UTF8.self))
      })
  }

  var records: [PhotoRecord] { get throws { try client.read { try PhotoRecords($0).all("tasks") } } }

  /// Whether nothing of photos is left to be done.
  var isPhotoQuiet: Bool {
    get throws {
      try records.allSatisfy { $0.state == .stored } && client.read { try PhotoLeftovers($0).all() }.isEmpty
    }
  }
}
