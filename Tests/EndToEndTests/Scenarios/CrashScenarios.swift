import Foundation
import Glibc
import Testing

/// A namespace of this user's own, in which file systems can be mounted and limits set without touching the machine's.
enum Namespace {
  /// Why there is none; `nil` where there is.
  static let refusal: String? = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    process.arguments = ["-Urm", "/bin/sh", "-c", "mount -t tmpfs none /mnt"]
    let errors = Pipe()
    (process.standardOutput, process.standardError) = (Pipe(), errors)
    do { try process.run() } catch { return "unshare cannot be run: \(error)" }
    let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0 ? nil : "user namespaces are refused here: \(said)"
  }()

  static var isAllowed: Bool { refusal == nil }
  static var comment: Comment { "\(refusal ?? "")" }
}

extension Site {
  /// Starts a shell script in a namespace of its own, in the site's folder; the server is reached from there.
  func inNamespace(_ script: String) throws -> Program {
    let set = """
      set -e
      T='\(Tidemark.path)'; URL='\(url)'; KEY='\(key)'; SERVICE='\(serviceKey)'
      patch() { curl -s -f -o /dev/null -X PATCH -H "apikey: $SERVICE" -H "Authorization: Bearer $SERVICE" \
        -H 'Content-Type: application/json' -d "$2" "$URL/rest/v1/tasks?id=eq.$1"; }
      row() { curl -s -f -H "apikey: $SERVICE" -H "Authorization: Bearer $SERVICE" "$URL/rest/v1/tasks?id=eq.$1"; }
      member() { sed -n 's/.*"'"$1"'": *"\\([^"]*\\)".*/\\1/p'; }

      """
    try Data((set + script).utf8).write(to: URL(fileURLWithPath: "\(path)/script"))
    return try Program(shell: "exec unshare -Urm /bin/sh script", in: path)
  }
}

@Suite("Crashes, disks and lost state, with the built program", .serialized, .timeLimit(.minutes(10)))
struct CrashScenarios {
  // MARK: Disks

  @Test(
    "CRASH-2: a disk that is full at any write loses nothing, and all goes on once there is room",
    .enabled(if: Namespace.isAllowed, Namespace.comment))
  func fullDisk() async throws {
    let site = try await Site()
    _ = try await site.workspace("a", isFirst: true)
    // Each round leaves one page more than the last, so that every write is once the first to find none.
    let program = try site.inNamespace(
      """
      mkdir disk; mount -t tmpfs -o size=8m none disk
      "$T" init disk/w --server $URL --key $KEY --sign-in me@example.com --password-file password > /dev/null
      cd disk/w
      cat > tasks/t.json <<END
      \(Scene.task)
      END
      "$T" sync > /dev/null
      left=0; clean=0
      while [ $clean -lt 3 ]; do
        sed -i "s/\\"title\\": \\".*\\"/\\"title\\": \\"mine $left\\"/" tasks/t.json
        patch \(Scene.id) "{\\"notes\\": \\"theirs $left\\"}"
        free=$(stat -f -c %f ../)
        [ $free -gt $left ] && fallocate -l $(( (free - left) * 4096 )) ../fill
        if "$T" sync > ../../said 2>&1; then clean=$((clean + 1)); else
          clean=0
          grep -q -i -E 'disk is full|No space' ../../said || { echo "left $left: says nothing of a full disk:"; cat ../../said; }
        fi
        [ "$(member title < tasks/t.json)" = "mine $left" ] || { echo "left $left: the file lost its text"; cat tasks/t.json; }
        rm -f ../fill
        "$T" sync > ../../said 2>&1 || { echo "left $left: did not go on:"; cat ../../said; }
        [ "$(row \(Scene.id) | member title)" = "mine $left" ] || { echo "left $left: not sent"; row \(Scene.id); }
        [ "$(member notes < tasks/t.json)" = "theirs $left" ] || { echo "left $left: not written"; cat tasks/t.json; }
        left=$((left + 1))
      done
      ls tasks
      echo "rounds $left"
      """)
    let done = await program.finished()
    #expect(done.status == 0, "\(done.output)\(done.errors)")
    let lines = done.output.split(separator: "\n")
    #expect(lines.first == "t.json" && lines.count == 2, "\(done.output)")
    let rounds = try #require(lines.last?.split(separator: " ").last.flatMap { Int($0) })
    #expect(rounds > 5, "the disk was never full: \(rounds)")
  }

