import LosslessJSON

/// The rules for names of files and folders in a workspace; nothing here touches a disk.
public enum FileNames {
  /// How long a name that Tidemark chooses may be, extension included.
  public static let bytesMax = 80

  /// What the names of row files end in.
  public static let rowExtension = "json"

  /// Chooses the name of a row's file, from its title where that gives one.
  ///
  /// The name is the title in lower case with dashes, composed (NFC), without anything that some common file system
  /// refuses. Where it is taken, the end of the row's id is added, so that every replica chooses the same.
  ///
  /// - Parameters:
  ///   - title: The row's title; nil where it has none.
  ///   - id: The row's key as text.
  ///   - fileExtension: What the name ends in, without the dot; only letters and digits of it are used.
  ///   - isTaken: Whether a name is in use, asked with the name as `folded` gives it.
  /// - Returns: One safe path component of at most 80 bytes.
  public static func fileName(
    title: String?, id: String, fileExtension: String = rowExtension, isTaken: (_ folded: String) -> Bool
  ) -> String {
    let ending = ending(fileExtension)
    let slug = slug(title ?? "", bytesMax: bytesMax - ending.utf8.count)
    if !slug.isEmpty, !isReserved(slug), isFree(slug + ending, isTaken) { return slug + ending }
    let (tail, whole) = marks(of: id)
    var candidates = [whole]
    if !slug.isEmpty {
      let marked = [tail, whole].map { mark in
        let room = bytesMax - ending.utf8.count - mark.utf8.count - 1
        let short = shortened(slug, bytesMax: room)
        return short.isEmpty ? whole : short + "-" + mark
      }
      candidates = marked + candidates
    }
    for candidate in candidates where isFree(candidate + ending, isTaken) { return candidate + ending }
    // Only names that people chose can have taken the whole id; any free number will do.
    var number = 2
    while !isFree("\(whole)-\(number)\(ending)", isTaken) { number += 1 }
    return "\(whole)-\(number)\(ending)"
  }

  /// The title that an empty file takes from its name: `Call the plumber.json` is "Call the plumber".
  ///
  /// - Returns: The title, or nil where nothing is left of the name.
  public static func title(fromFileName name: String) -> String? {
    guard name.lowercased().hasSuffix(".json") else { return nil }
    let stem = name.dropLast(5).unicodeScalars.map { isControl($0) ? " " : $0 }
    var view = String.UnicodeScalarView()
    view.append(contentsOf: stem)
    var title = Substring(String(view))
    while title.first?.isWhitespace == true { title.removeFirst() }
    while title.last?.isWhitespace == true { title.removeLast() }
    return title.isEmpty ? nil : String(title)
  }

  /// A form in which names are equal that some file system takes for one, whatever their case and composition.
  public static func folded(_ name: String) -> String { TextForms.folded(name) }

  /// The name in Unicode's normalisation form C.
  public static func composed(_ name: String) -> String { TextForms.composed(name) }

  /// Whether a text is one path component that every common file system takes.
  ///
  /// False of an empty name, `.` and `..`, of slashes, backslashes, control characters and those that Windows refuses,
  /// of names that begin with a dot or `#`, end with a dot or a space, or are devices on Windows, of text that is not
  /// composed (NFC), and of more than 255 bytes.
  public static func isSafe(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first, let last = name.unicodeScalars.last else { return false }
    if name.utf8.count > 255 || ".# ".unicodeScalars.contains(first) || ". ".unicodeScalars.contains(last) {
      return false
    }
    let refused = "\"*/:<>?\\|".unicodeScalars
    if name.unicodeScalars.contains(where: { isControl($0) || isInvisible($0) || refused.contains($0) }) {
      return false
    }
    if isReserved(String(name.prefix { $0 != "." })) { return false }
    return TextForms.composed(name).utf8.elementsEqual(name.utf8)
  }

  // MARK: Parts

  private static func isFree(_ name: String, _ isTaken: (String) -> Bool) -> Bool {
    !isIgnored(name) && !isTaken(folded(name))
  }

