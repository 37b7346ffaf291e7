import Foundation
import Testing

@Suite("doctor --repair, with the built program", .timeLimit(.minutes(5))) struct RepairTests {
  @Test("in a workspace in step it learns everything again, sends nothing and rewrites nothing")
  func inStep() async throws {
    let scene = try await Scene([
      "t1.json": Scene.task(1), "t2.json": Scene.task(2), "late.json": #"{"title": "late"}"#,
    ])
    await scene.watch.stop()
    try await scene.shell("stat -c '%n %i %Y' tasks/*.json > ../before")
    let done = try await scene.replica.run("doctor", "--repair")
    #expect(done.status == 0, "\(done.output)\(done.errors)")
    try await scene.shell("stat -c '%n %i %Y' tasks/*.json | cmp - ../before")
    #expect(try await scene.account() == .init())
    #expect(try await scene.rows().count == 3)
  }

  @Test(
    "edits that were seen but not sent, and edits that nobody has looked at, reach the server",
    arguments: [false, true])
  func unsentEdits(isDamaged: Bool) async throws {
    let scene = try await Scene(
      Dictionary(uniqueKeysWithValues: (1...6).map { ("t\($0).json", Scene.task($0, notes: "first")) }))
    try await scene.replica.run("offline").expectSuccess()
    let line = scene.watch.lineCount
    try await scene.shell(
      #"sed -i 's/"task"/"queued"/' tasks/t1.json; printf '{"title": "new, queued"}' > tasks/n1.json"#)
    try await scene.edited(of: "tasks/t1.json", after: line)
    try await scene.watch.line(with: "added", "tasks/n1.json", from: line)
    await scene.watch.stop()
    try await scene.shell(
      #"sed -i 's/"task"/"unseen"/' tasks/t2.json; printf '{"title": "new, unseen"}' > tasks/n2.json"#)
    try await scene.site.change(id: Scene.taskID(3), ["notes": "theirs"])
    try await scene.site.delete(id: Scene.taskID(4))
    if isDamaged {
      // Nothing of what was queued can be known any more but from the files.
      try await scene.shell(
        "s=$(stat -c %s .tidemark/state.sqlite); rm -f .tidemark/state.sqlite-*; "
          + "dd if=/dev/urandom of=.tidemark/state.sqlite bs=4096 seek=2 count=$((s / 4096 - 2)) conv=notrunc status=none"
      )
    } else {
      try await scene.replica.run("online").expectSuccess()
    }
    let done = try await scene.replica.run("doctor", "--repair")
    #expect([0, 4].contains(done.status), "\(done.output)\(done.errors)")
    let after = try await scene.replica.run("sync")
    #expect([0, 4].contains(after.status), "\(after.output)\(after.errors)")
    let rows = try await scene.rows()
    let titles = rows.values.compactMap { $0["title"] as? String }
    let texts = try scene.replica.tasks().map { try scene.replica.text("tasks/\($0)") }.joined()
    for title in ["queued", "unseen", "new, queued", "new, unseen"] {
      #expect(texts.contains("\"\(title)\""), "\(title) is lost: \(texts)")
      #expect(titles.count { $0 == title } <= 1, "\(title) twice: \(titles)")
      if !isDamaged || title.hasPrefix("new") { #expect(titles.contains(title), "\(title): \(titles)") }
    }
    #expect(rows[Scene.taskID(3)]?["notes"] as? String == "theirs")
    #expect(try scene.replica.row("tasks/t3.json")["notes"] as? String == "theirs")
    #expect(rows[Scene.taskID(5)] != nil && rows[Scene.taskID(6)] != nil)
  }

  @Test("open conflicts, refusals and files that cannot be read stay what they were, and can be settled afterwards")
  func entries() async throws {
    let scene = try await Scene(
      Dictionary(uniqueKeysWithValues: (1...6).map { ("t\($0).json", Scene.task($0, notes: "first")) }))
    await scene.watch.stop()
    try await scene.site.change(id: Scene.taskID(1), ["title": "theirs"])
    try await scene.shell(
      #"sed -i 's/"task"/"mine"/' tasks/t1.json; sed -i 's/"task"/" "/' tasks/t2.json; printf '{"title": ' > tasks/t3.json"#
    )
    try await scene.replica.sync(expecting: 4)
    #expect(scene.replica.exists("tasks/t1.mine.json") && scene.replica.exists("tasks/t2.refused.json"))
    let repaired = try await scene.replica.run("doctor", "--repair")
    #expect(repaired.status == 4, "\(repaired.output)\(repaired.errors)")
    let status = try await scene.replica.status()
    #expect(status["conflicted"] as? Int == 1 && status["rejected"] as? Int == 1, "\(status)")
    #expect(try scene.replica.text("tasks/t3.json") == #"{"title": "#)
    #expect(try scene.replica.row("tasks/t1.mine.json")["title"] as? String == "mine")
    try await scene.replica.run("resolve", "tasks/t1.json", "--mine").expectSuccess()
    try await scene.replica.run("dismiss", "tasks/t2.json").expectSuccess()
    try scene.replica.write("tasks/t3.json", Scene.task(3, title: "whole again", notes: "first"))
    try await scene.replica.sync()
    let rows = try await scene.rows()
    #expect(
      (1...3).map { rows[Scene.taskID($0)]?["title"] as? String } == ["mine", "task", "whole again"], "\(rows)")
    #expect(try scene.replica.tasks() == (1...6).map { "t\($0).json" })
  }

  @Test("a watcher that runs keeps it from beginning")
  func watched() async throws {
    let scene = try await Scene()
    let done = try await scene.replica.run("doctor", "--repair")
    #expect(done.status != 0 && done.errors.contains("process"), "\(done.errors)")
    let line = scene.watch.lineCount
    try await scene.shell(#"sed -i 's/"one"/"two"/' $T"#)
    try await scene.edited(after: line)
    await scene.watch.stop()
  }
}