  @Test(
    "CRASH-2: a watcher outlives a full disk and a read-only one, says so, and goes on by itself",
    .enabled(if: Namespace.isAllowed, Namespace.comment))
  func watcherAtFullDisk() async throws {
    let site = try await Site()
    _ = try await site.workspace("a", isFirst: true)
    let program = try site.inNamespace(
      """
      mkdir disk; mount -t tmpfs -o size=8m none disk
      "$T" init disk/w --server $URL --key $KEY --sign-in me@example.com --password-file password > /dev/null
      cd disk/w
      mount --bind tasks tasks
      cat > tasks/t.json <<END
      \(Scene.task)
      END
      "$T" sync > /dev/null
      "$T" watch > ../../watched 2>&1 &
      watcher=$!
      trap 'kill $watcher' EXIT
      until grep -q watching ../../watched; do sleep 0.05; done
      fallocate -l $(( $(stat -f -c %f ../) * 4096 )) ../fill
      # In place and no longer than before: this write needs no room.
      printf '%s' '{"id": "\(Scene.id)", "title": "two"' | dd of=tasks/t.json conv=notrunc status=none
      printf '%-200s' '{"id": "\(Scene.id)", "title": "two", "notes": "first"}' > ../../text
      head -c $(stat -c %s tasks/t.json) ../../text | dd of=tasks/t.json conv=notrunc status=none
      until "$T" status > ../../said 2>&1; grep -q -i -E 'disk is full|No space' ../../said; do sleep 0.1; done
      rm ../fill
      until [ "$(row \(Scene.id) | member title)" = two ]; do sleep 0.1; done
      echo full-over
      mount -o remount,bind,ro tasks
      patch \(Scene.id) '{"notes": "theirs"}'
      until grep -q -i 'read-only\\|readonly' ../../watched || "$T" status 2>&1 | grep -q -i 'read-only\\|readonly'; do
        sleep 0.1
      done
      mount -o remount,bind,rw tasks
      until grep -q theirs tasks/t.json; do sleep 0.1; done
      echo read-only-over
      """)
    let done = await program.finished()
    #expect(done.output.contains("full-over") && done.output.contains("read-only-over"), "\(done.output)\(done.errors)")
    let watched = (try? String(contentsOfFile: "\(site.path)/watched", encoding: .utf8)) ?? ""
    #expect(!watched.contains("deleted"), "\(watched)")
  }

  @Test(
    "CRASH-3: an unmounted collection deletes nothing, and goes on when it is mounted again",
    .enabled(if: Namespace.isAllowed, Namespace.comment), arguments: [false, true])
  func unmounted(isWatching: Bool) async throws {
    let site = try await Site()
    _ = try await site.workspace("a", isFirst: true)
    let program = try site.inNamespace(
      """
      "$T" init w --server $URL --key $KEY --sign-in me@example.com --password-file password > /dev/null
      cd w
      mkdir ../kept; mount --bind ../kept tasks
      cat > tasks/t.json <<END
      \(Scene.task)
      END
      "$T" sync > /dev/null
      \(isWatching ? "\"$T\" watch > ../watched 2>&1 & watcher=$!; trap 'kill $watcher' EXIT" : "")
      \(isWatching ? "until grep -q watching ../watched; do sleep 0.05; done" : "")
      umount tasks
      "$T" sync > ../said 2>&1 || echo "exit $?"
      "$T" status > ../said2 2>&1 || echo "status $?"
      mount --bind ../kept tasks
      sed -i 's/"one"/"two"/' tasks/t.json
      "$T" sync
      [ "$(row \(Scene.id) | member title)" = two ] && echo sent
      """)
    let done = await program.finished()
    #expect(done.output.contains("sent"), "\(done.output)\(done.errors)")
    #expect(try await site.rows().count == 1)
  }

