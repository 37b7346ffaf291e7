import Foundation
import Testing

/// A workspace in a git repository, with one task on its branch `main`.
private struct Repository {
  let replica: Replica
  /// The root of the working tree.
  let root: String

  /// Makes the repository at `root` and the workspace in it, with the merge driver unless a test is about its absence.
  init(_ site: Site, folder: String = "", options: [String] = ["--merge-driver"]) async throws {
    root = "\(site.path)/repository"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    replica = Replica(path: folder.isEmpty ? root : "\(root)/\(folder)")
    try await git("init -q -b main && git config user.name Me && git config user.email me@example.com")
    _ = try await site.workspace(
      folder.isEmpty ? "repository" : "repository/\(folder)", isFirst: true, options: options)
    try replica.write("tasks/milk.json", Self.text)
    try await replica.sync()
    try await commit("first")
  }

  static let text = """
    {
      "title": "Milk",
      "notes": "red\\ngreen\\nblue",
      "done": false
    }

    """

  @discardableResult
  func git(_ words: String, expecting status: Int32 = 0, at location: SourceLocation = #_sourceLocation) async throws
    -> Finished
  {
    let done = try await Program(shell: "git \(words)", in: root).finished()
    #expect(done.status == status, "git \(words): \(done.output) \(done.errors)", sourceLocation: location)
    return done
  }

  func commit(_ message: String) async throws { try await git("add -A && git commit -q -m '\(message)'") }

  func replace(_ old: String, _ new: String) throws {
    let text = try replica.text("tasks/milk.json")
    #expect(text.contains(old))
    try replica.write("tasks/milk.json", text.replacingOccurrences(of: old, with: new))
  }

  /// Commits a change on a branch of its own, and another on `main`.
  func diverge(_ theirs: [(String, String)], _ ours: [(String, String)]) async throws {
    try await git("checkout -q -b other")
    for (old, new) in theirs { try replace(old, new) }
    try await commit("theirs")
    try await git("checkout -q main")
    for (old, new) in ours { try replace(old, new) }
    try await commit("ours")
  }

  var isClean: Bool {
    get async throws { try await git("status --porcelain --untracked-files=no").output.isEmpty }
  }
}

@Suite("Git merges rows column by column", .timeLimit(.minutes(5)))
struct GitMergeTests {
  private static let neighbours: (theirs: [(String, String)], ours: [(String, String)]) = (
    [("\"Milk\"", "\"Oat milk\""), ("blue", "3")], [("red", "1"), ("false", "true")]
  )

  private static let both = Repository.text.replacingOccurrences(of: "\"Milk\"", with: "\"Oat milk\"")
    .replacingOccurrences(of: "blue", with: "3").replacingOccurrences(of: "red", with: "1")
    .replacingOccurrences(of: "false", with: "true")

  @Test(
    "branches that changed different columns, on neighbouring lines, come together without a conflict",
    arguments: ["merge -q other -m both", "rebase -q other", "cherry-pick other", "apply --3way change.patch"],
    [false, true])
  func different(words: String, isWatching: Bool) async throws {
    let site = try await Site()
    let repository = try await Repository(site)
    try await repository.diverge(Self.neighbours.theirs, Self.neighbours.ours)
    try await repository.git("diff main~1 other > change.patch")
    let both = try await BothWays(repository.replica, isWatching: isWatching)
    try await repository.git(words)
    #expect(try repository.replica.text("tasks/milk.json") == Self.both)
    try await both.replica.converge()
    await both.stop()
    // The merged row is on the server.
    let other = try await site.workspace("b", isFirst: false)
    try await other.sync()
    #expect(try other.row("tasks/oat-milk.json")["notes"] as? String == "1\ngreen\n3")
  }

  @Test("without the driver git has a conflict there, so the driver it is")
  func control() async throws {
    let site = try await Site()
    let repository = try await Repository(site, options: ["--no-merge-driver"])
    try await repository.diverge(Self.neighbours.theirs, Self.neighbours.ours)
    try await repository.git("merge -q other -m both", expecting: 1)
    #expect(try repository.replica.text("tasks/milk.json").contains("<<<<<<< HEAD"))
  }

