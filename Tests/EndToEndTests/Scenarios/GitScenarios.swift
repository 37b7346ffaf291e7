import Foundation
import FoundationNetworking
import Testing

extension Scene {
  /// Makes the workspace a git repository whose branch `main` has everything.
  func makeRepository() async throws {
    try await shell(
      """
      git init -q -b main; git config user.name me; git config user.email me@example.com
      [ -e .gitignore ] || printf '/.tidemark/\\n*.mine.json\\n*~\\n' > .gitignore
      git add -A; git commit -q -m first
      """)
  }

  /// Takes the account from here on.
  func settle() async throws -> Account {
    let all = try await account(expecting: 0)
    begin(at: all)
    return all
  }
}

@Suite("git at a watched workspace, a real one", .serialized, .timeLimit(.minutes(10)))
struct GitScenarios {
  private static func tasks(_ count: Int) -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: (1...count).map { ("t\($0).json", Scene.task($0, title: "task \($0)", notes: "main")) })
  }

  @Test("GIT-1: switching, stashing and rebasing many files queues each row's change once, and no delete")
  func branches() async throws {
    let count = 200 * testEffort
    let scene = try await Scene(Self.tasks(count))
    try await scene.makeRepository()
    try await scene.shell("git checkout -q -b other")
    let all = Set((1...count).map { "edited tasks/t\($0).json notes" })
    func expectAll(_ what: String, at location: SourceLocation = #_sourceLocation) async throws {
      let account = try await scene.settle()
      #expect(account.events.count == count && Set(account.events) == all, "\(what)", sourceLocation: location)
      #expect(!account.writes.contains { $0.hasPrefix("DELETE") || $0.hasPrefix("POST") }, "\(what)")
    }
    try await scene.shell(#"sed -i 's/"notes": ".*"/"notes": "other"/' tasks/*.json; git commit -q -a -m other"#)
    try await expectAll("an edit of everything")
    try await scene.shell("git checkout -q main")
    try await expectAll("a checkout")
    try await scene.shell("git checkout -q -")
    try await expectAll("and back")
    try await scene.shell(#"sed -i 's/"notes": ".*"/"notes": "stashed"/' tasks/*.json; git stash -q"#)
    // Whether the edit was seen before it was put away is chance; each row ends where it was.
    let stashed = try await scene.settle()
    #expect(stashed.events.count.isMultiple(of: 2) && Set(stashed.events).isSubset(of: all), "\(stashed.events.count)")
    try await scene.shell("git stash pop -q")
    try await expectAll("a stash that comes back")
    try await scene.shell("git commit -q -a -m stashed; git checkout -q main")
    try await expectAll("a checkout of the older branch")
    try await scene.shell(
      """
      printf '{"title": "new", "notes": "stashed"}' > tasks/new.json; git add -A; git commit -q -m new
      git checkout -q other; git rebase -q main
      """)
    let rebased = try await scene.settle()
    #expect(!rebased.events.contains { $0.hasPrefix("deleted") }, "\(rebased.events)")
    #expect(rebased.events.filter { $0.hasPrefix("added") } == ["added tasks/new.json "])
    let rows = try await scene.rows()
    #expect(rows.count == count + 1)
    #expect(rows.values.allSatisfy { $0["notes"] as? String == "stashed" })
    await scene.watch.stop()
  }

  @Test("GIT-1: back and forth between two looks queues nothing")
  func backAndForth() async throws {
    let scene = try await Scene(Self.tasks(50), settings: ["settle": 2000])
    try await scene.makeRepository()
    await scene.watch.stop()
    try await scene.shell(
      #"git checkout -q -b other; sed -i 's/task/other/' tasks/*.json; git commit -q -a -m o; git checkout -q main"#)
    try await scene.watchAgain()
    _ = try await scene.settle()
    try await scene.shell("git checkout -q other && git checkout -q main")
    #expect(try await scene.settle() == .init())
    await scene.watch.stop()
  }

  @Test("GIT-1: files that a branch lacks are held where it changes many others, and come back with the old branch")
  func headMoved() async throws {
    let scene = try await Scene(Self.tasks(30), settings: ["deleteAfter": 2])
    await scene.watch.stop()
    try await scene.makeRepository()
    try await scene.shell(
      """
      git checkout -q -b other; git rm -q tasks/t?.json
      sed -i 's/"notes": ".*"/"notes": "other"/' tasks/*.json; git commit -q -a -m other; git checkout -q main
      """)
    try await scene.watchAgain()
    #expect(try await scene.settle().events == [])
    let line = scene.watch.lineCount
    try await scene.shell("git checkout -q other")
    try await scene.watch.line(with: "held", from: line)
    var account = try await scene.account(expecting: 4)
    scene.begin(at: account)
    #expect(account.events.count == 21 && account.events.allSatisfy { $0.hasPrefix("edited") }, "\(account.events)")
    #expect(try await scene.rows().count == 30)
    try await scene.shell("git checkout -q main")
    account = try await scene.settle()
    #expect(account.events.allSatisfy { $0.hasPrefix("edited") }, "\(account.events)")
    #expect(try await scene.rows().values.allSatisfy { $0["notes"] as? String == "main" })
    #expect(try await scene.replica.run("status").status == 0)
    await scene.watch.stop()
  }

  @Test("GIT-2: a person's git is never in the way of the watcher's writes, nor they in its")
  func locks() async throws {
    let scene = try await Scene(Self.tasks(10))
    try await scene.makeRepository()
    let commits = 40 * testEffort
    let committing = try scene.start(
      """
      i=0
      while [ $i -lt \(commits) ]; do
        i=$((i + 1)); echo $i > counted; git add -A; git commit -q -m "$i"
      done
      touch ../over
      """)
    var changes = 0
    while !FileManager.default.fileExists(atPath: "\(scene.site.path)/over") {
      changes += 1
      try await scene.site.change(id: Scene.taskID(1 + changes % 10), ["notes": "change \(changes)"])
    }
    let committed = await committing.finished()
    #expect(committed.status == 0, "\(committed.output)\(committed.errors)")
    let account = try await scene.settle()
    #expect(account.events == [], "nothing that git stored or the watcher wrote is an edit")
    let rows = try await scene.rows()
    for number in 1...10 {
      let notes = rows[Scene.taskID(number)]?["notes"] as? String
      #expect(try scene.replica.row("tasks/t\(number).json")["notes"] as? String == notes)
    }
    #expect(!FileManager.default.fileExists(atPath: "\(scene.replica.path)/.git/index.lock"))
    await scene.watch.stop()
  }

  @Test("GIT-3: what belongs to git, and what lies in hidden folders or nested repositories, is left alone")
  func ownFolders() async throws {
    let scene = try await Scene(["t.json": Scene.task])
    try await scene.makeRepository()
    try await scene.shell(
      """
      mkdir -p photos tasks/.direnv tasks/old
      git init -q photos; git init -q tasks/old
      cp tasks/t.json tasks/.direnv/a.json; cp tasks/t.json tasks/old/b.json
      find .git photos tasks/.direnv tasks/old -type f | sort | xargs sha256sum > ../before
      """)
    await scene.watch.stop()
    try await scene.watchAgain()
    try await scene.site.change(id: Scene.id, ["notes": "theirs"])
    _ = try await scene.settle()
    #expect(try scene.replica.row("tasks/t.json")["notes"] as? String == "theirs")
    try await scene.site.delete(id: Scene.id)
    let account = try await scene.settle()
    #expect(
      account == .init(events: [], writes: ["DELETE /rest/v1/tasks"]), "the one delete is the test's own: \(account)")
    #expect(!scene.replica.exists("tasks/t.json"))
    let after = try await scene.shell(
      "find .git photos tasks/.direnv tasks/old -type f | sort | xargs sha256sum | cmp - ../before && echo same")
    #expect(after.output.contains("same"))
    await scene.watch.stop()
  }

  @Test("GIT-4: a rebase that stops at a conflict is waited for, says so, and counts when it is over")
  func stoppedRebase() async throws {
    let scene = try await Scene(Self.tasks(3))
    try await scene.makeRepository()
    try await scene.shell(
      """
      git checkout -q -b other; sed -i 's/task 1/other/' tasks/t1.json; git commit -q -a -m other
      git checkout -q main; sed -i 's/task 1/ours/' tasks/t1.json; git commit -q -a -m ours
      """)
    _ = try await scene.settle()
    let line = scene.watch.lineCount
    try await scene.shell("git rebase -q other > ../rebase 2>&1 && exit 1 || true; grep -q '<<<<<<<' tasks/t1.json")
    // Files that git is not at work on are waited with, too: what they belong to is not known before git has finished.
    // (A known file's edit git itself would undo with its abort.)
    try await scene.shell(#"printf '{"title": "new"}' > tasks/new.json"#)
    try await scene.site.change(id: Scene.taskID(3), ["notes": "theirs"])
    try await scene.watch.line(with: "rebase is in progress", from: line)
    let status = try await scene.replica.run("status")
    #expect(status.output.contains("rebase is in progress"), "\(status.output)")
    #expect(!scene.watch.lines[line...].contains { $0.contains("added") || $0.contains("problem") })
    try await scene.shell("git rebase --abort")
    try await scene.watch.line(with: "added", "tasks/new.json", from: line)
    let account = try await scene.settle()
    #expect(account.events == ["added tasks/new.json "], "\(account.events)")
    #expect(try scene.replica.row("tasks/t3.json")["notes"] as? String == "theirs")
    #expect(try await scene.rows()[Scene.taskID(1)]?["title"] as? String == "ours")
    await scene.watch.stop()
  }

  @Test("GIT-4: conflict markers in a row's file are a problem and no edit")
  func markers() async throws {
    let scene = try await Scene(Self.tasks(3))
    let line = scene.watch.lineCount
    try await scene.shell(
      #"printf '<<<<<<< HEAD\n{"title": "a"}\n=======\n{"title": "b"}\n>>>>>>> other\n' > tasks/t1.json"#)
    try await scene.watch.line(with: "problem", "tasks/t1.json", from: line)
    let account = try await scene.account(expecting: 4)
    #expect(account.events.allSatisfy { $0.hasPrefix("problem tasks/t1.json") } && account.writes.isEmpty, "\(account)")
    await scene.watch.stop()
  }

  @Test(
    "GIT-5: git is waited for where .git is a file, or lies above",
    arguments: ["worktree", "submodule", "below", "bare"])
  func elsewhere(kind: String) async throws {
    let site = try await Site(serving: ["--log"])
    let make =
      switch kind {
      case "worktree":
        "git init -q -b main r; cd r; git commit -q --allow-empty -m 0; git worktree add -q ../w; cd ../w"
      case "submodule":
        """
        git init -q -b main s; cd s; git commit -q --allow-empty -m 0; cd ..; git init -q -b main r; cd r
        git -c protocol.file.allow=always submodule --quiet add ../s sub; cd ..; ln -s r/sub w; cd w; git checkout -q -b main2
        """
      case "below": "git init -q -b main r; mkdir r/inner; ln -s r/inner w; cd w"
      default:
        """
        git init -q --bare b.git; git --git-dir=b.git worktree add -q --orphan w 2>/dev/null || {
          c=$(git --git-dir=b.git commit-tree -m 0 $(git --git-dir=b.git mktree </dev/null)); git --git-dir=b.git \
            update-ref refs/heads/master $c; git --git-dir=b.git worktree add -q w; }
        """
      }
    let set = """
      set -e; export HOME="$PWD" GIT_AUTHOR_NAME=me GIT_AUTHOR_EMAIL=m@x GIT_COMMITTER_NAME=me GIT_COMMITTER_EMAIL=m@x

      """
    let made = try await Program(shell: set + make, in: site.path).finished()
    try #require(made.status == 0, "\(made.output)\(made.errors)")
    _ = try await site.workspace("w", isFirst: true)
    let replica = Replica(path: URL(fileURLWithPath: "\(site.path)/w").resolvingSymlinksInPath().path)
    for (name, text) in Self.tasks(50) { try replica.write("tasks/\(name)", text) }
    try await replica.sync()
    let watch = try await replica.watch()
    let line = watch.lineCount
    let switched = try await Program(
      shell: set + """
        git add -A; git commit -q -m all; git checkout -q -b changed
        touch "$(git rev-parse --git-dir)/index.lock"
        sed -i 's/"notes": ".*"/"notes": "changed"/' tasks/*.json
        """, in: replica.path
    ).finished()
    try #require(switched.status == 0, "\(switched.output)\(switched.errors)")
    try await watch.line(with: "git is writing its index", from: line)
    #expect(!watch.lines[line...].contains { $0.contains("edited") })
    _ = try await Program(shell: set + "rm \"$(git rev-parse --git-dir)/index.lock\"", in: replica.path).finished()
    try await watch.line(with: "edited", from: line)
    try await replica.sync()
    #expect(watch.lines[line...].filter { $0.contains("edited") }.count == 50)
    await watch.stop()
  }

  @Test(
    "GIT-1: a clone on a second machine takes its rows by their ids, and reset, clean and merge are edits like others")
  func cloned() async throws {
    let scene = try await Scene(Self.tasks(5))
    try await scene.makeRepository()
    let cloned = try await Program(shell: "git clone -q a c", in: scene.site.path).finished()
    try #require(cloned.status == 0, "\(cloned.errors)")
    let clone = try await scene.site.workspace("c", isFirst: false)
    let adopted = try await clone.sync()
    #expect(adopted["synced"] == 0 && adopted["filesWritten"] == 0, "\(adopted)")
    #expect(try clone.tasks() == scene.replica.tasks())
    #expect(try await scene.rows().count == 5)

    try await scene.shell(#"sed -i 's/task 1/edited/' tasks/t1.json"#)
    #expect(try await scene.settle().events == ["edited tasks/t1.json title"])
    try await scene.shell("git reset -q --hard")
    #expect(try await scene.settle().events == ["edited tasks/t1.json title"])
    try await scene.shell("printf '{\"title\": \"new\"}' > tasks/new.json")
    #expect(try await scene.settle().events == ["added tasks/new.json "])
    try await scene.shell("git clean -f -d -q")
    #expect(try await scene.settle().events == ["deleted tasks/new.json "])
    try await scene.shell(
      """
      git checkout -q -b side; sed -i 's/"done": false/"done": true/' tasks/t2.json; git commit -q -a -m side
      git checkout -q main; sed -i 's/task 3/third/' tasks/t3.json; git commit -q -a -m third; git merge -q --no-edit side
      """)
    _ = try await scene.settle()
    let rows = try await scene.rows()
    #expect(rows[Scene.taskID(2)]?["done"] as? Bool == true && rows[Scene.taskID(3)]?["title"] as? String == "third")
    #expect(rows.count == 5)
    await scene.watch.stop()
  }
}

extension Site {
  /// Changes a row on the server as another device of the user does.
  func change(id: String, _ values: [String: Any]) async throws {
    try await write("PATCH", id: id, try JSONSerialization.data(withJSONObject: values))
  }

  /// Changes a row on the server to values that are given as JSON, digit by digit.
  func change(id: String, json: String) async throws { try await write("PATCH", id: id, Data(json.utf8)) }

  func delete(id: String) async throws { try await write("DELETE", id: id, nil) }

  private func write(_ method: String, id: String, _ body: Data?) async throws {
    var request = URLRequest(url: try #require(URL(string: "\(url)/rest/v1/tasks?id=eq.\(id)")))
    request.httpMethod = method
    request.setValue(serviceKey, forHTTPHeaderField: "apikey")
    request.setValue("Bearer \(serviceKey)", forHTTPHeaderField: "Authorization")
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    request.httpBody = body
    let (_, response) = try await URLSession.shared.data(for: request)
    #expect((response as? HTTPURLResponse).map { 200..<300 ~= $0.statusCode } == true)
  }
}

@Suite("Commits by the watcher itself", .serialized, .timeLimit(.minutes(5)))
struct AutocommitTests {
  @Test(
    "where the settings ask for it, a quiet period ends with one commit of the rows' files alone, which says what changed"
  )
  func commits() async throws {
    let scene = try await Scene(
      ["t1.json": Scene.task(1), "t2.json": Scene.task(2), "t3.json": Scene.task(3)],
      settings: ["git": ["autocommit": true, "quiet": 1] as [String: Any], "deleteAfter": 2])
    try await scene.makeRepository()
    var line = scene.watch.lineCount
    // What the person has begun to commit, or has nothing to do with rows, is theirs.
    try await scene.shell(
      """
      echo other > other.txt; git add other.txt; echo loose > loose.txt
      sed -i 's/"task"/"staged"/' tasks/t3.json; git add tasks/t3.json
      sed -i 's/"task"/"edited"/' tasks/t1.json
      """)
    try await scene.watch.line(with: "committed tasks/t1.json changed", from: line)
    #expect(try await scene.shell("git log -1 --format=%s").output == "Tidemark: tasks/t1.json changed\n")
    #expect(try await scene.shell("git diff --cached --name-only").output == "other.txt\ntasks/t3.json\n")
    line = scene.watch.lineCount
    try await scene.shell(#"printf '{"title": "new"}' > tasks/new.json; rm tasks/t2.json"#)
    try await scene.watch.line(with: "committed 1 added, 1 removed", from: line)
    let body = try await scene.shell("git log -1 --format=%b").output
    #expect(body.contains("added tasks/new.json\nremoved tasks/t2.json"), "\(body)")

    // Never during a person's operation.
    line = scene.watch.lineCount
    try await scene.shell(
      #"git commit -q -m mine; touch .git/MERGE_HEAD; sed -i 's/"edited"/"during"/' tasks/t1.json"#)
    try await scene.watch.line(with: "merge is in progress", from: line)
    try await scene.shell("test $(git log --format=%s -1) = mine; rm .git/MERGE_HEAD")
    try await scene.watch.line(with: "committed tasks/t1.json changed", from: line)
    #expect(try await scene.shell("git status --porcelain").output == "?? loose.txt\n")
    await scene.watch.stop()
  }
}
