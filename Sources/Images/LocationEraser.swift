import Glibc

/// Copies a photo bit by bit, but for what says where it was taken: that is blotted out in place, so that every other byte
/// stays where it was, whatever the format.
///
/// EXIF is found by the head of its TIFF block (TIFF 6.0, section 2) wherever that lies, so also in a second picture in the
/// file, as telephones write it; XMP by its outermost element.
enum LocationEraser {
  /// Bytes that go to a place of the copy.
  private struct Patch {
    let place: Int
    let bytes: [UInt8]
  }

  /// Copies a file, piece by piece.
  static func copy(_ path: String, _ format: ImageFormat, to target: String) throws(PhotoProblem) {
    let file = try OpenFile(path)
    var patches: [Patch] = []
    // A packet in a JPEG ends with its segment, which has at most 65,533 bytes.
    let packetMax = format == .jpeg ? 65_533 : 1 << 20
    let copy = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard copy >= 0 else { throw .notPrepared(reason: String(cString: strerror(errno))) }
    defer { close(copy) }
    for start in stride(from: 0, to: file.size, by: pieceSize) {
      // What begins in this piece may end in the next.
      let piece = try file.bytes(at: start, count: pieceSize + 15)
      for head: StaticString in ["II*\0", "MM\0*"] {
        for place in places(of: head, in: piece) { try blotGPS(file, at: start + place, &patches) }
      }
      for (head, end, empty) in packets {
        for place in places(of: head, in: piece) {
          let text = try file.bytes(at: start + place, count: packetMax)
          guard let last = places(of: end, in: text, beginningBefore: text.count).first else { continue }
          let length = last + end.utf8CodeUnitCount
          guard length >= empty.utf8.count else { continue }
          let spaces = [UInt8](repeating: UInt8(ascii: " "), count: length - empty.utf8.count)
          patches.append(Patch(place: start + place, bytes: Array(empty.utf8) + spaces))
        }
      }
      try write(Patch(place: start, bytes: Array(piece.prefix(pieceSize))), to: copy)
    }
    // Inner packets first: an outer one that covers them wins.
    for patch in patches.sorted(by: { $0.bytes.count < $1.bytes.count }) { try write(patch, to: copy) }
  }

  /// Blots out the directory of GPS and its values, if a TIFF block with one is here.
  private static func blotGPS(_ file: OpenFile, at base: Int, _ patches: inout [Patch]) throws(PhotoProblem) {
    let block = try file.bytes(at: base, count: blockMax)
    let isLittle = block[0] == UInt8(ascii: "I")
    func number(_ place: Int, _ count: Int) -> Int? {
      guard place >= 0, place + count <= block.count else { return nil }
      let bytes = block[place..<place + count]
      return isLittle ? bytes.reversed().reduce(0) { $0 << 8 | Int($1) } : bytes.reduce(0) { $0 << 8 | Int($1) }
    }
    /// The fields of a directory: tag, type, count of values and where the field's value stands.
    func fields(_ directory: Int) -> [(tag: Int, type: Int, count: Int, value: Int)] {
      guard let count = number(directory, 2), count <= 512 else { return [] }
      return (0..<count).compactMap { index in
        let place = directory + 2 + 12 * index
        guard let tag = number(place, 2), let type = number(place + 2, 2), let count = number(place + 4, 4) else {
          return nil
        }
        return (tag, type, count, place + 8)
      }
    }
    func blot(_ place: Int, _ count: Int) {
      guard place >= 8, count > 0, place + count <= block.count else { return }
      patches.append(Patch(place: base + place, bytes: [UInt8](repeating: 0, count: count)))
    }
    guard let first = number(4, 4) else { return }
    for pointer in fields(first) where pointer.tag == 0x8825 {
      guard let directory = number(pointer.value, 4) else { continue }
      let inside = fields(directory)
      for field in inside {
        let size = field.count * (field.type < sizes.count ? sizes[field.type] : 1)
        if size > 4, let value = number(field.value, 4) { blot(value, size) }
      }
      // A directory that counts no fields.
      blot(directory, 2 + 12 * inside.count)
    }
  }

  private static func places(
    of text: StaticString, in bytes: [UInt8], beginningBefore end: Int = pieceSize
  ) -> [Int] {
    bytes.withUnsafeBytes { bytes in
      var found: [Int] = []
      while let place = bytes.place(of: text, from: found.last.map { $0 + 1 } ?? 0), place < end { found.append(place) }
      return found
    }
  }

  private static func write(_ patch: Patch, to file: Int32) throws(PhotoProblem) {
    var done = 0
    while done < patch.bytes.count {
      let count = patch.bytes[done...].withUnsafeBytes {
        pwrite(file, $0.baseAddress, $0.count, off_t(patch.place + done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .notPrepared(reason: String(cString: strerror(errno))) }
      done += count
    }
  }

  /// How a packet begins and ends, and an empty one.
  private static let packets: [(StaticString, StaticString, String)] = [
    ("<x:xmpmeta", "</x:xmpmeta>", #"<x:xmpmeta xmlns:x="adobe:ns:meta/"></x:xmpmeta>"#),
    ("<rdf:RDF", "</rdf:RDF>", #"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"></rdf:RDF>"#),
  ]
  /// Bytes of a value of each type of field.
  private static let sizes = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8]
  private static let pieceSize = 1 << 20
  /// As far as a block is looked through for its directories.
  private static let blockMax = 128 << 10
}
