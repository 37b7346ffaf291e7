import Testing

@testable import FileWorkspace

@Suite("How long the trash keeps texts") struct TrashRetentionTests {
  private let day: Int64 = 86_400_000

  @Test(
    "texts go after 30 days, or the oldest when they are too many bytes, but never within a day",
    arguments: [
      ([(days: 29, bytes: 1), (days: 31, bytes: 1)], [1]), ([(days: 30, bytes: 1)], []),
      ([(days: 5, bytes: 60), (days: 3, bytes: 60), (days: 2, bytes: 30)], [0]),
      ([(days: 0, bytes: 90), (days: 0, bytes: 90)], []), ([(days: 2, bytes: 200)], [0]),
      ([(days: 0, bytes: 90), (days: 2, bytes: 20)], [1]), ([], []),
    ] as [([(days: Int64, bytes: Int64)], [Int])])
  func outdated(texts: [(days: Int64, bytes: Int64)], expected: [Int]) {
    let retention = TrashRetention(bytesMax: 100)
    let now = 1000 * day
    #expect(retention.outdated(texts.map { (now - $0.days * day, $0.bytes) }, now: now).sorted() == expected)
  }

  @Test("a sweep removes texts with their notes")
  func sweep() throws {
    let clock = VirtualClock()
    let files = InMemoryFileSystem(now: { clock.now().nanoseconds })
    try files.person.createFolder(StateFolder.root)
    let trash = Trash(files: files) { clock.now().nanoseconds / 1_000_000 }
    try trash.keep([TrashItem(origin: "tasks/a.json", bytes: [1, 2], reason: "old")])
    clock.advance(.seconds(20 * 86_400))
    try trash.keep([TrashItem(origin: "tasks/b.json", bytes: [3], reason: "new")])
    #expect(try trash.sweep() == 0)
    clock.advance(.seconds(11 * 86_400))
    #expect(try trash.sweep() == 1)
    #expect(try trash.entries().map(\.origin) == ["tasks/b.json"])
    #expect(try trash.entries().map(\.bytes) == [1])
    #expect(files.person.paths(below: StateFolder.trash).count == 2)
  }
}
