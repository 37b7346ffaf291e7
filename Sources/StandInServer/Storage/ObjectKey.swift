/// What may name objects and buckets, and which types a bucket takes.
enum ObjectKey {
  private static let others = Set("_/!.*'() &$@=;:+,?-".utf8)

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: others.contains(byte)
    }
  }

  /// The longest key that the store behind a project takes.
  private static let keyBytesMax = 1_024

  static func isKey(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= keyBytesMax && text.utf8.allSatisfy(isAllowed)
  }

  static func isBucketName(_ text: String) -> Bool {
    (1...100).contains(text.utf8.count) && text.utf8.allSatisfy { isAllowed($0) && $0 != UInt8(ascii: "/") }
      && text.first != " " && text.last != " "
  }

  /// The marker by which the dashboard keeps an empty folder.
  static func isFolderMarker(_ key: String) -> Bool { key.hasSuffix(".emptyFolderPlaceholder") }

  /// The key's first folder; `nil` for an object outside of folders.
  static func firstFolder(_ key: String) -> Substring? {
    key.utf8.firstIndex(of: UInt8(ascii: "/")).map { key[..<$0] }
  }

  /// Whether a type with or without parameters is among `image/png`, `image/*` or `*/*`.
  static func isMimeType(_ type: String, among allowed: [String]) -> Bool {
    let bare = type.prefix { $0 != ";" }.lowercased()
    let name = bare.filter { $0 != " " }
    return allowed.contains { pattern in
      let pattern = pattern.lowercased()
      if pattern == name || pattern == "*/*" { return true }
      return pattern.hasSuffix("/*") && name.hasPrefix(pattern.dropLast())
    }
  }

  /// A size as the clients write it: a number of bytes, or a text such as `50MB` in steps of 1,024.
  static func byteCount(_ text: String) -> Int64? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int64(digits) else { return nil }
    let unit = text.dropFirst(digits.count).filter { $0 != " " }.uppercased()
    guard let steps = ["": 0, "B": 0, "KB": 1, "MB": 2, "GB": 3, "TB": 4][unit] else { return nil }
    let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: 1 << (10 * Int64(steps)))
    return isTooLarge ? nil : bytes
  }
}
