import Hashing
import LosslessJSON

/// An upload on its way in: its bytes go into a file of their own, whatever its key says.
///
/// What is wrong with it is found as early as it can be, so that a client does not send for nothing.
final class IncomingObject: BodyReceiver {
  /// How the bytes come.
  private enum Form {
    /// The body is the object.
    case raw
    /// The object is the first file of a form.
    case multipart(MultipartReader)
  }

  private enum Part {
    case none, file, ignored
    case field(String, [UInt8])
  }

  let target: UploadTarget
  private let files: ObjectFiles
  private var form = Form.raw
  private var part = Part.none
  private var hasFile = false
  private var fieldCount = 0
  private let digest = Digest(.md5)
  private(set) var description = ObjectDescription()
  /// Where the bytes are; made with the first of them.
  private var file: UploadFile?
  /// Why it cannot be stored.
  private(set) var refusal: StorageError?

  private static let fieldBytesMax = 1 << 20
  private static let fieldCountMax = 10

  /// Begins with the head; `checked` says what is wrong with the target already.
  init(_ request: StandInRequest, target: UploadTarget, files: ObjectFiles, refusal: StorageError?) {
    self.target = target
    self.files = files
    self.refusal = refusal
    do {
      if let type = request.field("Content-Type"), !type.isEmpty {
        if let reader = try MultipartReader(contentType: type) {
          form = .multipart(reader)
          return
        }
        description.mimeType = type
      }
    } catch {
      refuse(.invalidRequest("multipart: boundary not found"))
      return
    }
    description.cacheControl = request.field("cache-control") ?? description.cacheControl
    description.robots = request.field("x-robots-tag")
    // What is no JSON object is ignored, as a real server does.
    if let text = request.field("x-metadata"), let bytes = Base64URL.decodeAny(text) {
      description.userMetadata = (try? JSONValue(parsing: bytes).objectValue) ?? [:]
    }
    if let length = request.field("Content-Length").flatMap({ Int64($0) }), length > target.sizeLimit {
      refuse(.tooLarge)
    }
    if !target.takes(description.mimeType) { refuse(.mimeType(description.mimeType)) }
  }

  var wantsMore: Bool { refusal == nil }

  private func refuse(_ error: StorageError) { refusal = refusal ?? error }

  func take(_ piece: UnsafeRawBufferPointer) {
    guard refusal == nil else { return }
    guard case .multipart(var reader) = form else { return store(piece) }
    do {
      try reader.take(piece) { try handle($0) }
      form = .multipart(reader)
    } catch {
      refuse((error as? StorageError) ?? .invalidRequest("multipart: malformed body"))
    }
  }

  private func handle(_ event: MultipartReader.Event) throws {
    switch event {
    case .part(let part): begin(part)
    case .data(let bytes):
      switch part {
      case .file: store(bytes)
      case .field(let name, var value):
        value.append(contentsOf: bytes)
        guard value.count <= Self.fieldBytesMax else { throw StorageError.tooLarge }
        part = .field(name, value)
      case .none, .ignored: break
      }
    case .end:
      if case .field(let name, let value) = part { set(name, String(decoding: value, as: UTF8.self)) }
      part = .none
    }
  }

  private func begin(_ next: MultipartReader.Part) {
    if next.filename == nil {
      fieldCount += 1
      // A field behind the file comes too late to be seen.
      part = hasFile || fieldCount > Self.fieldCountMax ? .ignored : .field(next.name, [])
      return
    }
    guard !hasFile else {
      part = .ignored
      return
    }
    hasFile = true
    part = .file
    // The field `contentType` before it is stronger.
    if !hasOwnType { description.mimeType = next.contentType ?? description.mimeType }
    if !target.takes(description.mimeType) { refuse(.mimeType(description.mimeType)) }
  }

  private var hasOwnType = false

  private func set(_ name: String, _ value: String) {
    switch name {
    case "cacheControl": description.cacheControl = "max-age=\(value)"
    case "contentType":
      description.mimeType = value
      hasOwnType = true
    case "metadata", "userMetadata":
      description.userMetadata = (try? JSONValue(parsing: value).objectValue) ?? [:]
    default: break
    }
  }

  private func store(_ bytes: UnsafeRawBufferPointer) {
    do {
      let file = try self.file ?? files.makeIncoming(target.version)
      self.file = file
      guard file.size + Int64(bytes.count) <= target.sizeLimit else { return refuse(.tooLarge) }
      digest.update(bytes)
      try file.append(bytes)
    } catch {
      refuse(Self.failure(error))
    }
  }

  /// The file with all bytes and its ETag, once the body is in.
  func finish() throws(StorageError) -> (file: UploadFile, etag: String) {
    if let refusal { throw refusal }
    if case .multipart(let reader) = form {
      guard reader.isComplete, hasFile else { throw .invalidRequest("multipart: the form has no complete file") }
    }
    do {
      let file = try self.file ?? files.makeIncoming(target.version)
      self.file = file
      if ObjectKey.isFolderMarker(target.key), file.size > 0 {
        throw StorageError.invalidRequest("the placeholder of a folder must be empty")
      }
      return (file, "\"\(digest.finish())\"")
    } catch let error as StorageError {
      throw error
    } catch {
      throw Self.failure(error)
    }
  }

  private static func failure(_ error: any Error) -> StorageError {
    .failure("the upload could not be stored: \((error as? ObjectFiles.Failure)?.reason ?? "\(error)")")
  }

  func end() { file?.discard() }
}

/// Where an upload goes, and what its bucket takes.
struct UploadTarget: Sendable {
  let bucket: String
  let key: String
  /// The id of the new content.
  let version: String
  let caller: StorageCaller
  /// Whether an object of that key is replaced.
  let upserts: Bool
  /// Whether policies were asked already: when a URL for the upload was signed.
  var isSigned = false
  /// In bytes.
  let sizeLimit: Int64
  let allowedMimeTypes: [String]?

  func takes(_ mimeType: String) -> Bool {
    allowedMimeTypes.map { $0.isEmpty || ObjectKey.isMimeType(mimeType, among: $0) } ?? true
  }
}
