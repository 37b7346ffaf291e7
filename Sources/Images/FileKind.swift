import CMagic
import Glibc

/// What a file is that is no photo, in libmagic's words.
enum FileKind {
  private static let library: tm_magic? = {
    var table = tm_magic()
    return tm_magic_load(&table) == nil ? table : nil
  }()

  /// A few words such as `PDF document`, or `nil` where libmagic is missing or has none.
  static func words(for file: OpenFile) -> String? {
    // A cookie must not be used by two threads, so each question has its own.
    guard let library, let cookie = library.open(0) else { return nil }
    defer { library.close(cookie) }
    guard library.load(cookie, nil) == 0, lseek(file.descriptor, 0, SEEK_SET) == 0,
      let text = library.descriptor(cookie, file.descriptor)
    else { return nil }
    // Behind the first comma are details, some of them taken from the file itself.
    let words = String(cString: text).prefix { $0 != "," && $0 != "\n" }.prefix(60)
    return words.isEmpty || words == "data" ? nil : String(words)
  }
}
