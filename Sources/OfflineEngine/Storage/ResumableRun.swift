import SupabaseAPI

/// A content that is sent in pieces, and may be sent by several runs of the program.
public struct ResumableBody: Sendable {
  /// The bytes; read by position, any of them more than once.
  public var source: any HTTPBodySource
  /// Tells this content from any other: an upload that was broken off goes on with the same only.
  public var mark: String
  /// Whether the bytes are still those that the mark tells of; asked around each piece.
  public var isUnchanged: @Sendable () -> Bool

  /// A content under its mark.
  public init(source: any HTTPBodySource, mark: String, isUnchanged: @escaping @Sendable () -> Bool) {
    self.source = source
    self.mark = mark
    self.isUnchanged = isUnchanged
  }

  /// A part of the bytes as the body of one request.
  struct Part: HTTPBodySource {
    let whole: any HTTPBodySource
    let start: Int64
    let count: Int64

    func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
      let room = Int(min(Int64(buffer.count), count - position))
      guard room > 0 else { return 0 }
      return try whole.read(at: start + position, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]))
    }
  }
}

/// One upload in pieces, from the place that an earlier run has left or from the beginning.
struct ResumableRun {
  private let calls: any StorageCalls
  private let places: ResumableStore
  private let path: ObjectPath
  private let body: ResumableBody
  private let options: UploadOptions
  private let progress: Monotonic

  /// How often in a row a piece may fail before the upload does.
  private static let failureCountMax = 4

  init(
    _ calls: any StorageCalls, _ places: ResumableStore, _ path: ObjectPath, _ body: ResumableBody,
    _ options: UploadOptions, report: @escaping @Sendable (TransferProgress) -> Void
  ) {
    self.calls = calls
    self.places = places
    self.path = path
    self.body = body
    self.options = options
    progress = Monotonic(total: body.source.count, report)
  }

  private var size: Int64 { body.source.count }

  func run() async throws -> UploadedObject {
    do {
      try await send()
    } catch {
      let meaning = calls.meaning(of: error)
      guard case .refused(let refusal) = meaning, !meaning.asksForOffset else { throw error }
      // What was refused for good is not gone on with.
      try places.forget()
      throw calls.failure(refusal.named([403: "AccessDenied", 413: "EntityTooLarge", 415: "InvalidMimeType"]))
    }
    try places.forget()
    return UploadedObject(id: nil, path: path.key)
  }

  private func send() async throws {
    var place = try places.place(of: body.mark)
    var offset: Int64 = 0
    if let kept = place {
      let found = try await self.offset(kept)
      // The server forgets an upload after a day, and once it is an object.
      if let found, found <= size { offset = found } else { place = nil }
    } else {
      // One of another content under this key.
      try await abandon(calls, places)
    }
    var failureCount = 0
    while true {
      let current: String
      if let place {
        current = place
      } else {
        current = try await create()
        try places.keep(current, of: body.mark)
        (place, offset) = (current, 0)
      }
      progress.note(offset)
      if offset == size { return }
      do {
        offset = try await send(current, from: offset)
        failureCount = 0
      } catch {
        let meaning = calls.meaning(of: error)
        guard meaning.isForgotten || meaning.asksForOffset else { throw error }
        failureCount += 1
        guard failureCount < Self.failureCountMax else { throw error }
        if meaning.isForgotten {
          place = nil
          continue
        }
        try await calls.environment.clock.sleep(for: .seconds(failureCount))
        guard let found = try await self.offset(current) else {
          place = nil
          continue
        }
        // The server has what it wants and still refuses the last piece: the object was made by somebody else.
        if found == offset, case .refused(let refusal) = meaning, refusal.message.contains("already exists") {
          throw calls.failure(ServerError(status: 409, code: "KeyAlreadyExists", message: refusal.message))
        }
        offset = min(found, size)
      }
    }
  }

  private func create() async throws -> String {
    do {
      return try await calls.resumable { resumable, token throws(SupabaseError) in
        try await resumable.create(path, length: size, options, accessToken: token)
      }
    } catch {
      guard case .refused(let refusal) = calls.meaning(of: error) else { throw error }
      throw calls.failure(refusal.named([404: "NoSuchBucket", 409: "KeyAlreadyExists"]))
    }
  }

  private func offset(_ place: String) async throws -> Int64? {
    try await calls.resumable { resumable, token throws(SupabaseError) in
      try await resumable.offset(place, accessToken: token)
    }
  }

  private func send(_ place: String, from offset: Int64) async throws -> Int64 {
    guard body.isUnchanged() else { throw calls.changedWhileSent }
    let count = min(ResumableClient.pieceBytes, size - offset)
    let part = ResumableBody.Part(whole: body.source, start: offset, count: count)
    let sent = try await calls.resumable { resumable, token throws(SupabaseError) in
      try await resumable.send(place, from: offset, part, upserts: options.upsert, accessToken: token) {
        progress.note(offset + $0.sent)
      }
    }
    guard body.isUnchanged() else { throw calls.changedWhileSent }
    return sent
  }
}

/// Gives up the upload that was broken off under a key, if there is one.
///
/// - Throws: Where the server could not be asked; then it is still on record.
func abandon(_ calls: any StorageCalls, _ places: ResumableStore) async throws {
  guard let place = try places.place() else { return }
  do {
    try await calls.resumable { resumable, token throws(SupabaseError) in
      try await resumable.abandon(place, accessToken: token)
    }
  } catch {
    // Over, unknown or not the user's any more: there is nothing to give up.
    guard case .refused = calls.meaning(of: error) else { throw error }
  }
  try places.forget()
}

extension StorageCalls {
  fileprivate func resumable<T: Sendable>(
    _ body: (ResumableClient, Secret?) async throws(SupabaseError) -> T
  ) async throws -> T {
    try await call { storage, token throws(SupabaseError) in
      try await body(ResumableClient(project: storage.project, http: environment.http), token)
    }
  }
}

extension StorageMeaning {
  /// Whether the server knows nothing of the upload any more.
  fileprivate var isForgotten: Bool {
    if case .refused(let error) = self { error.isResumable && [404, 410].contains(error.status) } else { false }
  }

  /// Whether the server may know better how far an upload is.
  fileprivate var asksForOffset: Bool {
    switch self {
    case .refused(let error): error.isResumable && [400, 409, 423].contains(error.status)
    case .unavailable: true
    case .undecided: false
    }
  }
}

extension ServerError {
  /// Whether it came as a plain text of the protocol of resumable uploads.
  fileprivate var isResumable: Bool { code == "Resumable" }

  /// The error under the code that the other routes have for its status.
  fileprivate func named(_ codes: [Int: String]) -> ServerError {
    guard isResumable, let code = codes[status] else { return self }
    return ServerError(status: status, code: code, message: message)
  }
}
