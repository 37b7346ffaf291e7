import Foundation
import Testing

@Suite("Conflicts settled with a merged text", .timeLimit(.minutes(5)))
struct MergedTests {
  private static let long = "one\\ntwo\\nthree"

  /// Two replicas, of which the first has a conflict of the title; its notes and theirs were changed apart.
  private func meet(_ site: Site, isWatching: Bool) async throws -> (both: BothWays, other: Replica) {
    let (a, b) = try await site.replicas()
    try a.write("tasks/milk.json", "{\n  \"title\": \"Milk\",\n  \"notes\": \"\(Self.long)\",\n  \"done\": false\n}\n")
    try await a.sync()
    try await b.sync()
    try await a.run("offline").expectSuccess()
    let both = try await BothWays(a, isWatching: isWatching)
    try b.edit("tasks/milk.json") {
      $0["title"] = "Theirs"
      $0["notes"] = "one\ntwo\n3"
    }
    try await b.sync()
    try a.edit("tasks/milk.json") {
      $0["title"] = "Mine"
      $0["notes"] = "1\ntwo\nthree"
    }
    try await both.watch?.line(with: "edited", "tasks/milk.json")
    if both.watch == nil { _ = try await a.run("sync") }
    try await a.run("online").expectSuccess()
    try await a.sync(expecting: 4)
    return (both, b)
  }

  private func expectSettled(_ both: BothWays, _ other: Replica, title: String, notes: String) async throws {
    try await both.replica.converge()
    try await other.sync()
    for replica in [both.replica, other] {
      #expect(try replica.row("tasks/milk.json")["title"] as? String == title)
      #expect(try replica.row("tasks/milk.json")["notes"] as? String == notes)
      #expect(try replica.tasks() == ["milk.json"])
    }
    #expect(try await both.replica.entries("conflicts").isEmpty)
    #expect(!both.replica.exists(".tidemark/drafts") || both.replica.drafts.isEmpty)
    await both.stop()
  }

