import Glibc

/// The answer to a download: whole, a range, or nothing when the client has it already (RFC 9110, sections 13 and 14).
struct ObjectDownload {
  private let object: StoredObject
  private let request: StandInRequest

  init(_ object: StoredObject, _ request: StandInRequest) {
    self.object = object
    self.request = request
  }

  /// - Parameter caching: The field that says how long the answer stays good.
  func answer(_ files: ObjectFiles, caching: (name: String, value: String)) throws -> StandInAnswer {
    var fields: [(name: String, value: String)] = [
      ("ETag", object.etag), ("Last-Modified", HTTPDate.text(unixSeconds: modified)), caching,
      ("X-Robots-Tag", object.robots ?? "none"),
    ]
    if isFresh { return StandInAnswer(status: 304, fields: fields) }
    // A page would run as the project's own.
    let isPage = object.mimeType.lowercased().hasPrefix("text/html")
    fields += [("Content-Type", isPage ? "text/plain" : object.mimeType), ("Accept-Ranges", "bytes")]
    if let disposition { fields.append(("Content-Disposition", disposition)) }
    let size = Int(object.size)
    if request.method == "HEAD" {
      var answer = StandInAnswer(status: 200, fields: fields)
      // From the row alone: only the size of the body is told.
      answer.file = AnswerFile(descriptor: open("/dev/null", O_RDONLY | O_CLOEXEC), count: size)
      return answer
    }
    let range = try range
    guard let descriptor = try files.open(object.version) else {
      var answer = StorageError.bytesGone.answer
      answer.fields.append(("Cache-Control", "no-store"))
      return answer
    }
    var answer = StandInAnswer(status: range == nil ? 200 : 206, fields: fields)
    let part = range ?? 0..<size
    if range != nil {
      answer.fields.append(("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(size)"))
    }
    answer.file = AnswerFile(descriptor: descriptor, offset: Int64(part.lowerBound), count: part.count)
    return answer
  }

  private var modified: Int64 { Timestamp.seconds(of: object.updatedAt.microseconds) }

  /// Whether what the client has is the current content.
  private var isFresh: Bool {
    if let tags = request.field("If-None-Match") {
      return tags.split(separator: ",").contains { tag in
        var tag = String(decoding: trimmedBytes(String(tag)), as: UTF8.self)[...]
        if tag.hasPrefix("W/") { tag = tag.dropFirst(2) }
        return tag == "*" || tag == object.etag[...]
      }
    }
    guard let since = request.field("If-Modified-Since").flatMap(HTTPDate.unixSeconds) else { return false }
    return modified <= since
  }

  /// The value of `download` as a field.
  private var disposition: String? {
    guard let download = QueryText.parameters(request.query).first(where: { $0.name == "download" }) else { return nil }
    guard let name = download.value, !name.isEmpty else { return "attachment;" }
    let isPlain = name.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != 0x5C }
    let encoded = name.utf8.map { byte in
      let isSafe = isDigit(byte) || (65...90).contains(byte & 0xDF) || ".-_".utf8.contains(byte)
      let digits = (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      return isSafe ? String(UnicodeScalar(byte)) : "%" + digits
    }.joined()
    return isPlain ? "attachment; filename=\"\(name)\";" : "attachment; filename*=UTF-8''\(encoded);"
  }

  /// The one range that is asked for; `nil` for the whole, also where several are asked for.
  private var range: Range<Int>? {
    get throws {
      let size = Int(object.size)
      guard let field = request.field("Range"), field.hasPrefix("bytes="), !field.contains(",") else { return nil }
      // A client that goes on with an older content gets the new one from its beginning.
      if let tag = request.field("If-Range"), tag != object.etag { return nil }
      let parts = field.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, parts.allSatisfy({ $0.utf8.allSatisfy(isDigit) }) else { return nil }
      if parts[0].isEmpty {
        guard let count = Int(parts[1]) else { return nil }
        guard count > 0, size > 0 else { throw StorageError.range }
        return max(0, size - count)..<size
      }
      guard let first = Int(parts[0]) else { throw StorageError.range }
      let last = parts[1].isEmpty ? size - 1 : Int(parts[1]) ?? size - 1
      guard parts[1].isEmpty || first <= last else { return nil }
      guard first < size else { throw StorageError.range }
      return first..<min(last, size - 1) + 1
    }
  }
}
