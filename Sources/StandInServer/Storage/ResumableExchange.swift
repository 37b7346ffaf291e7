import SQLite

/// One request that brings bytes of a resumable upload: it begins one or goes on with it.
///
/// What came in counts even when the connection breaks: it is made durable piece by piece, and at the end.
final class ResumableExchange: BodyReceiver {
  private let service: StorageService
  private let isCreation: Bool
  private let address: String
  private var upload: ResumableUpload?
  private var target: UploadTarget?
  private var file: UploadFile?
  private var hold: UploadLocks.Hold?
  private var heldID = ""
  private var durableOffset: Int64 = 0
  private var refusal: StandInAnswer?

  /// How many bytes a killed process may have to ask for again.
  private static let checkpointBytes: Int64 = 8 << 20

  init(_ head: StandInRequest, route: StorageRoute, service: StorageService) {
    self.service = service
    isCreation = head.method == "POST"
    let host = head.field("Host") ?? "localhost"
    address = "http://\(host)\(StorageService.prefix)/\(route.words.joined(separator: "/"))"
    do {
      try isCreation ? create(head, route) : resume(head, route)
    } catch let problem as ResumableProblem {
      refuse(problem.answer)
    } catch let error as StorageError {
      refuse(error.answer)
    } catch {
      refuse(ResumableProblem(500, "the upload could not be stored").answer)
    }
  }

  /// Lets go at once: the client may take long to send the rest.
  private func refuse(_ answer: StandInAnswer) {
    refusal = answer
    end()
  }

  var wantsMore: Bool { refusal == nil }

  // MARK: Heads

  private func create(_ head: StandInRequest, _ route: StorageRoute) throws {
    // A token that is no good is found before the protocol is looked at.
    let signature = try service.signature(head, route)
    let caller = signature == nil ? try service.tokens.caller(of: head) : .nobody
    guard head.field("Tus-Resumable") == "1.0.0" else { throw ResumableProblem.version }
    guard let length = head.field("Upload-Length").flatMap({ Int64($0) }), length >= 0 else {
      throw ResumableProblem(400, "Upload-Length header required")
    }
    let metadata = head.field("Upload-Metadata") ?? ""
    let values = ResumableUpload.values(metadata)
    guard let bucket = values["bucketName"], let key = values["objectName"], !bucket.isEmpty, !key.isEmpty else {
      throw ResumableProblem(400, "Upload-Metadata must name bucketName and objectName")
    }
    let target =
      try ResumableProblem.from { () throws(StorageError) in
        if let signature { return try self.service.signedTarget(signature, bucket, key) }
        return try self.service.target(bucket, key, caller: caller, upserts: head.field("x-upsert") == "true")
      }
    if let refusal = service.refusal(of: target) { throw ResumableProblem(refusal) }
    let upload = ResumableUpload(
      id: target.version, bucket: bucket, key: key, ownerID: target.caller.subject, upserts: target.upserts,
      length: length, metadata: metadata, now: service.now)
    guard length <= target.sizeLimit else { throw ResumableProblem(.tooLarge) }
    guard target.takes(upload.description.mimeType) else {
      throw ResumableProblem(.mimeType(upload.description.mimeType))
    }
    file = try service.files.openResumable(upload.id, isNew: true, offset: 0)
    try service.used { try upload.save(in: $0) }
    heldID = upload.id
    hold = service.uploads.take(upload.id)
    self.upload = upload
    self.target = target
  }

