import Foundation
import Glibc
import Testing

@Suite("Watching, with the built program", .serialized, .timeLimit(.minutes(10)))
struct WatchScenarios {
  @Test("WATCHER-1: more saves than the kernel's queue holds are all queued, once each")
  func overflow() async throws {
    let count = testEffort > 1 ? 6000 : 1200
    let scene = try await Scene(
      Dictionary(uniqueKeysWithValues: (1...count).map { ("t\($0).json", Scene.task($0)) }), settings: ["pullEvery": 60]
    )
    // Held up, the watcher reads nothing while the queue runs over: three events a file, and touched often enough.
    scene.watch.signal(SIGSTOP)
    try await scene.shell(
      #"""
      sed -i 's/"title": "task"/"title": "edited"/' tasks/*.json
      n=0; while [ $n -lt 20 ]; do n=$((n + 1)); touch -c tasks/*.json; done
      """#)
    let line = scene.watch.lineCount
    scene.watch.signal(SIGCONT)
    if count * (6 + 20 * 2) > 16_384 {
      try await scene.watch.line(with: "events were lost", from: line)
    }
    let account = try await scene.account()
    #expect(account.events.count == count && Set(account.events).count == count)
    #expect(account.events.allSatisfy { $0.hasPrefix("edited tasks/t") && $0.hasSuffix(".json title") })
    #expect(try await scene.rows().values.allSatisfy { $0["title"] as? String == "edited" })
    await scene.watch.stop()
  }

  @Test(
    "WATCHER-3: used-up watches and watchers are told with their sysctl, polled meanwhile, and got over",
    .enabled(if: Namespace.isAllowed, Namespace.comment), arguments: ["max_inotify_watches", "max_inotify_instances"])
  func limits(name: String) async throws {
    let site = try await Site()
    _ = try await site.workspace("a", isFirst: true)
    let program = try site.inNamespace(
      """
      cd a
      cat > tasks/t.json <<END
      \(Scene.task)
      END
      "$T" sync > /dev/null
      echo \(name == "max_inotify_watches" ? 3 : 0) > /proc/sys/user/\(name)
      "$T" watch > ../watched 2>&1 &
      watcher=$!
      trap 'kill $watcher' EXIT
      until grep -q watching ../watched; do sleep 0.05; done
      sed -i 's/"one"/"two"/' tasks/t.json
      until [ "$(row \(Scene.id) | member title)" = two ]; do sleep 0.1; done
      echo polled
      echo 1000 > /proc/sys/user/\(name)
      until grep -q 'reported again' ../watched; do sleep 0.1; done
      sed -i 's/"two"/"three"/' tasks/t.json
      until [ "$(row \(Scene.id) | member title)" = three ]; do sleep 0.1; done
      echo over
      """)
    let done = await program.finished()
    #expect(done.output.contains("polled") && done.output.contains("over"), "\(done.output)\(done.errors)")
    let watched = try String(contentsOfFile: "\(site.path)/watched", encoding: .utf8)
    let told = watched.split(separator: "\n").filter { $0.contains("sysctl") }
    #expect(told.count == 1, "said once: \(watched)")
  }

  @Test("WATCHER-4: a file moved over a row's file is an edit, and one moved from another row takes its row along")
  func movedOver() async throws {
    let scene = try await Scene(
      ["a.json": Scene.task(1, title: "a"), "b.json": Scene.task(2, title: "b")], settings: ["deleteAfter": 2])
    try await scene.shell(#"printf '{"title": "draft"}' > ../draft.json; mv ../draft.json tasks/a.json"#)
    #expect(try await scene.settle().events == ["edited tasks/a.json title"])
    try await scene.shell("mv tasks/b.json tasks/a.json")
    let account = try await scene.settle()
    #expect(account.events == ["deleted tasks/a.json "], "\(account.events)")
    #expect(try await scene.rows().keys.sorted() == [Scene.taskID(2)])
    #expect(try scene.replica.tasks() == ["a.json"])
    #expect(try await scene.replica.entries("trash").contains { $0["origin"] as? String == "tasks/a.json" })
    await scene.watch.stop()
  }

  @Test("WATCHER-5: memory maps, links and nameless files are seen")
  func otherWays() async throws {
    let scene = try await Scene()
    var line = scene.watch.lineCount
    try await scene.shell(
      """
      /usr/bin/python3 - <<'END'
      import mmap, os
      with open("tasks/t.json", "r+b") as file:
          with mmap.mmap(file.fileno(), 0) as map:
              at = map.find(b'"one"'); map[at:at + 5] = b'"map"'
      END
      """)
    try await scene.edited(after: line)
    line = scene.watch.lineCount
    try await scene.shell(#"printf '{"title": "linked"}' > ../linked; ln ../linked tasks/linked.json"#)
    try await scene.watch.line(with: "added", "tasks/linked.json", from: line)
    line = scene.watch.lineCount
    try await scene.shell(
      """
      /usr/bin/python3 - <<'END'
      import os
      file = os.open("tasks", os.O_TMPFILE | os.O_WRONLY, 0o644)
      os.write(file, b'{"title": "nameless"}')
      os.link(f"/proc/self/fd/{file}", "tasks/nameless.json", src_dir_fd=file, follow_symlinks=True)
      os.close(file)
      END
      """)
    try await scene.watch.line(with: "added", "tasks/nameless.json", from: line)
    let account = try await scene.account()
    #expect(
      account.events == ["edited tasks/t.json title", "added tasks/linked.json ", "added tasks/nameless.json "],
      "\(account.events)")
    #expect(
      try await scene.rows().values.compactMap { $0["title"] as? String }.sorted() == ["linked", "map", "nameless"])
    await scene.watch.stop()
  }

  @Test("WATCHER-5: pipes, sockets, devices, links and hard links among the files are left alone, and harm nothing")
  func notFiles() async throws {
    let scene = try await Scene()
    try await scene.shell(
      """
      mkfifo tasks/pipe.json; mkdir tasks/folder.json; ln -s t.json tasks/link.json
      /usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("tasks/socket.json")'
      ln tasks/t.json ../hard
      sed -i 's/"one"/"two"/' $T
      """)
    try await scene.site.change(id: Scene.id, ["notes": "theirs"])
    let account = try await scene.account(expecting: 4)
    #expect(account.events.filter { !$0.hasPrefix("problem") } == ["edited tasks/t.json title"], "\(account.events)")
    #expect(Set(account.events.filter { $0.hasPrefix("problem") }.map { $0.split(separator: " ")[1] }).count == 4)
    _ = try await scene.replica.run("sync")
    #expect(try scene.replica.row("tasks/t.json")["notes"] as? String == "theirs")
    #expect(try String(contentsOfFile: "\(scene.site.path)/hard", encoding: .utf8) == Scene.task)
    await scene.watch.stop()
  }

  @Test("WATCHER-2: a folder that is put in place at once is looked at")
  func newFolder() async throws {
    let scene = try await Scene(["t.json": Scene.task], settings: ["deleteAfter": 2])
    let line = scene.watch.lineCount
    try await scene.shell(
      """
      mkdir ../tasks; cp -p tasks/t.json ../tasks; printf '{"title": "new"}' > ../tasks/new.json
      mv tasks ../old; mv ../tasks tasks; sed -i 's/"one"/"two"/' $T
      """)
    try await scene.watch.line(with: "added", "tasks/new.json", from: line)
    try await scene.edited(after: line)
    let account = try await scene.account()
    #expect(Set(account.events) == ["added tasks/new.json ", "edited tasks/t.json title"], "\(account.events)")
    await scene.watch.stop()
  }

  @Test("WATCHER-5: a second watcher is refused, and the first goes on")
  func twoWatchers() async throws {
    let scene = try await Scene()
    let second = try await Tidemark.run(["-C", scene.replica.path, "watch"])
    #expect(second.status != 0 && second.errors.contains("process"), "\(second.errors)")
    let line = scene.watch.lineCount
    try await scene.shell(#"sed -i 's/"one"/"two"/' $T"#)
    try await scene.edited(after: line)
    await scene.watch.stop()
  }
}
