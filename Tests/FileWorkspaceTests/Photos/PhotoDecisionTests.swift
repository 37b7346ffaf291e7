import Testing

@testable import FileWorkspace

@Suite("What is to be done about a photo")
struct PhotoDecisionTests {
  private static let here = PhotoPlace(owner: "t1", name: "a.jpg")
  private static let there = PhotoPlace(owner: "t2", name: "a.jpg")
  private static let renamed = PhotoPlace(owner: "t1", name: "b.jpg")
  private static let base = PhotoInput.Base(object: "u/1", sha256: "one", place: here)
  private static let row = PhotoInput.Row.there(object: "u/1", sha256: "one", place: here)
  private static let replaced = PhotoInput.Row.there(object: "u/1.x", sha256: "three", place: here)

  private static func input(
    _ base: PhotoInput.Base?, _ file: PhotoInput.File, _ row: PhotoInput.Row, at place: PhotoPlace? = here,
    isOwnerOnServer: Bool = true, mayDownload: Bool = true
  ) -> PhotoInput {
    PhotoInput(
      base: base, file: file, place: place, row: row, isOwnerOnServer: isOwnerOnServer, mayDownload: mayDownload)
  }

  private static let unfetched = PhotoInput.Base(object: "u/1", sha256: nil, place: here)

  @Test(
    "each combination of file, record and row has its steps",
    arguments: [
      (input(nil, .unread, .none), [.read]),
      (input(base, .unread, row), [.read]),
      (input(nil, .there(sha256: "one"), .none, at: nil), [.hold]),
      (input(nil, .there(sha256: "one"), .none, isOwnerOnServer: false), [.awaitOwner]),
      (input(nil, .there(sha256: "one"), .none), [.upload, .insertRow]),
      (input(nil, .there(sha256: "one"), row), [.adopt]),
      (input(nil, .there(sha256: "two"), row), [.makeAnother]),
      (input(base, .there(sha256: "three"), replaced), [.adopt]),
      (
        input(base, .there(sha256: "three"), .there(object: "u/1.x", sha256: "three", place: there)),
        [.adopt, .moveFile(there)]
      ),
      (
        input(nil, .there(sha256: "one"), .there(object: "u/1", sha256: "one", place: there)),
        [.adopt, .moveFile(there)]
      ),
      (
        input(base, .there(sha256: "three"), .there(object: "u/1.x", sha256: "three", place: there), at: renamed),
        [.adopt, .updatePlace]
      ),
      (input(nil, .missing, .none), [.forget]),
      (input(nil, .removed, .none), [.forget]),
      (input(nil, .missing, .gone), [.forget]),
      (input(nil, .missing, row), [.download]),
      (input(nil, .missing, row, mayDownload: false), []),
      (input(unfetched, .missing, row), [.download]),
      (input(unfetched, .missing, row, mayDownload: false), []),
      (input(unfetched, .removed, row), []),
      (input(base, .there(sha256: "one"), row), []),
      (input(base, .there(sha256: "two"), row), [.upload, .updateObject, .removeObject("u/1")]),
      (input(base, .there(sha256: "one"), row, at: there), [.updatePlace]),
      (input(base, .there(sha256: "one"), row, at: renamed), [.updatePlace]),
      (input(base, .there(sha256: "one"), row, at: nil), []),
      (
        input(base, .there(sha256: "two"), row, at: there),
        [.upload, .updateObject, .removeObject("u/1"), .updatePlace]
      ),
      (input(base, .missing, row), []),
      (input(base, .missing, replaced), []),
      (input(base, .removed, row), [.deleteRow, .removeObject("u/1")]),
      (input(base, .removed, replaced), [.download]),
      (input(base, .there(sha256: "one"), replaced), [.download]),
      (input(base, .there(sha256: "one"), replaced, mayDownload: false), [.download]),
      (input(base, .there(sha256: "two"), replaced), [.makeAnother, .download]),
      (input(base, .there(sha256: "one"), .there(object: "u/1", sha256: "one", place: there)), [.moveFile(there)]),
      (
        input(base, .there(sha256: "one"), .there(object: "u/1", sha256: "one", place: there), at: renamed),
        [.updatePlace]
      ),
      (input(base, .there(sha256: "one"), .gone), [.trashFile, .forget]),
      (input(base, .there(sha256: "two"), .gone), [.makeAnother]),
      (input(base, .missing, .gone), [.forget]),
      (input(base, .removed, .gone), [.forget]),
    ] as [(PhotoInput, [PhotoStep])])
  func table(_ input: PhotoInput, _ steps: [PhotoStep]) {
    #expect(decidePhoto(input) == steps)
  }

  private static let everything: [PhotoInput] = {
    var all: [PhotoInput] = []
    for base in [nil, base, unfetched] {
      for file in [.missing, .removed, .unread, .there(sha256: "one"), .there(sha256: "two")] as [PhotoInput.File] {
        for row in [.none, .gone, row, replaced, .there(object: "u/1", sha256: "one", place: there)] as [PhotoInput.Row]
        {
          for place in [nil, here, there] {
            for flags in 0..<4 {
              all.append(
                input(base, file, row, at: place, isOwnerOnServer: flags & 1 == 0, mayDownload: flags & 2 == 0))
            }
          }
        }
      }
    }
    return all
  }()

  @Test("bytes that are nowhere else are never fetched over, put into the trash or forgotten")
  func keepsEdits() {
    for input in Self.everything {
      guard case .there(let sha256) = input.file, sha256 != input.base?.sha256 else { continue }
      if case .there(_, let there, _) = input.row, there == sha256 { continue }
      let steps = decidePhoto(input)
      let isKept = steps.contains(.makeAnother)
      #expect(isKept || !steps.contains(.download), "\(input)")
      #expect(!steps.contains(.trashFile) && !steps.contains(.forget), "\(input)")
    }
  }

  @Test("nothing is deleted on the server but what this device has had, and a person removed")
  func deletesWithProof() {
    for input in Self.everything where decidePhoto(input).contains(.deleteRow) {
      #expect(input.file == .removed && input.base?.sha256 != nil)
    }
  }
}
