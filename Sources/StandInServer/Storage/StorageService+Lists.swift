import LosslessJSON
import SQLite

extension StorageService {
  /// An entry of a list: a folder once, or an object.
  private struct Entry {
    /// Relative to the listed folder in a list of the first kind, the whole key in one of the second.
    let name: String
    /// `nil` for a folder.
    let object: StoredObject?

    /// Where it stands among others: folders first, then by the column, then by the name's bytes.
    func isBefore(_ other: Entry, by column: Column) -> Bool {
      let (left, right) = (time(column), other.time(column))
      return left != right ? left < right : utf8Less(name, other.name)
    }

    func time(_ column: Column) -> Int64 {
      switch column {
      case .name: 0
      case .updatedAt: object?.updatedAt.microseconds ?? .min
      case .createdAt, .lastAccessedAt: object?.createdAt.microseconds ?? .min
      }
    }
  }

  private enum Column: String {
    case name
    case updatedAt = "updated_at"
    case createdAt = "created_at"
    case lastAccessedAt = "last_accessed_at"
  }

  private struct Sorting {
    let column: Column
    let isDescending: Bool

    init(_ body: JSONObject, allowed: [Column]) throws(StorageError) {
      let sorting = body["sortBy"]?.objectValue ?? [:]
      let word = sorting["column"]?.stringValue ?? Column.name.rawValue
      guard let column = Column(rawValue: word), allowed.contains(column) else {
        throw .invalidRequest("body/sortBy/column must be equal to one of the allowed values")
      }
      self.column = column
      isDescending = sorting["order"]?.stringValue?.lowercased() == "desc"
    }

    func isBefore(_ left: Entry, _ right: Entry) -> Bool {
      isDescending ? right.isBefore(left, by: column) : left.isBefore(right, by: column)
    }
  }

  /// The objects whose keys begin with a prefix and that the caller may see.
  ///
  /// - Parameter ignoresCase: Whether letters of either case are the same, as in lists of the first kind.
  private func objects(
    _ bucket: String, prefix: String, ignoresCase: Bool, caller: StorageCaller
  ) throws -> [StoredObject] {
    let column = ignoresCase ? "lower(name)" : "name"
    let first = ignoresCase ? prefix.lowercased() : prefix
    // Keys are ASCII, so that nothing with the prefix stands behind this.
    let last = first + "\u{7F}"
    return try used { database in
      var found: [StoredObject] = []
      try database.forEach(
        "SELECT * FROM storage_objects WHERE bucket_id = ? AND \(column) >= ? AND \(column) < ?",
        [.text(bucket), .text(first), .text(last)]
      ) { row in
        let object = StoredObject(row: row)
        if caller.may(.select, object, self.policies) { found.append(object) }
      }
      return found
    }
  }

  /// One folder, with its sub-folders as entries.
  func list(_ request: StandInRequest, bucket: String) throws -> StandInAnswer {
    let caller = try tokens.caller(of: request)
    let body = try Self.body(of: request)
    var folder = try body.required("prefix")
    if !folder.isEmpty, !folder.hasSuffix("/") { folder += "/" }
    let search = body["search"]?.stringValue ?? ""
    let limit = min(try Self.number("limit", in: body) ?? 100, 1_500)
    let offset = try Self.number("offset", in: body) ?? 0
    guard limit >= 0, offset >= 0 else { throw StorageError.invalidRequest("body/limit and body/offset must be >= 0") }
    let sorting = try Sorting(body, allowed: [.name, .updatedAt, .createdAt, .lastAccessedAt])
    var folders: Set<String> = []
    var entries: [Entry] = []
    for object in try objects(bucket, prefix: folder + search, ignoresCase: true, caller: caller) {
      let rest = object.name.dropFirst(folder.count)
      if let slash = rest.firstIndex(of: "/") {
        let name = String(rest[..<slash])
        if folders.insert(name).inserted { entries.append(Entry(name: name, object: nil)) }
      } else {
        entries.append(Entry(name: String(rest), object: object))
      }
    }
    entries.sort(by: sorting.isBefore)
    let shown = entries.dropFirst(Int(clamping: offset)).prefix(Int(clamping: limit))
    return .json(200, .array(shown.map { $0.object?.entry(named: $0.name) ?? Self.folder(named: $0.name) }))
  }

