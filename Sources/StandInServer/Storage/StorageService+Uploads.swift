import LosslessJSON
import SQLite

extension StorageService {
  /// Where an upload with a token goes, whether or not it may.
  func target(_ route: StorageRoute, _ head: StandInRequest) throws(StorageError) -> UploadTarget {
    let caller = try tokens.caller(of: head)
    return try target(
      route.bucket, route.key, caller: caller,
      upserts: head.method == "PUT" || head.field("x-upsert") == "true")
  }

  /// Where the token of a signed URL lets an upload go.
  func signedTarget(_ route: StorageRoute, _ head: StandInRequest) throws(StorageError) -> UploadTarget {
    guard let token = QueryText.parameters(head.query).first(where: { $0.name == "token" })?.value else {
      throw .invalidRequest("querystring must have required property 'token'")
    }
    return try signedTarget(token, route.bucket, route.key)
  }

  func signedTarget(_ token: String, _ bucket: String, _ key: String) throws(StorageError) -> UploadTarget {
    let claims = try tokens.signedClaims(token, .upload, "\(bucket)/\(key)")
    // The signer's rights were looked at when the URL was signed.
    var target = try target(
      bucket, key, caller: StorageCaller(role: .authenticated, subject: claims["owner"]?.stringValue),
      upserts: claims["upsert"]?.boolValue ?? false)
    target.isSigned = true
    return target
  }

  func target(
    _ bucket: String, _ key: String, caller: StorageCaller, upserts: Bool
  ) throws(StorageError) -> UploadTarget {
    let found = try self.bucket(bucket)
    return UploadTarget(
      bucket: bucket, key: key, version: newID(), caller: caller, upserts: upserts,
      sizeLimit: min(objectBytesMax, found.fileSizeLimit ?? .max), allowedMimeTypes: found.allowedMimeTypes)
  }

  func bucket(_ id: String) throws(StorageError) -> Bucket {
    guard let bucket = try used({ try Bucket.find(id, in: $0) }) else { throw .noSuchBucket }
    return bucket
  }

  /// Uses the database, with what fails there as an error of Storage.
  func used<Result: Sendable>(_ work: @Sendable (Database) throws -> Result) throws(StorageError) -> Result {
    do {
      return try database.use(work)
    } catch let error as StorageError {
      throw error
    } catch {
      throw .failure("the stand-in's database failed: \(error)")
    }
  }

  /// Why nothing may be stored there now; `nil` when it may.
  func refusal(of target: UploadTarget) -> StorageError? {
    do {
      _ = try used { try self.check(target, in: $0) }
      return nil
    } catch {
      return error
    }
  }

  /// Checks key, policies and whether the key is free; gives the object that is replaced.
  func check(_ target: UploadTarget, in database: Database) throws -> StoredObject? {
    guard ObjectKey.isKey(target.key) else { throw StorageError.key(target.key) }
    let old = try StoredObject.find(target.bucket, target.key, in: database)
    if !target.isSigned {
      let caller = target.caller
      guard caller.may(.insert, target.bucket, target.key, ownerID: caller.subject, policies) else {
        throw StorageError.policy
      }
      if let old, target.upserts, !caller.may(.select, old, policies) || !caller.may(.update, old, policies) {
        throw StorageError.policy
      }
    }
    if old != nil, !target.upserts { throw StorageError.keyExists }
    return old
  }

  /// Stores an upload whose body is in.
  func store(_ incoming: IncomingObject) throws -> StandInAnswer {
    let (file, etag) = try incoming.finish()
    let object = try store(file, etag: etag, at: incoming.target, incoming.description)
    return .json(200, ["Id": .string(object.id), "Key": .string("\(object.bucket)/\(object.name)")])
  }

  /// Makes an upload's file an object: the file is durable before its row, and the row before an old file goes.
  func store(
    _ file: UploadFile, etag: String, at target: UploadTarget, _ description: ObjectDescription
  ) throws -> StoredObject {
    // Asked before the file is moved, and again with the row: others write meanwhile.
    if let refusal = refusal(of: target) { throw refusal }
    let size = file.size
    let (now, id) = (now, newID())
    try files.adopt(file, as: target.version)
    do {
      let (object, old) = try durably { database in
        let old = try self.check(target, in: database)
        var object =
          old
          ?? StoredObject(
            id: id, bucket: target.bucket, name: target.key, ownerID: target.caller.subject, version: target.version,
            size: size, etag: etag, description: description, now: now)
        if old != nil { object.replace(version: target.version, size: size, etag: etag, description, now: now) }
        object.ownerID = target.caller.subject
        try object.save(in: database)
        return (object, old)
      }
      if let old { files.remove(old.version) }
      return object
    } catch {
      files.remove(target.version)
      throw error
    }
  }

  /// A transaction that outlives a power cut, and all before it: where a file goes once its row is gone.
  func durably<Result: Sendable>(_ work: @Sendable (Database) throws -> Result) throws(StorageError) -> Result {
    // What is in memory is lost with the process, whatever it is told.
    let isLasting = files.isLasting
    return try used { database in try database.transaction(isFlushed: isLasting) { try work(database) } }
  }
}

extension StoredObject {
  /// A new content with a new description; nothing of the old one stays.
  mutating func replace(
    version: String, size: Int64, etag: String, _ description: ObjectDescription, now: Timestamp
  ) {
    self.version = version
    self.size = size
    self.etag = etag
    mimeType = description.mimeType
    cacheControl = description.cacheControl
    robots = description.robots
    userMetadata = description.userMetadata
    updatedAt = now
  }
}