  /// The dot and the extension, made safe; empty where nothing is left of it, or only what marks a temporary file.
  private static func ending(_ fileExtension: String) -> String {
    let letters = fileExtension.lowercased().utf8.filter { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
    let ending = "." + String(decoding: letters.prefix(10), as: UTF8.self)
    return letters.isEmpty || isIgnored("x" + ending) ? "" : ending
  }

  /// A text in lower case, words joined by dashes, cut at a character; empty where it has no letters and digits.
  private static func slug(_ text: String, bytesMax: Int) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return asciiSlug(text, bytesMax: bytesMax) }
    var scalars = String.UnicodeScalarView()
    var bytes = 0
    var isAfterLetter = false
    // A title may be a megabyte long; what lies far behind the cut is not worth composing.
    let lowered = TextForms.composed(TextForms.composed(String(text.unicodeScalars.prefix(400))).lowercased())
    for scalar in lowered.unicodeScalars {
      switch kind(of: scalar) {
      case .letter:
        scalars.append(scalar)
        isAfterLetter = true
      case .mark where isAfterLetter:
        scalars.append(scalar)
      case .dropped, .mark:
        continue
      case .separator:
        if isAfterLetter { scalars.append("-") }
        isAfterLetter = false
      }
      bytes += UTF8.width(scalar)
      if bytes > bytesMax * 4 { break }
    }
    return shortened(TextForms.composed(String(scalars)), bytesMax: bytesMax)
  }

  /// The same of a text without any other scalars: no table needs to be asked.
  private static func asciiSlug(_ text: String, bytesMax: Int) -> String {
    var slug: [UInt8] = []
    var bytes = 0
    for byte in text.utf8.prefix(400) where byte != UInt8(ascii: "'") {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): slug.append(byte | 0x20)
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): slug.append(byte)
      default: if slug.last.map({ $0 != UInt8(ascii: "-") }) ?? false { slug.append(UInt8(ascii: "-")) }
      }
      bytes += 1
      if bytes > bytesMax * 4 { break }
    }
    slug.removeLast(max(0, slug.count - bytesMax))
    while slug.last == UInt8(ascii: "-") { slug.removeLast() }
    return String(decoding: slug, as: UTF8.self)
  }

  private enum Kind {
    case letter
    case mark
    case dropped
    case separator
  }

  private static func kind(of scalar: Unicode.Scalar) -> Kind {
    if scalar == "'" || scalar == "\u{2019}" || isInvisible(scalar) { return .dropped }
    switch scalar.properties.generalCategory {
    case .lowercaseLetter, .uppercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
      .letterNumber:
      return .letter
    case .nonspacingMark, .spacingMark: return .mark
    default: return .separator
    }
  }

  /// Cuts a slug to a number of bytes, at a character, without a dash at the end.
  private static func shortened(_ slug: String, bytesMax: Int) -> String {
    var result = ""
    var bytes = 0
    for character in slug {
      bytes += character.utf8.count
      if bytes > bytesMax { break }
      result.append(character)
    }
    while result.last == "-" { result.removeLast() }
    return result
  }

  /// What is added to a name that is taken: the end of the id, and if need be all of it.
  ///
  /// The end, because the beginning of some kinds of UUID is a time, alike for rows made together.
  private static func marks(of id: String) -> (tail: String, whole: String) {
    let lowered = id.lowercased()
    if UUIDText.isValid(lowered) { return (String(lowered.suffix(8)), lowered) }
    let isPlain =
      !id.isEmpty && id.utf8.count <= 36 && !isReserved(id)
      && id.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
    let mark = isPlain ? id : hash(of: id)
    return (mark, mark)
  }

  /// A short name for any id: 64 bits of FNV-1a in hexadecimal, the same on every machine.
  private static func hash(of id: String) -> String {
    let value = id.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Whether a stem is a device's name on Windows, with whatever extension.
  private static func isReserved(_ stem: String) -> Bool {
    // Whatever scalars of three bytes fold to one of their letters.
    guard stem.utf8.count <= 3 * 7 else { return false }
    let stem = folded(stem)
    if ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"].contains(stem) { return true }
    guard stem.hasPrefix("com") || stem.hasPrefix("lpt"), stem.count == 4, let last = stem.last else { return false }
    return "0123456789¹²³".contains(last)
  }

  static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control || scalar.value == 0x2028 || scalar.value == 0x2029
  }

  /// Whether a scalar shows nothing: joiners, marks of direction, variation selectors, unassigned and private ones.
  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.properties.isDefaultIgnorableCodePoint { return true }
    switch scalar.properties.generalCategory {
    case .format, .unassigned, .privateUse, .surrogate: return true
    default: return false
    }
  }
}
