import CVips

/// A smaller or otherwise different form of an image.
public struct ImageRendition: Sendable, Hashable {
  /// How an image gets into a box of other proportions.
  public enum Resize: String, Sendable, CaseIterable {
    /// It fills the box, and what stands over is cut off on both sides.
    case cover
    /// It fits into the box whole.
    case contain
    /// It is stretched to the box.
    case fill
  }

  /// In pixels; `nil` follows from the other.
  public var width: Int?
  /// In pixels; `nil` follows from the other.
  public var height: Int?
  /// How it gets into the box.
  public var resize: Resize
  /// From 1 to 100, for formats that lose something.
  public var quality: Int
  /// `nil` keeps the image's own, or JPEG where that is only read here.
  public var format: ImageFormat?
  /// Whether what a camera wrote about time and place is left out.
  public var stripsMetadata: Bool

  /// A rendition; without a width and a height it is as large as the image.
  public init(
    width: Int? = nil, height: Int? = nil, resize: Resize = .cover, quality: Int = 80, format: ImageFormat? = nil,
    stripsMetadata: Bool = true
  ) {
    self.width = width
    self.height = height
    self.resize = resize
    self.quality = quality
    self.format = format
    self.stripsMetadata = stripsMetadata
  }

  /// Makes it from a file; it is turned as the file says, and never larger than the image.
  ///
  /// - Returns: The bytes, and the format that they are in.
  public func make(from path: String) throws(ImageError) -> (bytes: [UInt8], format: ImageFormat) {
    let library = try ImageLibrary.shared()
    let original = try library.format(of: path)
    let target = format ?? (original == .heic ? .jpeg : original)
    let box = (width: Int32(clamping: width ?? Self.unlimited), height: Int32(clamping: height ?? Self.unlimited))
    let isBox = width != nil && height != nil
    let down: Int32 = 2  // VIPS_SIZE_DOWN
    let force: Int32 = 3  // VIPS_SIZE_FORCE
    let centre: Int32 = 1  // VIPS_INTERESTING_CENTRE
    guard
      let raw = tm_vips_thumbnail(
        library.vips, path, box.width, box.height, isBox && resize == .fill ? force : down,
        isBox && resize == .cover ? centre : 0)
    else { throw .damaged(path: path, reason: library.problem()) }
    let image = OpenImage(raw, library)
    var buffer: UnsafeMutableRawPointer?
    var size = 0
    guard tm_vips_write(library.vips, image.raw, suffix(target), &buffer, &size) == 0, let buffer else {
      throw .cannotWrite(target, reason: library.problem())
    }
    defer { library.vips.pointee.free(buffer) }
    return (Array(UnsafeRawBufferPointer(start: buffer, count: size)), target)
  }

  /// More than any image has on a side (VIPS_MAX_COORD).
  private static let unlimited = 10_000_000

  private func suffix(_ format: ImageFormat) -> String {
    let quality = min(100, max(1, quality))
    let options = stripsMetadata ? ["strip"] : []
    func text(_ name: String, _ more: [String]) -> String {
      let all = more + options
      return all.isEmpty ? name : "\(name)[\(all.joined(separator: ","))]"
    }
    return switch format {
    case .jpeg: text(".jpg", ["Q=\(quality)"])
    case .png: text(".png", [])
    case .webp: text(".webp", ["Q=\(quality)"])
    case .gif: text(".gif", [])
    case .avif: text(".avif", ["Q=\(quality)", "effort=2"])
    case .heic: text(".heic", ["Q=\(quality)"])
    case .tiff: text(".tif", [])
    }
  }
}