  private func resume(_ head: StandInRequest, _ route: StorageRoute) throws {
    let signature = try service.signature(head, route)
    let caller = signature == nil ? try service.tokens.caller(of: head) : .nobody
    guard head.field("Tus-Resumable") == "1.0.0" else { throw ResumableProblem.version }
    guard let offset = head.field("Upload-Offset").flatMap({ Int64($0) }) else {
      throw ResumableProblem(403, "Upload-Offset header required")
    }
    guard head.field("Content-Type") == "application/offset+octet-stream" else {
      throw ResumableProblem(403, "Content-Type must be application/offset+octet-stream")
    }
    let id = try service.upload(route).id
    heldID = id
    guard let hold = service.uploads.take(id) else { throw ResumableProblem(503, "acquiring lock timeout") }
    self.hold = hold
    // Read again: whoever held the lock has moved it on.
    let upload = try service.upload(route)
    self.upload = upload
    durableOffset = upload.offset
    let target = try ResumableProblem.from { () throws(StorageError) in
      if let signature { return try self.service.signedTarget(signature, upload.bucket, upload.key) }
      return try self.service.target(
        upload.bucket, upload.key, caller: caller, upserts: head.field("x-upsert") == "true")
    }
    if let refusal = service.refusal(of: target) { throw ResumableProblem(refusal) }
    guard offset == upload.offset else { throw ResumableProblem(409, "Upload-Offset conflict") }
    let length = head.field("Content-Length").flatMap { Int64($0) } ?? 0
    guard length <= upload.length - offset else { throw ResumableProblem(.tooLarge) }
    file = try service.files.openResumable(id, isNew: false, offset: offset)
    self.target = target
  }

  // MARK: The body

  func take(_ piece: UnsafeRawBufferPointer) {
    guard refusal == nil, let file, var upload, let hold else { return }
    if service.uploads.isWanted(hold) {
      return refuse(ResumableProblem(400, "Request aborted due to lock acquired").answer)
    }
    guard upload.offset + Int64(piece.count) <= upload.length else {
      return refuse(ResumableProblem(.tooLarge).answer)
    }
    do {
      try file.append(piece)
      upload.offset = file.size
      self.upload = upload
      if upload.offset - durableOffset >= Self.checkpointBytes { try checkpoint() }
    } catch {
      refuse(ResumableProblem(500, "the upload could not be stored").answer)
    }
  }

  /// Makes what came in durable, and then says so.
  ///
  /// Never of all bytes: an upload that is said to be complete and is no object would be taken for done.
  private func checkpoint() throws {
    guard let file, let upload, upload.offset > durableOffset, !upload.isComplete else { return }
    try service.files.makeDurable(file)
    try service.used { try upload.save(in: $0) }
    durableOffset = upload.offset
  }

  func end() {
    try? checkpoint()
    file = nil
    if let hold { service.uploads.giveBack(heldID, hold) }
    hold = nil
  }

  // MARK: The answer

  func answer() -> StandInAnswer {
    if let refusal { return refusal }
    guard let upload, let target, let file else { return ResumableProblem(500, "no upload").answer }
    do {
      if upload.isComplete {
        let etag = "\"\(try file.digest())\""
        _ = try service.store(file, etag: etag, at: target.naming(upload.id), upload.description)
        try service.forget(upload)
      } else {
        try checkpoint()
      }
    } catch let error as StorageError {
      return ResumableProblem(error).answer
    } catch {
      return ResumableProblem(500, "the upload could not be stored").answer
    }
    var fields: [(name: String, value: String)] = [("Tus-Resumable", "1.0.0")]
    if isCreation { fields.append(("Location", "\(address)/\(upload.location)")) }
    if !isCreation || upload.offset > 0 || upload.isComplete {
      fields.append(("Upload-Offset", String(upload.offset)))
    }
    if upload.isComplete {
      fields.append(("Tus-Complete", "1"))
    } else {
      fields.append(("Upload-Expires", HTTPDate.text(unixSeconds: upload.expiry)))
    }
    return StandInAnswer(status: isCreation ? 201 : 204, fields: fields)
  }
}

extension UploadTarget {
  /// The same place for a content that has its id already.
  fileprivate func naming(_ version: String) -> UploadTarget {
    var target = UploadTarget(
      bucket: bucket, key: key, version: version, caller: caller, upserts: upserts, sizeLimit: sizeLimit,
      allowedMimeTypes: allowedMimeTypes)
    target.isSigned = isSigned
    return target
  }
}

/// A refusal of a resumable upload: a true status and plain text.
struct ResumableProblem: Error {
  let status: Int
  let text: String

