import Testing

@testable import FileWorkspace

@Suite("Content hash")
struct ContentHashTests {
  /// Values of the published reference implementation (x64, 128 bits, seed 0).
  static let known: [(String, String)] = [
    ("", "00000000000000000000000000000000"),
    ("hello", "cbd8a7b341bd9b025b1e906a48ae1d19"),
    ("hello, world", "342fac623a5ebc8e4cdcbc079642414d"),
    ("19 Jan 2038 at 3:14:07 AM", "b89e5988b737affc664fc2950231b2cb"),
    ("The quick brown fox jumps over the lazy dog.", "cd99481f9ee902c9695da1a38987b6e7"),
  ]

  @Test("equals the reference implementation", arguments: known)
  func reference(text: String, hash: String) {
    #expect(ContentHash(of: Array(text.utf8)).description == hash)
  }

  @Test("reads back what it prints")
  func roundTrip() {
    let hash = ContentHash(of: Array("x".utf8))
    #expect(ContentHash(hash.description) == hash)
    #expect(ContentHash("") == nil)
    #expect(ContentHash(String(repeating: "+", count: 32)) == nil)
    #expect(ContentHash(String(repeating: "g", count: 32)) == nil)
  }

  @Test("every changed, added or removed byte changes it")
  func everyByte() {
    let text = (1...40).map { UInt8($0) }
    var seen: Set<ContentHash> = [ContentHash(of: text)]
    for index in text.indices {
      var other = text
      other[index] ^= 1
      #expect(seen.insert(ContentHash(of: other)).inserted)
      #expect(seen.insert(ContentHash(of: Array(text[..<index]))).inserted)
      #expect(seen.insert(ContentHash(of: Array(repeating: 0, count: index + 1))).inserted)
    }
  }
}
