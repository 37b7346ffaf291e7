import Foundation
import Glibc
import Testing

/// How a real editor saves `tasks/t.json` with another title.
struct EditorWay: Sendable, CustomTestStringConvertible {
  let name: String
  let tool: String
  /// The shell's words that save the title `$1` in place of any other.
  let script: String

  var testDescription: String { name }

  static let vim: [EditorWay] = ["auto", "no", "yes"].flatMap { copy in
    ["backup", "nobackup", "nowritebackup"].map { backup in
      EditorWay(
        name: "vim, backupcopy=\(copy), \(backup)", tool: "vim",
        script: """
          vim -es -u NONE -i NONE -c 'set backupskip= backupcopy=\(copy) \(backup) fsync' \
          -c '%s/"title": "[^"]*"/"title": "'"$1"'"/' -c wq tasks/t.json </dev/null
          """)
    }
  }

  private static func emacs(_ name: String, _ settings: String) -> EditorWay {
    EditorWay(
      name: "emacs, \(name)", tool: "emacs",
      script: """
        emacs -Q --batch --eval "(setq backup-enable-predicate (lambda (_) t) \(settings))" tasks/t.json --eval \
        "(progn (re-search-forward \\"\\\\\\"title\\\\\\": \\\\\\"[^\\\\\\"]*\\\\\\"\\") \
        (replace-match \\"\\\\\\"title\\\\\\": \\\\\\"$1\\\\\\"\\") (save-buffer))" 2>&1
        """)
  }

  static let emacs = [
    emacs("renaming", ""), emacs("backup by copying", "backup-by-copying t"), emacs("precious", "file-precious-flag t"),
    emacs("without a backup", "make-backup-files nil"),
  ]