  private static func folder(named name: String) -> JSONValue {
    [
      "name": .string(name), "id": .null, "updated_at": .null, "created_at": .null, "last_accessed_at": .null,
      "metadata": .null,
    ]
  }

  /// Pages that stay right while others write: each goes on behind the last entry of the one before.
  func listV2(_ request: StandInRequest, bucket: String) throws -> StandInAnswer {
    let caller = try tokens.caller(of: request)
    let body = try Self.body(of: request)
    let prefix = body["prefix"]?.stringValue ?? ""
    let limit = min(try Self.number("limit", in: body) ?? 1_000, 1_000)
    guard limit >= 1 else { throw StorageError.invalidRequest("body/limit must be >= 1") }
    let groups = body["with_delimiter"]?.boolValue ?? false
    let sorting = try Sorting(body, allowed: [.name, .updatedAt, .createdAt])
    var folders: Set<String> = []
    var entries: [Entry] = []
    for object in try objects(bucket, prefix: prefix, ignoresCase: false, caller: caller) {
      if groups, let slash = object.name.dropFirst(prefix.count).firstIndex(of: "/") {
        let name = String(object.name[...slash])
        if folders.insert(name).inserted { entries.append(Entry(name: name, object: nil)) }
      } else {
        entries.append(Entry(name: object.name, object: object))
      }
    }
    entries.sort(by: sorting.isBefore)
    if let text = body["cursor"]?.stringValue, !text.isEmpty {
      let place = try Self.place(of: text)
      entries = Array(entries.drop { Self.isShown($0, before: place, sorting) })
    }
    let shown = entries.prefix(Int(limit))
    var answer: JSONObject = ["hasNext": .bool(entries.count > shown.count)]
    if entries.count > shown.count, let last = shown.last {
      answer["nextCursor"] = .string(Self.cursor(last, sorting))
      answer["nextCursorKey"] = .string(last.name)
    }
    answer["folders"] = .array(
      shown.filter { $0.object == nil }.map { ["name": .string($0.name), "key": .string($0.name)] })
    answer["objects"] = .array(
      shown.compactMap { entry in
        guard var object = entry.object?.entry(named: entry.name).objectValue else { return nil }
        object["key"] = .string(entry.name)
        return .object(object)
      })
    return .json(200, .object(answer))
  }

  // MARK: Cursors

  private static func cursor(_ entry: Entry, _ sorting: Sorting) -> String {
    Base64URL.encode(Array("\(entry.time(sorting.column)) \(entry.name)".utf8))
  }

  private static func place(of cursor: String) throws(StorageError) -> (time: Int64, name: String) {
    guard let bytes = Base64URL.decode(cursor), let space = bytes.firstIndex(of: UInt8(ascii: " ")),
      let time = Int64(String(decoding: bytes[..<space], as: UTF8.self))
    else { throw .invalidRequest("body/cursor is none of this server's") }
    return (time, String(decoding: bytes[(space + 1)...], as: UTF8.self))
  }

  /// Whether an entry was on the pages up to the one that ended at this place.
  private static func isShown(_ entry: Entry, before place: (time: Int64, name: String), _ sorting: Sorting) -> Bool {
    let time = entry.time(sorting.column)
    if time != place.time { return sorting.isDescending ? time > place.time : time < place.time }
    if entry.name == place.name { return true }
    return sorting.isDescending ? utf8Less(place.name, entry.name) : utf8Less(entry.name, place.name)
  }
}

/// Whether one text's bytes come before another's.
private func utf8Less(_ left: String, _ right: String) -> Bool { left.utf8.lexicographicallyPrecedes(right.utf8) }