  // MARK: Lost state

  /// A workspace of three tasks in step, one edited since, with its state damaged in one way.
  @Test(
    "CRASH-5: a lost or damaged state is built anew from files and rows",
    arguments: ["deleted", "cut", "random", "empty"])
  func lostState(kind: String) async throws {
    let scene = try await Scene([
      "t1.json": Scene.task(1), "t2.json": Scene.task(2), "t3.json": Scene.task(3),
      "late.json": #"{"title": "no id yet"}"#,
    ])
    await scene.watch.stop()
    let before = try await scene.account()
    scene.begin(at: before)
    let damage =
      switch kind {
      case "deleted": "rm .tidemark/state.sqlite*"
      case "cut": "truncate -s 20000 .tidemark/state.sqlite"
      case "random": "head -c 50000 /dev/urandom > .tidemark/state.sqlite"
      default: ": > .tidemark/state.sqlite"
      }
    try await scene.shell(damage)
    try await scene.shell(#"sed -i 's/"task"/"mine"/' tasks/t1.json"#)
    try await scene.site.change(id: Scene.taskID(2), ["notes": "theirs"])
    let line = 0
    try await scene.watchAgain()
    try await scene.watch.line(with: "state of this workspace was lost", from: line)
    let account = try await scene.account(expecting: 4)
    #expect(!account.events.contains { $0.hasPrefix("added") || $0.hasPrefix("deleted") }, "\(account.events)")
    #expect(account.writes.allSatisfy { !$0.hasPrefix("DELETE") && !$0.hasPrefix("POST") }, "\(account.writes)")
    let rows = try await scene.rows()
    #expect(rows.count == 4 && rows[Scene.taskID(1)]?["title"] as? String == "task")
    // Nothing tells which of two is newer: both stand side by side.
    #expect(try scene.replica.row("tasks/t1.json")["title"] as? String == "task")
    #expect(try scene.replica.row("tasks/t1.mine.json")["title"] as? String == "mine")
    #expect(try scene.replica.row("tasks/t3.json")["title"] as? String == "task")
    #expect(try await scene.replica.run("resolve", "tasks/t1.json", "--mine").status == 0)
    try scene.replica.edit("tasks/late.json") { $0["title"] = "edited" }
    _ = try await scene.replica.run("sync")
    #expect(
      try await scene.rows().values.compactMap { $0["title"] as? String }.sorted() == [
        "edited", "mine", "task", "task",
      ])
    await scene.watch.stop()
  }