  /// Tools that rewrite a file without a person.
  static let tools: [EditorWay] = [
    EditorWay(name: "sed -i", tool: "sed", script: #"sed -i 's/"title": "[^"]*"/"title": "'"$1"'"/' tasks/t.json"#),
    EditorWay(
      name: "sed -i.bak", tool: "sed", script: #"sed -i.bak 's/"title": "[^"]*"/"title": "'"$1"'"/' tasks/t.json"#),
    EditorWay(
      name: "perl -i", tool: "perl", script: #"perl -pi -e 's/"title": "[^"]*"/"title": "'"$1"'"/' tasks/t.json"#),
    EditorWay(
      name: "perl -i.bak", tool: "perl",
      script: #"perl -pi.bak -e 's/"title": "[^"]*"/"title": "'"$1"'"/' tasks/t.json"#
    ),
    EditorWay(
      name: "ed", tool: "ed", script: #"printf ',s/"title": "[^"]*"/"title": "%s"/\nw\nq\n' "$1" | ed -s tasks/t.json"#),
    EditorWay(
      name: "jq into a temporary file", tool: "jq",
      script: #"jq --arg t "$1" '.title = $t' tasks/t.json > tasks/t.json.tmp && mv tasks/t.json.tmp tasks/t.json"#),
    EditorWay(
      name: "cp over it", tool: "sed", script: #"sed 's/"title": "[^"]*"/"title": "'"$1"'"/' $T > ../new; cp ../new $T"#
    ),
    EditorWay(
      name: "mv over it", tool: "sed", script: #"sed 's/"title": "[^"]*"/"title": "'"$1"'"/' $T > ../new; mv ../new $T"#
    ),
    EditorWay(
      name: "install", tool: "install",
      script: #"sed 's/"title": "[^"]*"/"title": "'"$1"'"/' $T > ../new; install -m 644 ../new $T"#),
    EditorWay(
      name: "rsync", tool: "rsync",
      script:
        #"mkdir -p ../in; sed 's/"title": "[^"]*"/"title": "'"$1"'"/' $T > ../in/t.json; rsync -a -c ../in/ tasks/"#),
    EditorWay(
      name: "rsync --inplace", tool: "rsync",
      script: """
        mkdir -p ../in; sed 's/"title": "[^"]*"/"title": "'"$1"'"/' $T > ../in/t.json
        rsync -a -c --inplace ../in/ tasks/
        """),
    EditorWay(
      name: "rsync --delay-updates", tool: "rsync",
      script: """
        mkdir -p ../in; sed 's/"title": "[^"]*"/"title": "'"$1"'"/' $T > ../in/t.json
        rsync -a -c --delay-updates ../in/ tasks/
        """),
    EditorWay(
      name: "patch", tool: "patch",
      script: """
        sed 's/"title": "[^"]*"/"title": "'"$1"'"/' $T > ../new; diff -u $T ../new > ../t.diff || true
        patch -s $T ../t.diff
        """),
    EditorWay(
      name: "a writer that opens the name and writes block by block, as scp does", tool: "dd",
      script: #"sed 's/"title": "[^"]*"/"title": "'"$1"'"/' $T > ../new; dd if=../new of=$T bs=16 status=none"#),
  ]
}

@Suite("Editors and tools, real ones, at a watched workspace", .serialized, .timeLimit(.minutes(10)))
struct EditorScenarios {
  /// Saves five times, each save awaited, and makes the account.
  private func play(_ way: EditorWay, at location: SourceLocation = #_sourceLocation) async throws {
    guard Tool.isInstalled(way.tool) else { try Test.cancel(Tool.missing(way.tool)) }
    let scene = try await Scene()
    for number in 1...3 {
      let line = scene.watch.lineCount
      try await scene.shell("set -- 'save \(number)'\n\(way.script)", at: location)
      try await scene.edited(after: line, at: location)
    }
    let account = try await scene.account(at: location)
    let events = Array(repeating: "edited tasks/t.json title", count: 3)
    #expect(account.events == events, "\(way.name)", sourceLocation: location)
    #expect(account.writes.allSatisfy { $0 == "PATCH /rest/v1/tasks" }, "\(account.writes)", sourceLocation: location)
    #expect(
      try await scene.rows().mapValues { $0["title"] as? String } == [Scene.id: "save 3"], sourceLocation: location)
    #expect(try scene.replica.row("tasks/t.json")["title"] as? String == "save 3", sourceLocation: location)
    await scene.watch.stop()
  }

  @Test("EDITOR-1: vim saves in each of its ways, with and without backups", arguments: EditorWay.vim)
  func vim(way: EditorWay) async throws { try await play(way) }

  @Test(
    "EDITOR-1: vim saves faster than the settle time, and the last text counts",
    .enabled(if: Tool.isInstalled("vim"), Tool.missing("vim")), arguments: ["auto", "no", "yes"])
  func vimFast(copy: String) async throws {
    let scene = try await Scene()
    let saves = (1...5).map { #"-c '%s/"title": "[^"]*"/"title": "save \#($0)"/ | w'"# }.joined(separator: " ")
    try await scene.shell("vim -es -u NONE -i NONE -c 'set backupskip= backupcopy=\(copy)' \(saves) -c q $T </dev/null")
    let account = try await scene.account()
    #expect((1...5).contains(account.events.count))
    #expect(account.events.allSatisfy { $0 == "edited tasks/t.json title" }, "\(account.events)")
    #expect(try await scene.rows()[Scene.id]?["title"] as? String == "save 5")
    await scene.watch.stop()
  }

  @Test("EDITOR-1: saving without a change sends nothing", .enabled(if: Tool.isInstalled("vim"), Tool.missing("vim")))
  func nothingChanged() async throws {
    let scene = try await Scene()
    for copy in ["auto", "no", "yes"] {
      try await scene.shell("vim -es -u NONE -i NONE -c 'set backupskip= backupcopy=\(copy)' -c w! -c q $T </dev/null")
    }
    try await scene.shell("touch $T; cp $T ../same; cp ../same $T; mv ../same $T; chmod 600 $T; chmod 644 $T")
    #expect(try await scene.account() == Scene.Account())
    await scene.watch.stop()
  }

  @Test("EDITOR-3: emacs saves in each of its ways, with its lock links", arguments: EditorWay.emacs)
  func emacs(way: EditorWay) async throws { try await play(way) }

  @Test("EDITOR-3: links are no rows: a lock is passed over, a link under a row's name is named")
  func links() async throws {
    let scene = try await Scene()
    await scene.watch.stop()
    try await scene.shell("ln -s someone@host.123:456 'tasks/.#other.json'; ln -s nowhere tasks/x.json")
    try await scene.watchAgain()
    let line = scene.watch.lineCount
    try await scene.shell(#"sed -i 's/"one"/"two"/' $T"#)
    try await scene.edited(after: line)
    let account = try await scene.account(expecting: 4)
    #expect(account.events.count == 2 && account.events.contains("edited tasks/t.json title"), "\(account.events)")
    #expect(
      account.events.contains { $0.hasPrefix("problem tasks/x.json") && $0.contains("link") }, "\(account.events)")
    #expect(account.writes == ["PATCH /rest/v1/tasks"])
    await scene.watch.stop()
  }

  @Test("EDITOR-2: the steps of a safe write, with pauses between", arguments: [0, 5, 200])
  func safeWrite(pause: Int) async throws {
    let scene = try await Scene()
    let rest = "sleep \(Double(pause) / 1000)"
    try await scene.shell(
      """
      sed 's/"one"/"two"/' $T > tasks/t.json___jb_tmp___
      \(rest); mv $T tasks/t.json___jb_old___
      \(rest); mv tasks/t.json___jb_tmp___ $T
      \(rest); rm tasks/t.json___jb_old___
      """)
    #expect(try await scene.account() == .init(events: ["edited tasks/t.json title"], writes: ["PATCH /rest/v1/tasks"]))
    await scene.watch.stop()
  }

  @Test(
    "EDITOR-4: GNOME's programs save through GIO, with and without a backup",
    .enabled(if: Tool.isInstalled("gio"), Tool.missing("gio")), arguments: ["", "--backup"])
  func gio(options: String) async throws {
    let scene = try await Scene()
    for number in 1...10 {
      let line = scene.watch.lineCount
      try await scene.shell(
        #"sed 's/"title": "[^"]*"/"title": "save \#(number)"/' $T > ../new; gio save \#(options) $T < ../new"#)
      try await scene.edited(after: line)
    }
    let account = try await scene.account()
    #expect(account.events == Array(repeating: "edited tasks/t.json title", count: 10))
    #expect(try await scene.rows().count == 1)
    await scene.watch.stop()
  }

  @Test("EDITOR-5: a slow writer in place is waited for, and one that is killed changes nothing")
  func slowWriter() async throws {
    let scene = try await Scene(["t.json": Scene.task(10, title: "one", notes: String(repeating: "n", count: 200_000))])
    let path = "\(scene.replica.path)/tasks/t.json"
    let text = try scene.replica.text("tasks/t.json").replacingOccurrences(of: "\"one\"", with: "\"two\"")
    let line = scene.watch.lineCount
    let bytes = Array(text.utf8)
    let descriptor = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
    // Whatever the watcher says of other files meanwhile shows that it had time to look at this one.
    try await scene.otherFileIsQueued(1)
    #expect(Glibc.write(descriptor, bytes, bytes.count / 2) == bytes.count / 2)
    try await scene.otherFileIsQueued(2)
    #expect(Glibc.write(descriptor, Array(bytes[(bytes.count / 2)...]), bytes.count - bytes.count / 2) > 0)
    #expect(!scene.watch.lines[line...].contains { $0.contains("t.json") })
    close(descriptor)
    try await scene.edited(after: line)

    let cut = scene.watch.lineCount
    try await scene.shell(": > $T")
    try await scene.watch.line(with: "problem", "tasks/t.json", "empty", from: cut)
    #expect(try scene.replica.text("tasks/t.json").isEmpty, "nothing is written over the person's file")
    let rows = try await scene.rows()
    #expect(rows.values.contains { $0["title"] as? String == "two" && ($0["notes"] as? String)?.count == 200_000 })
    await scene.watch.stop()
  }

  @Test(
    "EDITOR-5: nano saves in place, typed in a terminal", .enabled(if: Tool.isInstalled("nano"), Tool.missing("nano")))
  func nano() async throws {
    for options in [[], ["-B"], ["-G"]] {
      let scene = try await Scene()
      let line = scene.watch.lineCount
      // Replace "one" by "two" everywhere, save, leave.
      try await scene.type(
        into: ["nano"] + options + ["tasks/t.json"],
        [
          ("t.json", "\u{1C}"), ("replace", "\"one\"\r"), ("with", "\"two\"\r"), ("this instance", "A"),
          ("Replaced", "\u{0F}"),
          ("Write", "\r"), ("Wrote", "\u{18}"),
        ])
      try await scene.edited(after: line)
      #expect(
        try await scene.account() == .init(events: ["edited tasks/t.json title"], writes: ["PATCH /rest/v1/tasks"]))
      await scene.watch.stop()
    }
  }

  @Test("EDITOR-5: rewriting tools of every kind, none of them a person's editor", arguments: EditorWay.tools)
  func tools(way: EditorWay) async throws { try await play(way) }

  @Test(
    "EDITOR-1: a file that vim has open is written when vim is done, and its save is not lost",
    .enabled(if: Tool.isInstalled("vim"), Tool.missing("vim")))
  func openInVim() async throws {
    let scene = try await Scene()
    let other = try await scene.site.workspace("b", isFirst: false)
    try await other.sync()
    let name = try #require(try other.tasks().first)
    let line = scene.watch.lineCount
    let typed = try scene.typing(
      into: ["vim", "-u", "NONE", "-i", "NONE", "-c", "set backupskip= nocp", "tasks/t.json"],
      [("\"title\"", ":w! ../opened\r"), ("written", ":%s/\"one\"/\"two\"/\r"), ("two", ":wq\r")],
      waitingFor: "\(scene.site.path)/go"
    )
    try await scene.appears("opened")
    try other.edit("tasks/\(name)") { $0["notes"] = "theirs" }
    try await other.sync()
    // Seen by the watcher, and not written while the editor has the file.
    _ = try await scene.replica.run("sync")
    #expect(try scene.replica.row("tasks/t.json")["notes"] as? String == "first")
    #expect(try await scene.replica.run("why", "tasks/t.json").output.contains(".t.json.sw"))
    _ = FileManager.default.createFile(atPath: "\(scene.site.path)/go", contents: nil)
    #expect(await typed.finished().status == 0)
    try await scene.edited(after: line)
    try await scene.watch.line(with: "written", "tasks/t.json", from: line)
    let row = try scene.replica.row("tasks/t.json")
    #expect(row["title"] as? String == "two" && row["notes"] as? String == "theirs", "\(row)")
    #expect(try await scene.account().events == ["edited tasks/t.json title"])
    await scene.watch.stop()
  }
}

extension Scene {
  /// Saves another new file and waits until it is queued: then the watcher has had time for what came before.
  func otherFileIsQueued(_ number: Int) async throws {
    let line = watch.lineCount
    try replica.write("tasks/other-\(number).json", "{\"title\": \"other \(number)\"}")
    try await watch.line(with: "added", "tasks/other-\(number).json", from: line)
  }

  /// Waits until a file is there in the site's folder, which a program of the scenario makes.
  func appears(_ name: String) async throws {
    let done = try await Program(
      shell: "until [ -e '\(name)' ]; do sleep 0.02; done", in: site.path
    ).finished()
    #expect(done.status == 0)
  }

  /// Types into a program that wants a terminal: each text is typed once the screen has shown the words before it.
  func type(
    into words: [String], _ keys: [(screen: String, typed: String)], at location: SourceLocation = #_sourceLocation
  ) async throws {
    let done = try await typing(into: words, keys).finished()
    #expect(done.status == 0, "\(done.output)\(done.errors)", sourceLocation: location)
  }

  /// Begins to type, as `type` does.
  ///
  /// - Parameter waitingFor: A file that must be there before the last text is typed.
  func typing(
    into words: [String], _ keys: [(screen: String, typed: String)], waitingFor file: String = ""
  ) throws -> Program {
    let input: [String: Any] = ["words": words, "keys": keys.map { [$0.screen, $0.typed] }, "file": file]
    let json = String(decoding: try JSONSerialization.data(withJSONObject: input), as: UTF8.self)
    let script = """
      import json, os, pty, sys, time
      given = json.loads(sys.argv[1])
      os.environ.update(TERM="xterm", HOME="..", LINES="40", COLUMNS="120")
      child, terminal = pty.fork()
      if child == 0:
          os.execvp(given["words"][0], given["words"])
      screen = ""
      for number, (shown, typed) in enumerate(given["keys"]):
          while shown.lower() not in screen.lower():
              screen += os.read(terminal, 65536).decode(errors="replace")
          if number == len(given["keys"]) - 1 and given["file"]:
              while not os.path.exists(given["file"]): time.sleep(0.02)
          screen = ""
          os.write(terminal, typed.encode())
      try:
          while os.read(terminal, 65536): pass
      except OSError:
          pass
      sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
      """
    return try Program(shell: "exec /usr/bin/python3 -c '\(script)' '\(json)'", in: replica.path)
  }
}
