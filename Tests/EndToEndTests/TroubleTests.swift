import Foundation
import Testing

@Suite("What a watcher and its status say of trouble", .timeLimit(.minutes(5)))
struct TroubleTests {
  @Test("a watcher outlives a database that cannot be written for a while, and finds what was saved meanwhile")
  func passingTrouble() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    let watch = try await a.watch()
    let lock = try WriteLock(a)
    try a.write("tasks/milk.json", "{\"title\": \"Milk\"}")
    try await watch.line(with: "problem", "is held by another process")
    #expect(try await a.status()["waits"] as? [String] != [])
    lock.release()
    try await watch.line(with: "added", "tasks/milk.json")
    try await watch.line(with: "solved", "goes on")
    try await watch.line(with: "sent 1")
    #expect(await watch.stop().status == 0)
  }

  @Test("while the server is away status says when it is asked next, and does not claim to be in step")
  func serverAway() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try await a.sync()
    let watch = try await a.watch()
    await site.killServer()
    try await watch.line(with: "changes wait", "cannot be reached")
    let status = try await a.run("status")
    #expect(status.status == 3)
    #expect(
      status.output.hasPrefix("nothing waits here; what changed on the server is not known\n"), "\(status.output)")
    #expect(try await nextTry(a) != nil)
    try await a.run("offline").expectSuccess()
    try await watch.line(with: "network access is off")
    #expect(try await a.run("status").status == 0, "that is the person's own wish")
    #expect(try await a.status()["nextTryAt"] is NSNull)
    await watch.stop()
  }

  /// When the server is asked next; while it is being asked there is no such time.
  private func nextTry(_ a: Replica) async throws -> String? {
    for _ in 0..<50 {
      if let time = try await a.status()["nextTryAt"] as? String { return time }
    }
    return nil
  }

  @Test("a change that waits for an editor is not in step")
  func editor() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try a.write("tasks/milk.json", "{\"title\": \"Milk\"}")
    try await a.sync()
    try await b.sync()
    let watch = try await a.watch()
    try a.write("tasks/.milk.json.swp", "")
    try b.edit("tasks/milk.json") { $0["notes"] = "theirs" }
    try await b.sync()
    try await a.sync()
    let status = try await a.run("status")
    #expect(status.status == 3)
    #expect(status.output.hasPrefix("something waits here\n"), "\(status.output)")
    try a.remove("tasks/.milk.json.swp")
    try await watch.line(with: "written", "tasks/milk.json")
    #expect(try await a.run("status").output.hasPrefix("in step\n"))
    await watch.stop()
  }

  @Test("a problem that many files share is one line")
  func sharedProblem() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    for number in 1...30 {
      try FileManager.default.createDirectory(
        atPath: "\(a.path)/tasks/\(number).json", withIntermediateDirectories: true)
    }
    try await a.sync(expecting: 4)
    let lines = try await a.run("status").output.split(separator: "\n").filter { $0.hasPrefix("problem") }
    #expect(lines.count == 1)
    #expect(lines.first?.contains("and 29 others: this is a folder") == true, "\(lines)")
    for number in 1...30 { try a.remove("tasks/\(number).json") }
    try await a.sync()
    #expect(try await a.run("log").output.contains("solved   tasks/1.json  is gone"))
  }

  @Test("a row with a long title does not push the others of a list aside")
  func longTitle() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try a.write("tasks/long.json", "{\"title\": \"\(String(repeating: "y", count: 300))\"}")
    try a.write("tasks/milk.json", "{\"title\": \"Milk\"}")
    try await a.sync()
    #expect(try await a.run("list").output.contains("[ ]  Milk  tasks/milk.json\n"))
  }
}

/// The write lock of a workspace's database, as another process holds it that never ends its transaction.
private final class WriteLock {
  private let handle: FileHandle

  init(_ replica: Replica) throws {
    handle = try #require(FileHandle(forUpdatingAtPath: "\(replica.path)/.tidemark/state.sqlite-shm"))
    // SQLite's WAL_WRITE_LOCK is the byte 120 of the shared memory's file.
    var lock = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 120, l_len: 1, l_pid: 0)
    #expect(fcntl(handle.fileDescriptor, F_SETLKW, &lock) == 0)
  }

  func release() { try? handle.close() }
}
