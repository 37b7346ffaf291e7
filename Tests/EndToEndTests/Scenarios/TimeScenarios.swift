import Foundation
import Glibc
import Testing

@Suite("Clocks and numbers that lie, with the built program", .serialized, .timeLimit(.minutes(5)))
struct TimeScenarios {
  /// A clock that shows so many seconds more than the machine's as a file says.
  private static let shiftedClock = """
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <stdlib.h>
    #include <sys/syscall.h>
    #include <time.h>
    #include <unistd.h>

    int clock_gettime(clockid_t id, struct timespec *time) {
      int result = syscall(SYS_clock_gettime, id, time);
      if (result != 0 || id != CLOCK_REALTIME) return result;
      char text[32] = {0};
      int file = open(getenv("CLOCK_SHIFT"), O_RDONLY | O_CLOEXEC);
      if (file < 0) return result;
      if (read(file, text, sizeof text - 1) > 0) time->tv_sec += atol(text);
      close(file);
      return result;
    }
    """

  /// A compiler for it: where Swift is, one is as a rule.
  private static let compiler: String? = {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    let names: [String] = folders.flatMap { folder in ["\(folder)/clang", "\(folder)/cc"] }
    return names.first { access($0, X_OK) == 0 }
  }()

  @Test(
    "CRASH-5: a clock that is set back a year, and forward again, stops nothing",
    .enabled(if: compiler != nil, "there is no C compiler for a clock of the test's own"))
  func clockSetBack() async throws {
    let scene = try await Scene(["t1.json": Scene.task(1), "t2.json": Scene.task(2)], settings: ["deleteAfter": 2])
    await scene.watch.stop()
    try Data(Self.shiftedClock.utf8).write(to: URL(fileURLWithPath: "\(scene.site.path)/clock.c"))
    try await scene.shell("'\(Self.compiler ?? "")' -shared -fPIC -o ../clock.so ../clock.c")
    let shift = "\(scene.site.path)/shift"
    func set(_ days: Int) throws {
      // Renamed into place: the program may read it at any time.
      try Data("\(days * 86_400)\n".utf8).write(to: URL(fileURLWithPath: shift), options: .atomic)
    }
    try set(0)
    let watch = try scene.start(
      "LD_PRELOAD='\(scene.site.path)/clock.so' CLOCK_SHIFT='\(shift)' exec \"$TIDEMARK\" watch")
    try await watch.line(with: "watching")
    for (number, days) in [-365, 0, 365].enumerated() {
      try set(days)
      var line = watch.lineCount
      try scene.replica.edit("tasks/t1.json") { $0["title"] = "edit \(number)" }
      try await watch.line(with: "edited", "tasks/t1.json", from: line)
      try await watch.line(with: "sent 1", from: line)
      try await scene.site.change(id: Scene.taskID(1), ["notes": "theirs \(number)"])
      try await watch.line(with: "written", "tasks/t1.json", from: line)
      line = watch.lineCount
      try scene.replica.write("tasks/gone\(number).json", #"{"title": "gone"}"#)
      try await watch.line(with: "added", "tasks/gone\(number).json", from: line)
      try await watch.line(with: "sent 1", from: line)
      try scene.replica.remove("tasks/gone\(number).json")
      try await watch.line(with: "deleted", "tasks/gone\(number).json", from: line)
    }
    await watch.stop()
    _ = try await scene.replica.run("sync")
    let rows = try await scene.rows()
    #expect(rows.keys.sorted() == [Scene.taskID(1), Scene.taskID(2)], "\(rows)")
    #expect(rows[Scene.taskID(1)]?["title"] as? String == "edit 2")
    #expect(try scene.replica.row("tasks/t1.json")["notes"] as? String == "theirs 2")
  }

  @Test("CRASH-3: a new file that gets the number of a removed one is a row of its own", arguments: [true, false])
  func inodeReuse(isWatching: Bool) async throws {
    let scene = try await Scene(
      Dictionary(uniqueKeysWithValues: (1...3).map { ("t\($0).json", Scene.task($0)) }), settings: ["deleteAfter": 2])
    if !isWatching { await scene.watch.stop() }
    let script = """
      n=$(stat -c %i tasks/t1.json); i=0
      rm tasks/t1.json
      while [ $i -lt 200 ]; do
        i=$((i + 1)); printf '{"title": "another"}' > tasks/new.json
        [ $(stat -c %i tasks/new.json) != $n ] || { echo same; exit 0; }
        mv tasks/new.json ../other-$i.json
      done
      """
    let made = try await scene.shell(script)
    guard made.output.contains("same") else { try Test.cancel("this file system gives no number twice") }
    let account = try await scene.account()
    #expect(Set(account.events) == ["added tasks/new.json ", "deleted tasks/t1.json "], "\(account.events)")
    let rows = try await scene.rows()
    #expect(rows[Scene.taskID(1)] == nil && rows.count == 3)
    #expect(rows.values.compactMap { $0["title"] as? String }.sorted() == ["another", "task", "task"])
    await scene.watch.stop()
  }
}
