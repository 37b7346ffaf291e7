import CVips

/// What an image's head says, read without its pixels.
public struct ImageInfo: Sendable, Hashable {
  /// What the file is, whatever it is called.
  public let format: ImageFormat
  /// In pixels, as the image is meant to be looked at.
  public let width: Int
  /// In pixels, as the image is meant to be looked at.
  public let height: Int
  /// How the stored pixels are to be turned, from 1 to 8 as EXIF counts; 1 is not at all.
  public let orientation: Int
  /// When it was taken, as the camera wrote it: `2026:10:18 13:00:27`, mostly in the local time of the place.
  public let takenAt: String?
  /// The camera's distance from UTC at that time, as in `+02:00`.
  public let takenAtOffset: String?
  /// Whether it says where it was taken, in EXIF or in XMP.
  public let hasLocation: Bool
  /// Whether it is a GIF or WebP of several pictures, shown one after the other.
  public let isMoving: Bool

  /// Reads the head of a file.
  public init(path: String) throws(ImageError) {
    let library = try ImageLibrary.shared()
    format = try library.format(of: path)
    guard let raw = tm_vips_open(library.vips, path) else { throw .damaged(path: path, reason: library.problem()) }
    let image = OpenImage(raw, library)
    let vips = library.vips.pointee
    let (stored, pages) = (Int(vips.image_get_width(raw)), Int(vips.image_get_page_height(raw)))
    orientation = min(8, max(1, Int(vips.image_get_orientation(raw))))
    (width, height) = orientation >= 5 ? (pages, stored) : (stored, pages)
    takenAt = Self.value(image.text("exif-ifd2-DateTimeOriginal"))
    takenAtOffset = Self.value(image.text("exif-ifd2-OffsetTimeOriginal"))
    hasLocation = image.text("exif-ifd3-GPSLatitude") != nil || image.holds("GPS", in: "xmp-data")
    isMoving = (format == .gif || format == .webp) && vips.image_get_n_pages(raw) > 1
  }

  /// A value of EXIF without libvips's note about its type: `2026:10:18 13:00:27 (2026:10:18 13:00:27, ASCII, …)`.
  private static func value(_ text: String?) -> String? {
    guard let text else { return nil }
    let bare = text.range(of: " (").map { text[..<$0] } ?? text[...]
    return bare.isEmpty ? nil : String(bare)
  }
}

extension String {
  /// Where a text begins in this one.
  fileprivate func range(of other: String) -> String.Index? {
    var place = startIndex
    while place < endIndex {
      if self[place...].hasPrefix(other) { return place }
      formIndex(after: &place)
    }
    return nil
  }
}
