/// The end of a JPEG (ITU-T T.81, annex B): the marker EOI behind the coded pixels.
enum JPEGEnd {
  /// Whether the picture is there to its end; what follows it may be anything.
  static func isReached(in file: OpenFile) throws(PhotoProblem) -> Bool {
    guard let scan = try firstScan(in: file) else { return false }
    // Nearly every file ends with its picture. The bytes FF D9 cannot be among the coded pixels.
    if file.size - 2 >= scan, try file.number(at: file.size - 2, bytes: 2) == 0xFFD9 { return true }
    return try hasEnd(in: file, from: scan)
  }

  /// Where the first coded pixels are.
  private static func firstScan(in file: OpenFile) throws(PhotoProblem) -> Int? {
    var place = 2
    while let marker = try marker(in: file, at: &place) {
      guard let length = try file.number(at: place, bytes: 2), length >= 2 else { return nil }
      place += length
      if marker == 0xDA { return place }
    }
    return nil
  }

  /// Goes from scan to scan: a progressive picture has several, with tables between them.
  private static func hasEnd(in file: OpenFile, from scan: Int) throws(PhotoProblem) -> Bool {
    var place = scan
    while let found = try file.next(0xFF, from: place) {
      place = found
      guard let marker = try marker(in: file, at: &place) else { return false }
      switch marker {
      case 0, 0xD0...0xD7: continue  // A byte FF of the pixels, or a mark to restart at.
      case 0xD9: return true
      default:
        guard let length = try file.number(at: place, bytes: 2), length >= 2 else { return false }
        place += length
      }
    }
    return false
  }

  /// The kind of the marker at a place, and the place behind it; `nil` if there is none.
  private static func marker(in file: OpenFile, at place: inout Int) throws(PhotoProblem) -> UInt8? {
    guard try file.byte(at: place) == 0xFF else { return nil }
    repeat { place += 1 } while try file.byte(at: place) == 0xFF  // Any number of FF may fill up.
    defer { place += 1 }
    return try file.byte(at: place)
  }
}

/// The end of a PNG (ISO/IEC 15948, section 5): the chunk IEND.
enum PNGEnd {
  /// Whether every chunk is there.
  static func isReached(in file: OpenFile) throws(PhotoProblem) -> Bool {
    var place = 8
    while let length = try file.number(at: place, bytes: 4), let kind = try file.number(at: place + 4, bytes: 4) {
      place += 12 + length  // Length, kind and check sum around it.
      guard place <= file.size else { return false }
      if kind == 0x4945_4E44 { return true }
    }
    return false
  }
}

/// The end of a GIF (version 89a): the trailer.
enum GIFEnd {
  /// Whether every block is there.
  static func isReached(in file: OpenFile) throws(PhotoProblem) -> Bool {
    guard let screen = try file.byte(at: 10) else { return false }
    var place = 13 + tableSize(screen)
    while let block = try file.byte(at: place) {
      switch block {
      case 0x3B: return true
      case 0x21: place += 2  // An extension and its label.
      case 0x2C:
        guard let image = try file.byte(at: place + 9) else { return false }
        place += 10 + tableSize(image) + 1  // The size of the first code.
      default: return false
      }
      repeat {
        guard let length = try file.byte(at: place) else { return false }
        place += 1 + Int(length)
        if length == 0 { break }
      } while true
    }
    return false
  }

  /// How many bytes the table of colours takes that these flags announce.
  private static func tableSize(_ flags: UInt8) -> Int { flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1) }
}

/// The end of a RIFF file, which WebP is: its head says how many bytes follow.
enum RIFFEnd {
  /// The size that a whole file has.
  static func place(in file: OpenFile) throws(PhotoProblem) -> Int {
    let counted = try file.bytes(at: 4, count: 4).reversed().reduce(0) { $0 << 8 | Int($1) }
    return 8 + counted
  }
}

/// The end of a file of boxes (ISO/IEC 14496-12, section 4.2), which HEIC and AVIF are.
enum ISOEnd {
  /// Whether every box is there, with the pictures' description and their data among them.
  static func isReached(in file: OpenFile) throws(PhotoProblem) -> Bool {
    var place = 0
    var kinds: Set<Int> = []
    while place < file.size {
      guard let short = try file.number(at: place, bytes: 4), let kind = try file.number(at: place + 4, bytes: 4) else {
        return false
      }
      kinds.insert(kind)
      let size: Int
      switch short {
      case 0: size = file.size - place  // It goes on to the end, wherever that is.
      case 1:
        guard let long = try file.number(at: place + 8, bytes: 8), long >= 16 else { return false }
        size = long
      case 2..<8: return false
      default: size = short
      }
      guard size <= file.size - place else { return false }
      place += size
    }
    return kinds.isSuperset(of: [0x6D65_7461, 0x6D64_6174])  // meta, mdat
  }
}
