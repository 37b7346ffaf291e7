import LosslessJSON
import Randomness
import Testing

@Suite("Properties of values, text and edits") struct PropertyTests {
  static let styles: [JSONStyle] = [
    .compact, .pretty, .oneLine, JSONStyle(indent: "\t", lineEnd: "\r\n", colon: " : ", margin: "  "),
  ]

  @Test("what is written is read back as it was", arguments: UInt64(1)...8)
  func roundTrip(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<150 {
      let value = random.value()
      for style in Self.styles {
        let text = value.serialized(style)
        let read = try JSONValue(parsing: text)
        #expect(read == value)
        #expect(read.hashValue == value.hashValue)
        #expect(sameText(read.serialized(style), text))
      }
      let messy = random.messy(value)
      #expect(try JSONValue(parsing: messy) == value)
    }
  }

  @Test("setting a member changes that value alone", arguments: UInt64(1)...8)
  func setting(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<150 {
      let object = random.object()
      let document = try JSONDocument(parsing: random.messy(.object(object)))
      let value = random.value(levels: 2)
      let name = Bool.random(using: &random) && !object.isEmpty ? random.pick(object.names) : random.text()
      let previous = Bool.random(using: &random) && !object.isEmpty ? random.pick(object.names) : nil

      var expected = object
      let place =
        previous.flatMap { previous in object.names.firstIndex { sameText($0, previous) } }.map { $0 + 1 } ?? 0
      if object[name] == nil { expected.insert(value, named: name, at: place) } else { expected[name] = value }
      let edited = document.setting(name, to: value, after: previous)
      let read = try JSONDocument(parsing: edited.bytes)
      #expect(read.value == .object(expected))
      #expect(zip(read.value.objectValue?.names ?? [], expected.names).allSatisfy { sameText($0, $1) })
      for member in object where !sameText(member.name, name) {
        #expect(read.source(of: member.name) == document.source(of: member.name))
      }
      if object[name] != nil {
        let common = zip(document.bytes, edited.bytes).prefix { $0 == $1 }.count
        let tail = zip(document.bytes.reversed(), edited.bytes.reversed()).prefix { $0 == $1 }.count
        let source = try #require(document.source(of: name)).utf8.count
        #expect(common + tail + source >= document.bytes.count)
      }
      #expect(edited.setting(name, to: value, after: previous).bytes == edited.bytes)

      let removed = edited.removing(name)
      var left = expected
      left[name] = nil
      #expect(try JSONValue(parsing: removed.bytes) == .object(left))
    }
  }

  @Test("random bytes and damaged texts never crash, and what is read reads again", arguments: UInt64(1)...8)
  func anyBytes(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let alphabet =
      Array("{}[]\",:\\/ue0123456789.-+ntrfals \n\r\t#'".utf8)
      + [0x00, 0x1F, 0x7F, 0x80, 0xC3, 0xA9, 0xED, 0xF0, 0xFF]
    for round in 0..<600 {
      var bytes: [UInt8]
      if round % 2 == 0 {
        bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in random.pick(alphabet) }
      } else {
        bytes = Array(random.messy(random.value()).utf8)
        for _ in 0..<Int.random(in: 0...2, using: &random) where !bytes.isEmpty {
          let place = Int.random(in: 0..<bytes.count, using: &random)
          switch Int.random(in: 0..<3, using: &random) {
          case 0: bytes[place] = random.pick(alphabet)
          case 1: bytes.remove(at: place)
          default: bytes.removeSubrange(place...)
          }
        }
      }
      do {
        let document = try JSONDocument(parsing: bytes)
        #expect(document.bytes == bytes)
        #expect(try JSONValue(parsing: document.value.serialized()) == document.value)
        let edited = document.setting("a", to: ["b": [1]])
        #expect(try JSONValue(parsing: edited.bytes) == edited.value)
      } catch {
        #expect(error.position.offset <= bytes.count)
        #expect(error.position.line >= 1)
        #expect(!error.message.isEmpty)
        #expect(error.lineText.unicodeScalars.allSatisfy { $0.value >= 0x20 || $0 == "\t" })
      }
    }
  }

  private func sameText(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
}
