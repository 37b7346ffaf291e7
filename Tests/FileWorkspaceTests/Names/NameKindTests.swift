import Testing

@testable import FileWorkspace

@Suite("What names stand for") struct NameKindTests {
  @Test(
    "names that are never rows or photos",
    arguments: [
      "t.json~", ".t.json.swp", ".t.json.swo", ".t.json.swx", ".t.json.un~", "4913", "#t.json#", ".#t.json", "t.tmp",
      "tmpAbC123", ".goutputstream-X1Y2Z3", "sedAbC123", "XXabcdef", "t.json.oAbC123", "t.json.orig", "t.json.rej",
      "t.json.bak", ".t.json.AbC123", ".~tmp~", "t.json.AbC123", "#1278482", "front.jpg_exiftool_tmp",
      "front.jpg_original", "front.jpg.part", "front.jpg.partial", "Unconfirmed 1.crdownload", "front.jpg.download",
      ".com.google.Chrome.x", "t.json___jb_tmp___", "t.json___jb_old___", ".~lock.t.json#", "luAbC123.tmp", "x.osl-tmp",
      "t.json.kate-swp", ".nfs0001", ".fuse_hidden01", "._t.json", ".DS_Store", "Thumbs.db", "desktop.ini",
      "t.sync-conflict-20260101-120000-ABCDEFG.json", "t.json.vsctmp", "", ".json", ".", "..",
    ])
  func ignored(_ name: String) {
    #expect(FileNames.isIgnored(name))
    #expect(FileNames.kind(of: name) == .ignored)
    #expect(!FileNames.isRowFile(name))
  }

  @Test(
    "names that only look like them",
    arguments: [
      "tmp.json", "sedan.json", "sedx.json", "tmpa.json", "XXa.json", "XX.json", "4913.json", "x.o.json", "x.ob.json",
      "Call the plumber.json", "a~b.json", "bak.json", "my.orig.json", "original.json", "a#b.json", "é.json",
      "a.b.json",
      "mine.json", "x.mine2.json",
    ])
  func rows(_ name: String) {
    #expect(!FileNames.isIgnored(name))
    #expect(FileNames.kind(of: name) == .row)
  }

  @Test("what is neither", arguments: ["notes.txt", "x.JSON", "json", "x.json.gz", "front.jpg", "my.picture.jpg"])
  func others(_ name: String) {
    #expect(FileNames.kind(of: name) == .other)
  }

  @Test("side files and their main files name each other")
  func sideFiles() {
    #expect(FileNames.sideFile(.mine, of: "x.json") == "x.mine.json")
    #expect(FileNames.sideFile(.refused, of: "a.b.json") == "a.b.refused.json")
    #expect(FileNames.sideFile(.deleted, of: "x.json") == "x.deleted.json")
    #expect(FileNames.problemNote(of: "x.json") == "x.problem.txt")
    for kind in SideFileKind.allCases {
      #expect(FileNames.kind(of: FileNames.sideFile(kind, of: "é x.json")) == .sideFile(kind, main: "é x.json"))
    }
    #expect(FileNames.kind(of: "x.problem.txt") == .problemNote(main: "x.json"))
    #expect(FileNames.kind(of: "x.MINE.json") == .sideFile(.mine, main: "x.json"))
    #expect(FileNames.kind(of: "x.mine.mine.json") == .sideFile(.mine, main: "x.mine.json"))
    #expect(FileNames.kind(of: ".mine.json") == .ignored)
    #expect(FileNames.kind(of: ".problem.txt") == .ignored)
  }

  @Test(
    "no title makes the name of a side file", arguments: ["x.mine", "x.mine.json", "x .refused", "x.Deleted", "mine"])
  func noCollision(_ title: String) {
    let name = FileNames.fileName(title: title, id: FileNamesTests.id) { _ in false }
    #expect(FileNames.kind(of: name) == .row)
  }
}
