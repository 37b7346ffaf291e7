import Testing

@testable import FileWorkspace

@Suite("Editors' markers")
struct EditorMarkerTests {
  static let markers: [(String, String?)] = [
    (".t.json.swp", "t.json"), (".t.json.swo", "t.json"), (".#t.json", "t.json"), (".~lock.t.json#", "t.json"),
    (".t.json.swx", "t.json"), ("t.json", nil), ("t.json.swp", nil), (".swp", nil), ("..swp", nil), (".#", nil),
    (".t.json.sw", nil), (".t.json.sw1", nil), (".t.json.un~", nil), (".~lock.#", nil), ("#t.json#", nil),
  ]

  @Test("are told from other names", arguments: markers)
  func names(marker: String, file: String?) { #expect(EditorMarker.file(markedBy: marker) == file) }

  @Test("count only for files that are there")
  func listing() {
    let marked = EditorMarker.marked(among: ["a.json", ".a.json.swp", "b.json", ".#c.json"])
    #expect(marked == [PathKey("a.json"): ".a.json.swp"])
  }

  @Test("are found for one file, links among them")
  func oneFile() throws {
    let files = InMemoryFileSystem()
    try files.person.createFolder("tasks")
    #expect(EditorMarker.name(for: "tasks/a.json", in: files) == nil)
    try files.person.createLink("tasks/.#a.json")
    #expect(EditorMarker.name(for: "tasks/a.json", in: files) == "tasks/.#a.json")
    try files.person.save("tasks/.a.json.swo", [])
    #expect(EditorMarker.name(for: "tasks/a.json", in: files) == "tasks/.a.json.swo")
    #expect(EditorMarker.name(for: "tasks/b.json", in: files) == nil)
  }

  @Test("are found alike for a few files and for many", arguments: [1, 1_000])
  func together(pathCount: Int) throws {
    let files = InMemoryFileSystem()
    try files.person.createFolder("tasks")
    try files.person.save("tasks/.a.json.swp", [])
    try files.person.createLink("tasks/.#b.json")
    try files.person.createFolder("tasks/.c.json.swp")
    let markers = EditorMarkers(folder: "tasks", pathCount: pathCount, in: files)
    #expect(markers.marker(of: "tasks/a.json") == "tasks/.a.json.swp")
    #expect(markers.marker(of: "tasks/b.json") == "tasks/.#b.json")
    #expect(markers.marker(of: "tasks/c.json") == nil)
    #expect(markers.marker(of: "tasks/d.json") == nil)
  }
}
