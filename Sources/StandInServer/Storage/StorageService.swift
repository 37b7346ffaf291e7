import LosslessJSON
import SQLite

/// Answers `/storage/v1` as Supabase Storage does with files on disk.
final class StorageService: Sendable {
  let database: SharedDatabase
  let files: ObjectFiles
  let tokens: StorageTokens
  let policies: [ObjectPolicy]
  /// The buckets whose rows signed-in users may see.
  let shownBuckets: Set<String>
  /// The greatest size of an object, in bytes.
  let objectBytesMax: Int64
  /// The greatest size of a request that is no upload.
  let bodyBytesMax: Int
  let uploads: UploadLocks
  let effects: StandInEffects

  static let prefix = "/storage/v1"

  /// Prepares the files and the declared buckets.
  init(
    database: SharedDatabase, folder: String?, keys: Keys, configuration: StandInConfiguration
  ) throws(StandInError) {
    self.database = database
    files = ObjectFiles(folder: folder)
    tokens = StorageTokens(keys: keys, effects: configuration.effects)
    policies = configuration.schema.storage.policies
    shownBuckets = Set(configuration.schema.storage.buckets.filter(\.isShown).map(\.id))
    objectBytesMax = configuration.objectBytesMax
    bodyBytesMax = configuration.bodyBytesMax
    effects = configuration.effects
    uploads = UploadLocks(waitMilliseconds: configuration.uploadLockMilliseconds)
    let now = Timestamp(microseconds: effects.now())
    do {
      let (versions, resumable) = try database.use { database in
        for declared in configuration.schema.storage.buckets
        where try Bucket.find(declared.id, in: database) == nil {
          try Bucket(
            id: declared.id, name: declared.id, owner: "", isPublic: declared.isPublic,
            fileSizeLimit: declared.fileSizeLimit, allowedMimeTypes: declared.allowedMimeTypes, now: now
          ).save(in: database)
        }
        func ids(_ sql: String) throws -> Set<String> { Set(try database.rows(sql).compactMap { $0.text("id") }) }
        return (
          try ids("SELECT version AS id FROM storage_objects"), try ids("SELECT id FROM storage_uploads")
        )
      }
      try files.prepare(versions: versions, uploads: resumable)
    } catch let failure as ObjectFiles.Failure {
      throw .dataFolder(path: folder ?? "", reason: failure.reason)
    } catch {
      throw .database(reason: "\(error)")
    }
  }

  var now: Timestamp { Timestamp(microseconds: effects.now()) }

  func newID() -> String { UUIDText.random(effects.randomBytes) }

  // MARK: Bodies

  /// How a request's body is taken: an upload's goes to the disk.
  func bodyPlan(_ head: StandInRequest) -> BodyPlan {
    receiver(for: head).map(BodyPlan.pieces) ?? .memory(bytesMax: bodyBytesMax)
  }

  private func receiver(for head: StandInRequest) -> (any BodyReceiver)? {
    let route = StorageRoute(head)
    switch (head.method, route.words) {
    case ("POST", ["object"]), ("PUT", ["object"]):
      guard !route.key.isEmpty else { return nil }
      return incoming(head) { () throws(StorageError) in try self.target(route, head) }
    case ("PUT", ["object", "upload", "sign"]):
      return incoming(head) { () throws(StorageError) in try self.signedTarget(route, head) }
    case ("POST", ["upload", "resumable"]), ("PATCH", ["upload", "resumable"]),
      ("POST", ["upload", "resumable", "sign"]), ("PATCH", ["upload", "resumable", "sign"]):
      return ResumableExchange(head, route: route, service: self)
    default: return nil
    }
  }

  private func incoming(
    _ head: StandInRequest, target: () throws(StorageError) -> UploadTarget
  ) -> IncomingObject {
    do {
      let target = try target()
      return IncomingObject(head, target: target, files: files, refusal: refusal(of: target))
    } catch {
      let nowhere = UploadTarget(
        bucket: "", key: "", version: "", caller: .nobody, upserts: false, sizeLimit: 0, allowedMimeTypes: nil)
      return IncomingObject(head, target: nowhere, files: files, refusal: error)
    }
  }

  // MARK: Answers