  @Test(
    "a whole file from standard input or a path settles one, and what it does not name stays theirs",
    arguments: [false, true], [false, true])
  func merged(isWatching: Bool, isInput: Bool) async throws {
    let site = try await Site()
    let (both, b) = try await meet(site, isWatching: isWatching)
    let a = both.replica
    let text = "{\"$mine\": 1, \"title\": \"Both\"}\n"
    if isInput {
      let done = try await Tidemark.run(["-C", a.path, "resolve", "tasks/milk.json", "--merged", "-"], input: text)
      done.expectSuccess()
      #expect(done.output.contains("settled: the merged text is kept"))
    } else {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(site.path)/merged.json"))
      try await a.run("resolve", "tasks/milk.mine.json", "--merged", "\(site.path)/merged.json").expectSuccess()
    }
    // The file is the merged one, with what it did not name; the person's version is in the trash.
    #expect(
      try a.text("tasks/milk.json").hasPrefix("{\"$mine\": 1, \"id\": ")
        || a.text("tasks/milk.json").contains("\"$mine\": 1"))
    #expect(try await a.entries("trash").contains { $0["origin"] as? String == "tasks/milk.mine.json" })
    try await expectSettled(both, b, title: "Both", notes: "one\ntwo\n3")
  }

  @Test("a merged file is checked like any other, and a wrong one changes nothing", arguments: [false, true])
  func wrong(isWatching: Bool) async throws {
    let site = try await Site()
    let (both, b) = try await meet(site, isWatching: isWatching)
    let a = both.replica
    let before = try (a.text("tasks/milk.json"), a.text("tasks/milk.mine.json"))
    for (text, sentence) in [
      ("{\n  \"titel\": \"x\"\n}", "standard input:2:3: unknown member 'titel'"),
      ("{\"title\": 3}", "standard input:1:11: found a number in 'title'"),
      ("{\"title\": \"x\",\n<<<<<<< mine\n}", "standard input:2:1: a conflict marker stands here"),
      ("  \n", "standard input:1:1: the text is empty"),
      (
        "{\"id\": \"00000000-0000-4000-8000-000000000000\", \"title\": \"x\"}",
        "standard input:1:8: this is the key of another row"
      ),
    ] {
      let done = try await Tidemark.run(["-C", a.path, "resolve", "tasks/milk.json", "--merged", "-"], input: text)
      #expect(done.status == 1 && done.errors.contains(sentence), "\(done.errors)")
    }
    #expect(try await a.run("resolve", "tasks/milk.json", "--merged", "/nonexistent/x").status == 1)
    #expect(try await a.run("resolve", "tasks/milk.json", "--merged", "x", "--mine").status == 2)
    #expect(try await a.run("resolve", "tasks/none.json", "--edit").status == 1)
    #expect(try a.text("tasks/milk.json") == before.0)
    #expect(try a.text("tasks/milk.mine.json") == before.1)
    try await a.run("resolve", "tasks/milk.json", "--theirs").expectSuccess()
    try await expectSettled(both, b, title: "Theirs", notes: "one\ntwo\n3")
  }

  @Test("an editor gets a draft in which only what is disputed stands between markers", arguments: [false, true])
  func edit(isWatching: Bool) async throws {
    let site = try await Site()
    let (both, b) = try await meet(site, isWatching: isWatching)
    let a = both.replica
    // What the editor saw is kept; it takes the lines of "mine".
    let editor = "cp \"$1\" \(site.path)/seen; sed -i -e '/^<<<<<<< /d' -e '/^||||||| /,/^>>>>>>> /d' \"$1\""
    try Data(editor.utf8).write(to: URL(fileURLWithPath: "\(site.path)/editor"))
    let done = try await a.resolveInEditor("EDITOR='sh \(site.path)/editor'", site)
    done.expectSuccess()
    let seen = try String(contentsOfFile: "\(site.path)/seen", encoding: .utf8)
    #expect(seen.contains("<<<<<<< mine\n"))
    #expect(seen.contains("\"Mine\"") && seen.contains("\"Milk\"") && seen.contains("\"Theirs\""))
    #expect(seen.contains("\"1\\ntwo\\n3\""))
    try await expectSettled(both, b, title: "Mine", notes: "1\ntwo\n3")
  }

  @Test(
    "a merge tool is given all four files, by the environment or by the person's settings", arguments: [false, true])
  func tool(isSetting: Bool) async throws {
    let site = try await Site()
    let (both, b) = try await meet(site, isWatching: false)
    let a = both.replica
    let tool = """
      grep -q '"Mine"' "$1" && grep -q '"Milk"' "$2" && grep -q '"Theirs"' "$3" && \
      sed -e 's/"Theirs"/"Tool"/' "$3" > "$4"
      """
    try Data(tool.utf8).write(to: URL(fileURLWithPath: "\(site.path)/tool"))
    var variables = "EDITOR=false TIDEMARK_MERGETOOL='sh \(site.path)/tool \"$MINE\" \"$BASE\" \"$THEIRS\" \"$MERGED\"'"
    if isSetting {
      let folder = "\(site.path)/config/tidemark"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let write = { (text: String) in try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/settings.json")) }
      variables = "EDITOR=false XDG_CONFIG_HOME='\(site.path)/config'"
      try write("{\n  \"mergeTool\": [\"sh\"]\n}")
      let wrong = try await a.resolveInEditor(variables, site)
      #expect(wrong.status == 1 && wrong.errors.contains("tidemark/settings.json:2:16: the tool is not told"))
      try write("{\"mergeTool\": [\"sh\", \"\(site.path)/tool\", \"$MINE\", \"$BASE\", \"$THEIRS\", \"$MERGED\"]}")
    }
    try await a.resolveInEditor(variables, site).expectSuccess()
    try await expectSettled(both, b, title: "Tool", notes: "one\ntwo\n3")
  }

  @Test("an editor that fails, changes nothing, or leaves a mistake settles nothing, and no text is lost")
  func editorFails() async throws {
    let site = try await Site()
    let (both, b) = try await meet(site, isWatching: false)
    let a = both.replica
    for (editor, sentence) in [
      ("true", "nothing was changed in the draft"), ("false", "ended with exit code 1"),
      ("/nonexistent/editor", "ended with exit code 127"),
    ] {
      let done = try await a.resolveInEditor("VISUAL=\(editor) EDITOR=true", site)
      #expect(done.status == 1 && done.errors.contains(sentence), "\(done.errors)")
      #expect(a.drafts.isEmpty)
    }
    let noTerminal = try await a.resolveInEditor("", site)
    #expect(noTerminal.status == 1 && noTerminal.errors.contains("there is no terminal for an editor"))

    // A changed draft is kept, whatever became of it.
    let failed = try await a.resolveInEditor("EDITOR='f() { echo x >> \"$1\"; return 3; }; f'", site)
    #expect(
      failed.status == 1 && failed.errors.contains("ended with exit code 3; nothing was settled. Your text is kept"))
    let marked = try await a.resolveInEditor("EDITOR='sed -i s/Mine/Ours/'", site)
    #expect(marked.status == 1, "\(marked.output)")
    #expect(
      marked.errors.contains("/merged.json:3:1: a conflict marker stands here")
        || marked.errors.contains("a conflict marker stands here"))
    #expect(a.drafts.count == 2)
    #expect(try await a.entries("conflicts").count == 1)

    // It is mended, and taken by its path.
    let path = try #require(
      a.drafts.compactMap { "\(a.path)/.tidemark/drafts/\($0)/merged.json" }.first {
        (try? String(contentsOfFile: $0, encoding: .utf8))?.contains("\"Ours\"") ?? false
      })
    try await Program(shell: "sed -i -e '/^<<<<<<< /d' -e '/^||||||| /,/^>>>>>>> /d' '\(path)'", in: site.path)
      .finished().expectSuccess()
    try await a.run("resolve", "tasks/milk.json", "--merged", path).expectSuccess()
    try FileManager.default.removeItem(atPath: "\(a.path)/.tidemark/drafts")
    try await expectSettled(both, b, title: "Ours", notes: "1\ntwo\n3")
  }

  @Test("a merge whose row moved on meanwhile overwrites nothing", arguments: [false, true])
  func movedOn(isWatching: Bool) async throws {
    let site = try await Site()
    let (both, b) = try await meet(site, isWatching: isWatching)
    let a = both.replica
    // While the draft is open, the other changes the title once more.
    let script = """
      sed -i 's/"Theirs"/"Theirs again"/' '\(b.path)/tasks/milk.json' && '\(Tidemark.path)' -C '\(b.path)' sync >/dev/null \
      && printf '{"title": "Merged", "done": true}' > "$1"
      """
    try Data(script.utf8).write(to: URL(fileURLWithPath: "\(site.path)/editor"))
    try await a.resolveInEditor("EDITOR='sh \(site.path)/editor'", site).expectSuccess()
    for _ in 0..<5 { if try await a.run("sync").status == 4 { break } }
    let entry = try #require(try await a.entries("conflicts").first)
    let title = try #require((entry["columns"] as? [[String: Any]])?.first { $0["column"] as? String == "title" })
    #expect(title["mine"] as? String == "Merged")
    #expect(title["theirs"] as? String == "Theirs again")
    try await b.sync()
    #expect(try b.row("tasks/milk.json")["title"] as? String == "Theirs again")

    // And when the conflict itself was settled meanwhile, the draft is kept.
    let settled =
      "'\(Tidemark.path)' -C '\(a.path)' resolve tasks/milk.json --theirs && printf '{\"title\": \"Late\"}' > \"$1\""
    try Data(settled.utf8).write(to: URL(fileURLWithPath: "\(site.path)/editor"))
    let late = try await a.resolveInEditor("EDITOR='sh \(site.path)/editor'", site)
    #expect(late.status == 1 && late.errors.contains("Your text is kept"), "\(late.errors)")
    #expect(a.drafts.count == 1)
    await both.stop()
  }

  @Test("a row that is gone is made again, and a delete that met a change becomes an edit", arguments: [false, true])
  func goneAndDeleted(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    for name in ["gone", "deleted"] { try a.write("tasks/\(name).json", "{\"title\": \"\(name)\", \"notes\": \"n\"}") }
    try await a.sync()
    try await b.sync()
    try await a.run("offline").expectSuccess()
    try b.remove("tasks/gone.json")
    try b.edit("tasks/deleted.json") { $0["notes"] = "theirs" }
    try await b.sync()
    try a.edit("tasks/gone.json") { $0["title"] = "gone, mine" }
    try a.remove("tasks/deleted.json")
    _ = try await a.run("sync")
    try await a.run("online").expectSuccess()
    try await a.sync(expecting: 4)
    let both = try await BothWays(a, isWatching: isWatching)
    #expect(try await a.entries("conflicts").count == 2)
    let shown = try await a.run("conflicts").output
    #expect(shown.contains("mine: you deleted the row; theirs: the changes below"))
    #expect(shown.contains("mine: the changes below; theirs: the row was deleted"))
    try await a.resolveInEditor("EDITOR='sed -i s/mine/merged/'", site, "tasks/gone.json").expectSuccess()
    try await a.resolveInEditor("EDITOR='sed -i s/theirs/merged/'", site, "tasks/deleted.json").expectSuccess()
    try await a.converge()
    try await b.sync()
    for replica in [a, b] {
      #expect(try replica.titles().sorted() == ["deleted", "gone, merged"])
      #expect(try replica.tasks().count == 2)
    }
    #expect(try b.row("tasks/deleted.json")["notes"] as? String == "merged")
    #expect(try await a.entries("conflicts").isEmpty)
    await both.stop()
  }
}

extension Replica {
  /// The folders of conflicts that are being merged.
  fileprivate var drafts: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: "\(path)/.tidemark/drafts")) ?? []
  }

  /// Runs `resolve --edit` with variables in the form of a shell.
  fileprivate func resolveInEditor(
    _ variables: String, _ site: Site, _ file: String = "tasks/milk.json"
  ) async throws -> Finished {
    let script =
      "env -u EDITOR -u VISUAL \(variables) '\(Tidemark.path)' -C '\(path)' resolve \(file) --edit </dev/null"
    return try await Program(shell: script, in: site.path).finished()
  }
}
