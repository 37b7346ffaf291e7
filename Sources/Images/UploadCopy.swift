import CVips
import Glibc

/// How the copy of a photo that is sent differs from the file, which itself is never altered.
public struct UploadCopy: Sendable, Hashable {
  /// Whether the place where it was taken is left out: the GPS part of EXIF, and XMP whole.
  public var stripsLocation: Bool
  /// In pixels; what is larger on a side is made smaller, but moving pictures stay as they are.
  public var longestEdge: Int?
  /// Whether HEIC, which few browsers show, becomes JPEG.
  public var convertsHEIC: Bool

  /// A way to make copies; without anything set, the file itself is sent.
  public init(stripsLocation: Bool = false, longestEdge: Int? = nil, convertsHEIC: Bool = false) {
    self.stripsLocation = stripsLocation
    self.longestEdge = longestEdge
    self.convertsHEIC = convertsHEIC
  }

  /// Makes the copy of a photo.
  ///
  /// Where the pixels can stay they do, bit by bit. A HEIC that is made smaller becomes a JPEG. It is shown the same way up as
  /// the file.
  ///
  /// - Parameters:
  ///   - path: The photo, which is only read.
  ///   - info: What its head says.
  ///   - target: Where the copy goes; what was there is gone.
  /// - Returns: The copy's format, or `nil` if the file itself can be sent and nothing was written.
  /// - Throws: ``PhotoProblem``, with no file left at `target`. A copy that still says where it was taken is one.
  public func make(from path: String, info: ImageInfo, to target: String) throws(PhotoProblem) -> ImageFormat? {
    let isShrunk = !info.isMoving && longestEdge.map { max(info.width, info.height) > $0 } ?? false
    let strips = stripsLocation && info.hasLocation
    let format: ImageFormat = info.format == .heic && (convertsHEIC || isShrunk) ? .jpeg : info.format
    guard isShrunk || strips || format != info.format else { return nil }
    do throws(PhotoProblem) {
      // Nothing is lost when a PNG is written anew, and its check sums are made anew with it.
      if isShrunk || format != info.format || format == .png {
        try render(path, info, as: format, edge: isShrunk ? longestEdge : nil, to: target)
      } else {
        try LocationEraser.copy(path, format, to: target)
      }
      if strips {
        let made = try? ImageInfo(path: target)
        guard let made, !made.hasLocation else { throw .keepsLocation(info.format) }
      }
    } catch {
      unlink(target)
      throw error
    }
    return format
  }

  /// Writes the photo's pixels anew, piece by piece where its format allows that.
  private func render(
    _ path: String, _ info: ImageInfo, as format: ImageFormat, edge: Int?, to target: String
  ) throws(PhotoProblem) {
    guard info.width * info.height <= Self.pixelsMax else {
      throw .notPrepared(reason: "\(info.width) × \(info.height) pixels are too many")
    }
    let library: ImageLibrary
    do { library = try ImageLibrary.shared() } catch { throw .noLibrary(reason: "\(error)") }
    let photo = try OpenFile(path)
    guard let raw = tm_vips_shrink(library.vips, photo.systemPath, Int32(clamping: edge ?? Int(Int16.max) * 100)) else {
      throw .damaged(info.format, reason: library.problem())
    }
    let image = OpenImage(raw, library)
    if stripsLocation { image.removeLocation() }
    let file = open(target, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .notPrepared(reason: String(cString: strerror(errno))) }
    defer { close(file) }
    guard tm_vips_write_file(library.vips, image.raw, suffix(format), file) == 0 else {
      throw .notPrepared(reason: library.problem())
    }
  }

  /// The format with its options, as libvips wants it: a quality at which nobody sees a difference.
  private func suffix(_ format: ImageFormat) -> String {
    switch format {
    case .jpeg: ".jpg[Q=90]"
    case .webp: ".webp[Q=90]"
    case .avif: ".avif[Q=75,effort=2]"
    case .png, .gif, .heic, .tiff: ".\(format.rawValue)"
    }
  }

  /// More would have to be held at once in formats that cannot be read piece by piece.
  private static let pixelsMax = 120_000_000
}