  /// Answers one request.
  func answer(_ request: StandInRequest) -> StandInAnswer {
    do {
      // A request that came without a socket has its body in memory.
      guard let receiver = request.receiver else {
        guard let receiver = receiver(for: request) else { return try route(request) }
        defer { receiver.end() }
        if receiver.wantsMore, !request.body.isEmpty { request.body.withUnsafeBytes { receiver.take($0) } }
        return try answer(request, receiver)
      }
      return try answer(request, receiver)
    } catch let error as StorageError {
      return error.answer
    } catch let failure as ObjectFiles.Failure {
      return StorageError.failure("the stand-in's disk failed: \(failure.reason)").answer
    } catch {
      return StorageError.failure("the stand-in's database failed: \(error)").answer
    }
  }

  private func answer(_ request: StandInRequest, _ receiver: any BodyReceiver) throws -> StandInAnswer {
    if let incoming = receiver as? IncomingObject { return try store(incoming) }
    if let exchange = receiver as? ResumableExchange { return exchange.answer() }
    return try route(request)
  }

  private func route(_ request: StandInRequest) throws -> StandInAnswer {
    let route = StorageRoute(request)
    switch (request.method, route.words) {
    case ("GET", ["bucket"]), ("POST", ["bucket"]), ("PUT", ["bucket"]), ("DELETE", ["bucket"]):
      return try answerBucket(request, route)
    case ("GET", ["object"]), ("HEAD", ["object"]), ("GET", ["object", "authenticated"]),
      ("HEAD", ["object", "authenticated"]), ("GET", ["object", "public"]), ("HEAD", ["object", "public"]):
      return try download(request, route)
    case ("GET", ["object", "sign"]), ("HEAD", ["object", "sign"]): return try downloadSigned(request, route)
    case ("GET", ["object", "info"]), ("GET", ["object", "info", "authenticated"]),
      ("GET", ["object", "info", "public"]):
      return .json(200, try readable(request, route).info)
    case ("POST", ["object", "list"]): return try list(request, bucket: route.bucket)
    case ("POST", ["object", "list-v2"]): return try listV2(request, bucket: route.bucket)
    case ("POST", ["object", "move"]): return try move(request)
    case ("POST", ["object", "copy"]): return try copy(request)
    case ("DELETE", ["object"]):
      return route.key.isEmpty ? try removeMany(request, route.bucket) : try removeOne(request, route)
    case ("POST", ["object", "sign"]):
      return route.key.isEmpty ? try signMany(request, route.bucket) : try signOne(request, route)
    case ("POST", ["object", "upload", "sign"]): return try signUpload(request, route)
    case ("GET", ["render", "image", "authenticated"]), ("GET", ["render", "image", "public"]),
      ("GET", ["render", "image", "sign"]):
      return try render(request, route)
    case (_, ["upload", "resumable"]), (_, ["upload", "resumable", "sign"]):
      return answerResumable(request, route)
    case ("GET", ["health"]): return .json(200, ["healthy": true])
    case ("GET", ["version"]):
      return StandInAnswer(
        status: 200, fields: [("Content-Type", "text/plain; charset=utf-8")], body: Array("stand-in".utf8))
    case ("GET", ["status"]): return StandInAnswer(status: 200)
    default: throw StorageError.noRoute(request.method, String(request.path.dropFirst(Self.prefix.count)))
    }
  }
}

/// What a path of Storage names: the words of a route, a bucket and a key.
struct StorageRoute: Equatable {
  /// The route's words, such as `object`, `sign`.
  var words: [String] = []
  var bucket = ""
  /// Decoded; empty when the path ends with the bucket.
  var key = ""

  private static let objectWords: Set<String> = [
    "authenticated", "public", "sign", "info", "list", "list-v2", "move", "copy", "upload",
  ]

  init(_ request: StandInRequest) {
    var rest = request.path.dropFirst(StorageService.prefix.count).dropFirst()
    func next() -> String {
      let slash = rest.firstIndex(of: "/")
      let word = rest[..<(slash ?? rest.endIndex)]
      rest = slash.map { rest[rest.index(after: $0)...] } ?? ""
      return QueryText.decodedPath(word)
    }
    func peek() -> String { String(rest.prefix { $0 != "/" }) }
    words = [next()]
    switch words[0] {
    case "object":
      if Self.objectWords.contains(peek()) { words.append(next()) }
      if words.last == "info", ["authenticated", "public"].contains(peek()) { words.append(next()) }
      if words.last == "upload", peek() == "sign" { words.append(next()) }
    case "render":
      words += [next(), next()]
    case "upload":
      words.append(next())
      if peek() == "sign" { words.append(next()) }
    default: break
    }
    bucket = next()
    key = QueryText.decodedPath(rest)
  }
}
