import FileWorkspace
import Foundation
import OfflineEngine
import Testing

@testable import Daemon

@Suite("The workspace's log") struct EventLogTests {
  private final class Folder {
    let path: String
    init() throws {
      path = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-log-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private func entry(_ number: Int, _ path: String = "tasks/a.json", _ detail: String = "title") -> LogEntry {
    LogEntry(WorkspaceEvent(.edited, path, detail), at: WallTime(seconds: Int64(number)).text)
  }

  @Test("gives back what was appended, in order, with its times")
  func roundTrip() throws {
    let folder = try Folder()
    let log = EventLog(path: "\(folder.path)/log")
    #expect(log.entries().isEmpty)
    log.append([entry(1), entry(2, "tasks/\u{E4}\n\"b.json", "notes")])
    log.append([entry(3)])
    #expect(log.entries() == [entry(1), entry(2, "tasks/\u{E4}\n\"b.json", "notes"), entry(3)])
    #expect(log.entries().first?.at == "1970-01-01T00:00:01Z")
    let mode = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/log")[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test("never takes more than two files of its limit, and keeps the newest entries", arguments: [1, 7, 400])
  func rotates(batch: Int) throws {
    let folder = try Folder()
    let log = EventLog(path: "\(folder.path)/log", bytesMax: 2_000)
    let all = (0..<400).map { entry($0) }
    for start in stride(from: 0, to: all.count, by: batch) { log.append(Array(all[start..<min(start + batch, 400)])) }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(names == ["log", "log.1"])
    for name in names {
      let size = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(name)")[.size] as? Int
      #expect(try #require(size) <= 2_000)
    }
    let kept = log.entries()
    #expect(kept.count > 10)
    #expect(kept == Array(all.suffix(kept.count)))
  }

  @Test("skips a line that a crash has cut")
  func cutLine() throws {
    let folder = try Folder()
    let log = EventLog(path: "\(folder.path)/log")
    try Data("{\"at\": \"2026\n".utf8).write(to: URL(fileURLWithPath: "\(folder.path)/log"))
    log.append([entry(1)])
    #expect(log.entries() == [entry(1)])
  }

  @Test("a log that cannot be written is no trouble")
  func unwritable() {
    let log = EventLog(path: "/nonexistent/log")
    log.append([entry(1)])
    #expect(log.entries().isEmpty)
  }

  @Test("cuts a detail that is far too long")
  func longDetail() {
    let long = entry(1, "tasks/a.json", String(repeating: "x", count: 5_000))
    #expect(long.detail.count == LogEntry.detailCountMax + 1)
  }

  @Test(
    "knows what an entry is about",
    arguments: [
      ("tasks/a.json", "tasks/a.json", true), ("tasks/a.mine.json", "tasks/a.json", true),
      ("tasks/a.problem.txt", "tasks/a.json", true), ("tasks/a.json", "tasks", true),
      ("tasks/a.json", "tasks/b.json", false), ("tasks/a.json", "notes", false), ("", "tasks/a.json", false),
      ("tasks/a.json", "tasks/a.mine.json", false),
    ])
  func about(path: String, asked: String, isAbout: Bool) {
    #expect(entry(1, path).isAbout(asked) == isAbout)
  }
}