  @Test("CRASH-5: a state of last week is made good by what the server says, and nothing is turned back or deleted")
  func oldState() async throws {
    let scene = try await Scene(["t1.json": Scene.task(1), "t2.json": Scene.task(2), "t3.json": Scene.task(3)])
    await scene.watch.stop()
    try await scene.shell("cp .tidemark/state.sqlite ../old.sqlite")
    try scene.replica.edit("tasks/t1.json") { $0["title"] = "since then" }
    try scene.replica.write("tasks/new.json", #"{"title": "new since then"}"#)
    try scene.replica.remove("tasks/t3.json")
    try await scene.replica.sync()
    try await scene.site.change(id: Scene.taskID(2), ["notes": "theirs"])
    try await scene.replica.sync()
    let rows = try await scene.rows().mapValues { [$0["title"] as? String, $0["notes"] as? String] }
    #expect(rows.count == 3)
    try await scene.shell(
      "rm -f .tidemark/state.sqlite-wal .tidemark/state.sqlite-shm; cp ../old.sqlite .tidemark/state.sqlite")
    _ = try await scene.replica.run("sync")
    _ = try await scene.replica.run("sync")
    let after = try await scene.rows().mapValues { [$0["title"] as? String, $0["notes"] as? String] }
    #expect(after.filter { $0.value[0] != "new since then" } == rows.filter { $0.value[0] != "new since then" })
    #expect(try scene.replica.row("tasks/t2.json")["notes"] as? String == "theirs")
    #expect(!scene.replica.exists("tasks/t3.json"))
  }

  @Test("CRASH-5: without its .tidemark folder the files are adopted again, none of them twice")
  func readoption() async throws {
    let scene = try await Scene([
      "t1.json": Scene.task(1), "t2.json": Scene.task(2), "late.json": #"{"title": "no id yet"}"#,
    ])
    await scene.watch.stop()
    try await scene.shell("rm -rf .tidemark")
    try await scene.shell(#"sed -i 's/"task"/"edited"/' tasks/t1.json"#)
    let again = try await Tidemark.run(
      ["init", scene.replica.path, "--sign-in", "me@example.com", "--password-file", "\(scene.site.path)/password"])
    #expect(again.status == 0, "\(again.errors)")
    _ = try await scene.replica.sync(expecting: 4)
    #expect(try await scene.rows().count == 3)
    #expect(try scene.replica.row("tasks/t1.mine.json")["title"] as? String == "edited")
    #expect(try scene.replica.tasks() == ["late.json", "t1.json", "t1.mine.json", "t2.json"])
  }

  @Test(
    "CRASH-5: a folder in which many files are unknown or differ is one question",
    arguments: ["--mine", "--theirs", "confirm"])
  func heldAdoption(choice: String) async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    for number in 1...6 { try a.write("tasks/t\(number).json", Scene.task(number)) }
    try await a.sync()
    let b = Replica(path: "\(site.path)/b")
    try FileManager.default.createDirectory(atPath: "\(b.path)/tasks", withIntermediateDirectories: true)
    for number in 3...6 { try b.write("tasks/t\(number).json", Scene.task(number, title: "other")) }
    for number in 7...9 { try b.write("tasks/t\(number).json", Scene.task(number, title: "unknown")) }
    _ = try await site.workspace("b", isFirst: false)
    let counts = try await b.sync(expecting: 4)
    #expect(counts["held"] == 7 && counts["synced"] == 0 && counts["filesWritten"] == 0, "\(counts)")
    #expect(try await site.rows().count == 6)
    let status = try await b.run("status")
    #expect(status.status == 4 && status.output.contains("resolve tasks --mine"), "\(status.output)")
    let chosen = choice == "confirm" ? try await b.run(choice) : try await b.run("resolve", "tasks", choice)
    #expect(chosen.status == (choice == "confirm" ? 4 : 0), "\(chosen.output)\(chosen.errors)")
    _ = try await b.run("sync")
    let titles = try await site.rows().compactMap { $0["title"] as? String }.sorted()
    switch choice {
    case "--mine":
      #expect(titles == Array(repeating: "other", count: 4) + ["task", "task"] + Array(repeating: "unknown", count: 3))
      #expect(try await b.status()["conflicted"] as? Int == 0)
    case "--theirs":
      #expect(titles == Array(repeating: "task", count: 6))
      #expect(try b.titles() == titles)
      #expect(try await b.entries("trash").count == 7)
    default:
      #expect(titles == Array(repeating: "task", count: 6) + Array(repeating: "unknown", count: 3))
      #expect(try await b.status()["conflicted"] as? Int == 4)
    }
  }

  // MARK: Accidents

  @Test("CRASH-3: files that go in large numbers are held until a word, or until they come back")
  func removedFiles() async throws {
    let scene = try await Scene(
      Dictionary(uniqueKeysWithValues: (1...30).map { ("t\($0).json", Scene.task($0)) }), settings: ["deleteAfter": 2])
    let line = scene.watch.lineCount
    try await scene.shell("mkdir ../kept; cp -p tasks/*.json ../kept; rm tasks/*")
    try await scene.watch.line(with: "held", "30 of 30", from: line)
    var account = try await scene.account(expecting: 4)
    #expect(account.writes.isEmpty, "\(account)")
    let status = try await scene.replica.run("status").output
    #expect(status.contains("30 of 30 files are missing") && status.contains("t1.json"), "\(status)")
    try await scene.shell("cp -p ../kept/*.json tasks/")
    account = try await scene.account()
    #expect(account.writes.isEmpty && account.events.isEmpty, "\(account)")
    #expect(try await scene.replica.run("status").status == 0)
    try await scene.shell("rm tasks/*")
    _ = try await scene.account(expecting: 4)
    #expect(try await scene.replica.run("confirm").status == 0)
    #expect(try await scene.rows().isEmpty)
    await scene.watch.stop()
  }

  @Test("CRASH-3: a folder moved away or made anew, a moved workspace, and one removed file")
  func missingFolder() async throws {
    let scene = try await Scene(
      Dictionary(uniqueKeysWithValues: (1...5).map { ("t\($0).json", Scene.task($0)) }), settings: ["deleteAfter": 2])
    let line = scene.watch.lineCount
    try await scene.shell("mv tasks gone")
    try await scene.watch.line(with: "tasks", "missing", from: line)
    try await scene.shell("mkdir tasks")
    var account = try await scene.account(expecting: 4)
    #expect(account.writes.isEmpty, "\(account)")
    try await scene.shell("rmdir tasks; mv gone tasks")
    account = try await scene.account()
    #expect(account.writes.isEmpty, "\(account)")
    await scene.watch.stop()
    // The whole workspace moved.
    let moved = Replica(path: "\(scene.site.path)/moved")
    scene.replica.move("", to: "../moved")
    #expect(try await moved.sync().values.allSatisfy { $0 == 0 })
    try moved.remove("tasks/t1.json")
    #expect(try await moved.sync()["synced"] == 1)
    #expect(try await scene.rows().count == 4)
  }

  @Test("CRASH-3: a bulk edit that would clear a column is held until a word, or until the values are back")
  func blanked() async throws {
    let files = Dictionary(
      uniqueKeysWithValues: (1...10).map { ("t\($0).json", Scene.task($0, notes: "note \($0)")) })
    let scene = try await Scene(files)
    let line = scene.watch.lineCount
    try await scene.shell(
      #"mkdir ../kept; cp tasks/*.json ../kept; sed -i 's/"notes": ".*"/"notes": null/' tasks/*.json"#)
    try await scene.watch.line(with: "held", "10 files would clear 'notes'", from: line)
    var account = try await scene.account(expecting: 4)
    #expect(account == .init(), "\(account)")
    let status = try await scene.replica.run("status").output
    #expect(status.contains("10 files would clear 'notes'"), "\(status)")
    try await scene.shell("cp ../kept/*.json tasks/")
    #expect(try await scene.account() == .init())
    #expect(try await scene.replica.run("status").status == 0)
    // One file alone is a person's wish.
    try await scene.shell(#"sed -i 's/"notes": ".*"/"notes": null/' tasks/t1.json"#)
    account = try await scene.account()
    #expect(account.events == ["edited tasks/t1.json notes"], "\(account)")
    try await scene.shell(#"sed -i 's/"notes": ".*"/"notes": ""/' tasks/*.json"#)
    _ = try await scene.account(expecting: 4)
    #expect(try await scene.replica.run("confirm").status == 0)
    #expect(try await scene.rows().values.allSatisfy { ($0["notes"] as? String ?? "").isEmpty })
    await scene.watch.stop()
  }

  @Test("CRASH-4: a first sync that is killed again and again writes nothing to the server")
  func killedFirstSync() async throws {
    let site = try await Site(serving: ["--log"])
    let a = try await site.workspace("a", isFirst: true)
    let count = 300 * testEffort
    for number in 1...count { try a.write("tasks/t\(number).json", Scene.task(number)) }
    try await a.sync()
    let b = try await site.workspace("b", isFirst: false)
    let before = site.server.errorLines.count
    while try b.tasks().count < count / 2 {
      let program = try Program(["-C", b.path, "watch"])
      // Killed once it has written some more files.
      await program.said(1 + count / 10)
      program.signal(SIGKILL)
      _ = await program.finished()
    }
    let last = try await b.sync()
    #expect(last["synced"] == 0 && last["held"] == 0, "\(last)")
    #expect(try b.tasks().count == count)
    let writes = site.server.errorLines.dropFirst(before).filter { line in
      ["POST /rest", "PATCH", "DELETE"].contains { line.hasPrefix($0) }
    }
    #expect(writes.isEmpty, "\(writes)")
  }

  @Test("CRASH-1: files that a power cut left empty or filled with zeros are restored or told, and never sent")
  func powerCut() async throws {
    let files = Dictionary(uniqueKeysWithValues: (1...8).map { ("t\($0).json", Scene.task($0, notes: "note")) })
    let scene = try await Scene(files)
    await scene.watch.stop()
    try await scene.shell(
      """
      for n in 1 2; do cp -p tasks/t$n.json ../time; : > tasks/t$n.json; touch -r ../time tasks/t$n.json; done
      for n in 3 4; do s=$(stat -c %s tasks/t$n.json); head -c $s /dev/zero > tasks/t$n.json; done
      sed -i 's/"title": "task"/"title": "edited"/' tasks/t5.json
      """)
    try await scene.watchAgain()
    let account = try await scene.account(expecting: 4)
    #expect(account.events.filter { !$0.hasPrefix("problem") } == ["edited tasks/t5.json title"], "\(account.events)")
    #expect(account.events.filter { $0.hasPrefix("problem") }.count == 4, "\(account.events)")
    let rows = try await scene.rows()
    #expect(rows.count == 8 && rows.values.allSatisfy { $0["notes"] as? String == "note" })
    // Removing such a file and putting it back from the trash or the server is the person's choice.
    await scene.watch.stop()
  }

  @Test("CRASH-5: settings that go or are half written while the watcher runs stop nothing")
  func settingsGone() async throws {
    let scene = try await Scene()
    var line = scene.watch.lineCount
    try await scene.shell("cp tidemark.json ../kept.json; rm tidemark.json")
    try await scene.shell(#"sed -i 's/"one"/"two"/' $T"#)
    try await scene.edited(after: line)
    try await scene.watch.line(with: "sent 1", from: line)
    line = scene.watch.lineCount
    try await scene.shell("head -c 60 ../kept.json > tidemark.json")
    try await scene.shell(#"sed -i 's/"two"/"three"/' $T"#)
    try await scene.edited(after: line)
    let half = try await scene.replica.run("sync")
    #expect(half.status != 0 || half.errors.isEmpty)
    try await scene.shell("cp ../kept.json tidemark.json")
    #expect(try await scene.account().events.count == 2)
    await scene.watch.stop()
  }

  @Test("CRASH-5: the marker removed while the watcher runs: nothing is written or deleted, and it is said")
  func markerGone() async throws {
    let scene = try await Scene(["t1.json": Scene.task(1), "t2.json": Scene.task(2)])
    try await scene.shell("mv .tidemark ../marker; rm tasks/t1.json")
    try await scene.site.change(id: Scene.taskID(2), ["notes": "theirs"])
    let line = scene.watch.lineCount
    try await scene.watch.line(with: ".tidemark", "missing", from: max(0, line - 5))
    #expect(try await scene.rows().count == 2)
    try await scene.shell("mv ../marker .tidemark; echo")
    await scene.watch.stop()
    try await scene.watchAgain()
    _ = try await scene.account()
    #expect(try await scene.rows().keys.sorted() == [Scene.taskID(2)], "the one removed file is a delete, in its time")
    #expect(try scene.replica.row("tasks/t2.json")["notes"] as? String == "theirs")
    await scene.watch.stop()
  }
}
