extension ImageInfo {
  /// Reads the head of a photo, after making sure that it is one and whole.
  ///
  /// What it is follows from its bytes and not from its name. A JPEG is read to its end only where something lies behind
  /// the picture, such as the film of a motion photo; otherwise a few pieces are read, however large the file is.
  public init(photo path: String) throws(PhotoProblem) {
    let file = try OpenFile(path)
    guard file.size > 0 else { throw .empty }
    guard let format = try ImageFormat(photo: file) else { throw .otherKind(FileKind.words(for: file)) }
    guard try format.isWhole(file) else { throw .truncated(format) }
    do throws(ImageError) {
      try self.init(path: file.systemPath)
    } catch {
      switch error {
      case .noLibrary(let reason): throw .noLibrary(reason: reason)
      case .damaged(_, let reason): throw .damaged(format, reason: reason)
      case .notAnImage, .cannotWrite: throw .damaged(format, reason: "its head cannot be read")
      }
    }
    guard self.format == format else { throw .damaged(format, reason: "it is \(self.format.name) to the decoder") }
  }
}

extension ImageFormat {
  /// What kind of photo a file begins as, or `nil` if it is none.
  init?(photo file: OpenFile) throws(PhotoProblem) {
    let head = try file.bytes(at: 0, count: 12)
    func has(_ bytes: [UInt8], at place: Int = 0) -> Bool { head.dropFirst(place).starts(with: bytes) }
    if has([0xFF, 0xD8, 0xFF]) {
      self = .jpeg
    } else if has([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      self = .png
    } else if has(Array("GIF87a".utf8)) || has(Array("GIF89a".utf8)) {
      self = .gif
    } else if has(Array("RIFF".utf8)), has(Array("WEBP".utf8), at: 8) {
      self = .webp
    } else if has(Array("ftyp".utf8), at: 4) {
      switch try Self.brands(file) {
      case let brands where !brands.isDisjoint(with: ["avif", "avis"]): self = .avif
      case let brands where !brands.isDisjoint(with: ["heic", "heix", "heim", "heis", "hevc", "hevx"]): self = .heic
      default: return nil
      }
    } else {
      return nil
    }
  }

  /// The brands of the first box (ISO/IEC 14496-12, section 4.3): the major one, and behind the version the others.
  private static func brands(_ file: OpenFile) throws(PhotoProblem) -> Set<String> {
    let size = min(try file.number(at: 0, bytes: 4) ?? 0, 512)
    let box = try file.bytes(at: 0, count: size)
    let places = [8] + Array(stride(from: 16, to: max(16, box.count - 3), by: 4))
    return Set(places.filter { $0 + 4 <= box.count }.map { String(decoding: box[$0..<$0 + 4], as: UTF8.self) })
  }

  /// Whether a file that begins in this format also ends in it.
  func isWhole(_ file: OpenFile) throws(PhotoProblem) -> Bool {
    switch self {
    case .jpeg: try JPEGEnd.isReached(in: file)
    case .png: try PNGEnd.isReached(in: file)
    case .gif: try GIFEnd.isReached(in: file)
    case .webp: try file.size >= RIFFEnd.place(in: file)
    case .heic, .avif: try ISOEnd.isReached(in: file)
    case .tiff: true  // Not a format of photos.
    }
  }
}