  init(_ status: Int, _ text: String) {
    self.status = status
    self.text = text
  }

  init(_ error: StorageError) { self.init(error.status, error.message) }

  static let version = ResumableProblem(412, "Tus-Resumable Required")

  /// Does something whose errors are told as text.
  static func from<Result>(_ work: () throws(StorageError) -> Result) throws(ResumableProblem) -> Result {
    do {
      return try work()
    } catch {
      throw ResumableProblem(error)
    }
  }

  var answer: StandInAnswer {
    StandInAnswer(
      status: status, fields: [("Content-Type", "text/plain; charset=utf-8"), ("Tus-Resumable", "1.0.0")],
      body: Array(text.utf8))
  }
}

extension StorageService {
  /// The token of a signed upload; `nil` on the route that wants an access token.
  func signature(_ head: StandInRequest, _ route: StorageRoute) throws(StorageError) -> String? {
    guard route.words.last == "sign" else { return nil }
    guard let token = head.field("x-signature") else {
      throw .invalidRequest("headers must have required property 'x-signature'")
    }
    _ = try tokens.signedClaims(token)
    return token
  }

  /// The upload that an address names.
  func upload(_ route: StorageRoute) throws -> ResumableUpload {
    guard route.key.isEmpty, let id = ResumableUpload.id(of: route.bucket),
      let upload = try used({ try ResumableUpload.find(id, in: $0) }), upload.location == route.bucket
    else { throw ResumableProblem(404, "The file for this url was not found") }
    guard Timestamp.seconds(of: now.microseconds) < upload.expiry else {
      try forget(upload)
      throw ResumableProblem(410, "The file for this url no longer exists")
    }
    return upload
  }

  /// Ends an upload; its file may have become an object's.
  func forget(_ upload: ResumableUpload) throws {
    try used { try $0.execute("DELETE FROM storage_uploads WHERE id = ?", [.text(upload.id)]) }
    files.removeResumable(upload.id)
  }

  /// The requests of the protocol that bring no bytes.
  func answerResumable(_ request: StandInRequest, _ route: StorageRoute) -> StandInAnswer {
    do {
      if request.method == "OPTIONS" {
        return StandInAnswer(
          status: 204,
          fields: [
            ("Tus-Resumable", "1.0.0"), ("Tus-Version", "1.0.0"),
            ("Tus-Extension", "creation,creation-with-upload,expiration,termination"),
            ("Tus-Max-Size", String(objectBytesMax)),
          ])
      }
      let signature = try signature(request, route)
      let caller = signature == nil ? try tokens.caller(of: request) : .nobody
      guard request.field("Tus-Resumable") == "1.0.0" else { throw ResumableProblem.version }
      let upload = try upload(route)
      if let signature {
        _ = try tokens.signedClaims(signature, .upload, "\(upload.bucket)/\(upload.key)")
      } else if caller.role != .service, caller.subject != upload.ownerID {
        throw ResumableProblem(404, "The file for this url was not found")
      }
      switch request.method {
      case "HEAD":
        return StandInAnswer(
          status: 200,
          fields: [
            ("Tus-Resumable", "1.0.0"), ("Upload-Offset", String(upload.offset)),
            ("Upload-Length", String(upload.length)), ("Upload-Metadata", upload.metadata),
            ("Cache-Control", "no-store"), ("Upload-Expires", HTTPDate.text(unixSeconds: upload.expiry)),
          ])
      case "DELETE":
        guard let hold = uploads.take(upload.id) else { throw ResumableProblem(503, "acquiring lock timeout") }
        defer { uploads.giveBack(upload.id, hold) }
        try forget(upload)
        return StandInAnswer(status: 204, fields: [("Tus-Resumable", "1.0.0")])
      default: throw ResumableProblem(404, "Not found")
      }
    } catch let problem as ResumableProblem {
      return problem.answer
    } catch let error as StorageError {
      return error.answer
    } catch {
      return ResumableProblem(500, "the stand-in's database failed").answer
    }
  }
}
