import CVips
import Glibc
import Synchronization

/// Why an image cannot be read or made.
public enum ImageError: Error, Sendable, Equatable, CustomStringConvertible {
  /// libvips is not there, or not the one that is needed.
  case noLibrary(reason: String)
  /// The file is no image of a known format.
  case notAnImage(path: String)
  /// The file says that it is an image but cannot be read as one.
  case damaged(path: String, reason: String)
  /// The image cannot be written in that format.
  case cannotWrite(ImageFormat, reason: String)

  /// What happened, to which file, and what to do.
  public var description: String {
    switch self {
    case .noLibrary(let reason): "images need libvips: \(reason); install the package libvips42"
    case .notAnImage(let path): "'\(path)' is no image of a known format"
    case .damaged(let path, let reason): "the image '\(path)' is damaged: \(reason)"
    case .cannotWrite(let format, let reason): "the image cannot be written as \(format.mimeType): \(reason)"
    }
  }
}

/// The formats of images that are recognised, by content and not by name.
public enum ImageFormat: String, Sendable, CaseIterable {
  case jpeg, png, webp, gif, heic, avif, tiff

  /// Its media type.
  public var mimeType: String { "image/\(rawValue)" }
}

/// libvips, loaded with the first image: a program that sees none does not pay for it.
final class ImageLibrary: @unchecked Sendable {  // Proof: the table is written once, before anybody has it.
  /// Its functions.
  let vips: UnsafePointer<tm_vips>

  private static let loaded: Result<ImageLibrary, ImageError> = {
    let table = UnsafeMutablePointer<tm_vips>.allocate(capacity: 1)
    table.initialize(to: tm_vips())
    if let reason = tm_vips_load(table) { return .failure(.noLibrary(reason: String(cString: reason))) }
    // Every image is another one here: what libvips would keep of the last operations is of no use.
    table.pointee.cache_set_max(0)
    // A stand-in or a watcher is a guest on the machine.
    table.pointee.concurrency_set(1)
    // Not the loaders that their makers would not give strangers' files to.
    table.pointee.block_untrusted_set(1)
    return .success(ImageLibrary(table))
  }()

  private init(_ vips: UnsafePointer<tm_vips>) { self.vips = vips }

  /// The library.
  static func shared() throws(ImageError) -> ImageLibrary { try loaded.get() }

  /// What went wrong last, as one line.
  func problem() -> String {
    let text = vips.pointee.error_buffer().map { String(cString: $0) } ?? ""
    vips.pointee.error_clear()
    return text.split(whereSeparator: \.isNewline).first.map(String.init) ?? "unknown"
  }

  /// The format of a file by its first bytes.
  func format(of path: String) throws(ImageError) -> ImageFormat {
    guard let name = vips.pointee.foreign_find_load(path) else {
      vips.pointee.error_clear()
      throw .notAnImage(path: path)
    }
    switch String(cString: name) {
    case "VipsForeignLoadJpegFile": return .jpeg
    case "VipsForeignLoadPngFile": return .png
    case "VipsForeignLoadWebpFile": return .webp
    case "VipsForeignLoadNsgifFile": return .gif
    case "VipsForeignLoadTiffFile": return .tiff
    case "VipsForeignLoadHeifFile": return try Self.isAVIF(path) ? .avif : .heic
    default: throw .notAnImage(path: path)
    }
  }
}

/// An open image, closed with its last reference.
final class OpenImage {
  let library: ImageLibrary
  let raw: OpaquePointer

  init(_ raw: OpaquePointer, _ library: ImageLibrary) {
    self.raw = raw
    self.library = library
  }

  deinit { library.vips.pointee.unref(UnsafeMutableRawPointer(raw)) }

  /// A text among the image's metadata.
  func text(_ name: String) -> String? {
    guard library.vips.pointee.image_get_typeof(raw, name) != 0 else { return nil }
    var text: UnsafePointer<CChar>?
    guard library.vips.pointee.image_get_string(raw, name, &text) == 0, let text else {
      library.vips.pointee.error_clear()
      return nil
    }
    return String(cString: text)
  }

  /// Whether a text stands somewhere in a block of the image's metadata.
  func holds(_ text: StaticString, in name: String) -> Bool {
    guard library.vips.pointee.image_get_typeof(raw, name) != 0 else { return false }
    var (bytes, size): (UnsafeRawPointer?, Int) = (nil, 0)
    guard library.vips.pointee.image_get_blob(raw, name, &bytes, &size) == 0, let bytes else {
      library.vips.pointee.error_clear()
      return false
    }
    return UnsafeRawBufferPointer(start: bytes, count: size).place(of: text) != nil
  }

  /// Takes what says where it was taken out of the metadata.
  func removeLocation() {
    guard let names = library.vips.pointee.image_get_fields(raw) else { return }
    defer { library.vips.pointee.strfreev(names) }
    var place = names
    while let name = place.pointee {
      // The third directory of EXIF is that of GPS.
      if strncmp(name, "exif-ifd3-", 10) == 0 || strcmp(name, "xmp-data") == 0 {
        _ = library.vips.pointee.image_remove(raw, name)
      }
      place += 1
    }
  }
}