  @Test("a stash comes back over other columns")
  func stash() async throws {
    let site = try await Site()
    let repository = try await Repository(site)
    for (old, new) in Self.neighbours.theirs { try repository.replace(old, new) }
    try await repository.git("stash -q")
    for (old, new) in Self.neighbours.ours { try repository.replace(old, new) }
    try await repository.commit("ours")
    try await repository.git("stash pop -q")
    #expect(try repository.replica.text("tasks/milk.json") == Self.both)
  }

  @Test(
    "one column changed on both branches is a conflict of git and a problem of the file, and nothing is sent",
    arguments: [false, true])
  func conflict(isWatching: Bool) async throws {
    let site = try await Site()
    let repository = try await Repository(site)
    let a = repository.replica
    try await repository.diverge([("\"Milk\"", "\"Oat milk\""), ("false", "true")], [("\"Milk\"", "\"Soy milk\"")])
    try await a.sync()
    let both = try await BothWays(a, isWatching: isWatching)
    let merge = try await repository.git("merge -q other -m both", expecting: 1)
    #expect(merge.errors.contains("tasks/milk.json: both sides changed 'title'"))
    #expect(
      try a.text("tasks/milk.json").hasPrefix(
        "{\n<<<<<<< ours\n  \"title\": \"Soy milk\",\n||||||| base\n  \"title\": \"Milk\",\n=======\n"))
    #expect(try a.text("tasks/milk.json").contains("\"done\": true"))
    // The merge given up half way: the markers stay, and git is not at work any more.
    try await repository.git("commit -qam marked")
    if let watch = both.watch {
      try await watch.line(with: "tasks/milk.json", "2:1: a conflict marker stands here")
    } else {
      try await a.sync(expecting: 4)
    }
    #expect(try await a.status()["problems"] as? Int == 1)
    #expect(try await a.entries("pending").isEmpty)
    let taken = try a.text("tasks/milk.json").components(separatedBy: "\n")
      .filter { !$0.hasPrefix("<<<<<<<") && !$0.hasPrefix(">>>>>>>") }.joined(separator: "\n")
      .replacingOccurrences(of: "(?s)\\|\\|\\|\\|\\|\\|\\|.*?=======\\n.*?\\n", with: "", options: .regularExpression)
    try a.write("tasks/milk.json", taken)
    try await both.watch?.line(with: "tasks/milk.json", "can be read again")
    try await a.converge()
    let b = try await site.workspace("b", isFirst: false)
    try await b.sync()
    #expect(try b.titles() == ["Soy milk"])
    #expect(try b.row("tasks/soy-milk.json")["done"] as? Bool == true)
    await both.stop()
  }

  @Test("the same file added on both branches is merged where it is one row, and never mixed where it is two")
  func added() async throws {
    let site = try await Site()
    let repository = try await Repository(site)
    let a = repository.replica
    let id = "8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10"
    try await repository.git("checkout -q -b other")
    try a.write("tasks/one.json", "{\"id\": \"\(id)\", \"title\": \"One\", \"done\": true}\n")
    try a.write("tasks/two.json", "{\"id\": \"\(id.dropLast())1\", \"title\": \"Two\"}\n")
    try await repository.commit("theirs")
    try await repository.git("checkout -q main")
    try a.write("tasks/one.json", "{\n  \"title\": \"One\",\n  \"notes\": \"n\",\n  \"id\": \"\(id)\"\n}\n")
    try a.write("tasks/two.json", "{\"id\": \"\(id.dropLast())2\", \"title\": \"Two\"}\n")
    try await repository.commit("ours")
    try await repository.git("merge -q other -m both", expecting: 1)
    #expect(
      try a.text("tasks/one.json")
        == "{\n  \"title\": \"One\",\n  \"done\": true,\n  \"notes\": \"n\",\n  \"id\": \"\(id)\"\n}\n"
        || a.row("tasks/one.json").count == 4)
    #expect(try a.text("tasks/two.json").hasPrefix("<<<<<<< ours\n{\"id\": \"\(id.dropLast())2\""))
  }

  @Test("a workspace below the repository's root, and a linked working tree, are merged as well")
  func places() async throws {
    let site = try await Site()
    let repository = try await Repository(site, folder: "my stuff/tasks of mine")
    try await repository.diverge(Self.neighbours.theirs, Self.neighbours.ours)
    try await repository.git(
      "worktree add -q ../linked main~0 2>/dev/null && cd ../linked && git merge -q other -m both")
    let linked = "\(site.path)/linked/my stuff/tasks of mine/tasks/milk.json"
    #expect(try String(contentsOfFile: linked, encoding: .utf8) == Self.both)
    try await repository.git("merge -q other -m both")
    #expect(try repository.replica.text("tasks/milk.json") == Self.both)
  }

  @Test("init says how where nobody can be asked, and installing twice changes nothing")
  func installing() async throws {
    let site = try await Site()
    let path = "\(site.path)/repository"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let outside = try await site.workspace("outside", isFirst: true)
    let none = try await outside.run("merge-driver", "--install")
    #expect(none.status == 1 && none.errors.contains("is in no git repository"))

    try await Program(shell: "git init -q", in: path).finished().expectSuccess()
    let options = ["--server", site.url, "--key", site.key]
    let made = try await Tidemark.run(["init", path] + options)
    made.expectSuccess()
    #expect(made.errors.contains("'tidemark merge-driver --install'"))
    let a = Replica(path: path)
    let attributes = try a.text(".gitattributes")
    #expect(!attributes.contains("merge="))
    #expect(!(try a.text(".git/config")).contains("tidemark"))

    try await a.run("merge-driver", "--install").expectSuccess()
    let after = try (a.text(".gitattributes"), a.text(".git/config"))
    #expect(after.0.hasPrefix(attributes) && after.0.contains("\n/tasks/*.json merge=tidemark\n"))
    #expect(after.1.contains("merge-driver --marker-size %L -- %O %A %B %P"))
    let again = try await a.run("merge-driver", "--install", "--json").json()
    #expect(again["attributesChanged"] as? Bool == false)
    #expect(try a.text(".gitattributes") == after.0)
    #expect(try a.text(".git/config") == after.1)
    let both = try await Tidemark.run(["init", path, "--merge-driver", "--no-merge-driver"] + options)
    #expect(both.status == 2)
  }

  @Test("what cannot be merged is left as it was, with an exit code of its own")
  func failures() async throws {
    let site = try await Site()
    let write = { (name: String, bytes: [UInt8]) in
      try Data(bytes).write(to: URL(fileURLWithPath: "\(site.path)/\(name)"))
    }
    try write("base", Array("{}".utf8))
    try write("ours", [0xFF, 0x00])
    try write("theirs", [0xFE])
    let run = { (words: String) in
      try await Program(shell: "'\(Tidemark.path)' merge-driver \(words)", in: site.path).finished()
    }
    let binary = try await run("base ours theirs tasks/x.json")
    #expect(binary.status == 2 && binary.errors.contains("'tasks/x.json' was not merged: it is not UTF-8"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: "\(site.path)/ours")) == Data([0xFF, 0x00]))
    #expect(try await run("base none theirs tasks/x.json").status == 2)
    #expect(try await run("base ours theirs").status == 2)
    #expect(try await run("--install base ours theirs x").status == 2)
    try write("ours", Array("{\"a\": 1, \"b\": 1}".utf8))
    try write("theirs", Array("{\"a\": 2}".utf8))
    #expect(try await run("base ours theirs tasks/x.json --marker-size 9").status == 1)
    #expect(try String(contentsOfFile: "\(site.path)/ours", encoding: .utf8).contains("\n<<<<<<<<< ours\n"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: site.path).filter { $0.contains("tidemark-") }.isEmpty)
  }
}
