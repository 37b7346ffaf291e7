import Foundation
import Testing

@testable import FileWorkspace

/// A folder with git in it.
private struct GitFolder {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    guard git("init", "-q", "-b", "main") else { try Test.cancel("git is not installed") }
  }

  @discardableResult
  func git(_ arguments: String...) -> Bool { git(arguments) }

  @discardableResult
  func git(_ arguments: [String]) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["git"] + arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    var environment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": folder.path, "GIT_CONFIG_NOSYSTEM": "1"]
    for name in ["AUTHOR", "COMMITTER"] {
      environment["GIT_\(name)_NAME"] = "test"
      environment["GIT_\(name)_EMAIL"] = "test@example.org"
    }
    process.environment = environment
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }

  func commit(_ text: String, _ path: String = "a.json") throws {
    try folder.save(path, Array(text.utf8))
    git("add", "-A")
    git("commit", "-q", "-m", text)
  }

  func repository(_ path: String = "") -> GitRepository? {
    GitRepository.find(above: path.isEmpty ? folder.path : folder.full(path)) { try? LiveFileSystem(root: $0) }
  }
}

@Suite("Whether git is at work")
struct GitStateTests {
  static let signs: [(String, String)] = [
    ("index.lock", "git is writing its index"), ("rebase-merge", "a rebase is in progress"),
    ("rebase-apply", "a rebase or am is in progress"), ("MERGE_HEAD", "a merge is in progress"),
    ("CHERRY_PICK_HEAD", "a cherry-pick is in progress"), ("REVERT_HEAD", "a revert is in progress"),
    ("sequencer", "a cherry-pick or revert is in progress"), ("BISECT_LOG", "a bisection is in progress"),
  ]

  @Test("shows in its state files", arguments: signs)
  func shows(name: String, words: String) throws {
    let files = InMemoryFileSystem()
    #expect(GitState.work(in: files) == nil)
    try files.person.createFolder(".git")
    #expect(GitState.work(in: files) == nil)
    try files.person.save(".git/\(name)", [])
    #expect(GitState.work(in: files) == words)
    #expect(GitRepository(inside: files)?.work()?.since == (try files.status(".git/\(name)"))?.modified)
  }

  @Test("HEAD moves with commits and branches, not with edits")
  func head() throws {
    let git = try GitFolder()
    let unborn = try #require(git.repository()?.head())
    #expect(unborn == "ref: refs/heads/main unborn")
    try git.commit("one")
    let first = try #require(git.repository()?.head())
    #expect(first != unborn)
    try git.folder.save("a.json", Array("edited".utf8))
    #expect(git.repository()?.head() == first)
    try git.commit("two")
    let second = try #require(git.repository()?.head())
    #expect(second != first)
    git.git("pack-refs", "--all")
    #expect(git.repository()?.head() == second)
    git.git("checkout", "-q", "-b", "other")
    #expect(git.repository()?.head() != second)
    git.git("checkout", "-q", "--detach")
    #expect(second.hasSuffix(try #require(git.repository()?.head())))
  }

  @Test("the record of HEAD's moves grows with what changes files, and not with what only looks")
  func record() throws {
    let git = try GitFolder()
    #expect(git.repository()?.recordLength() == nil)
    try git.commit("one")
    var last = try #require(git.repository()?.recordLength())
    for command in [["status"], ["add", "-A"], ["diff"], ["rm", "-q", "--cached", "a.json"], ["add", "a.json"]] {
      #expect(git.git(command))
      #expect(git.repository()?.recordLength() == last, "\(command)")
    }
    for command in [["stash", "-u"], ["reset", "--hard"], ["checkout", "-b", "other"], ["checkout", "main"]] {
      try git.folder.save("new.json", Array("new".utf8))
      #expect(git.git(command))
      let length = try #require(git.repository()?.recordLength())
      #expect(length > last, "\(command)")
      last = length
    }
  }

  @Test("a stopped merge is seen until it is ended, also from a folder below")
  func merge() throws {
    let git = try GitFolder()
    try git.folder.createFolder("work/tasks")
    try git.commit("base")
    git.git("checkout", "-q", "-b", "other")
    try git.commit("theirs")
    git.git("checkout", "-q", "main")
    try git.commit("mine")
    #expect(git.repository("work")?.work() == nil)
    #expect(!git.git("merge", "-q", "other"))
    #expect(git.repository("work")?.work()?.description == "a merge is in progress")
    #expect(GitState.work(in: try LiveFileSystem(root: git.folder.path)) == "a merge is in progress")
    git.git("merge", "--abort")
    #expect(git.repository("work")?.work() == nil)
    #expect(!git.git("rebase", "-q", "other"))
    #expect(git.repository("work")?.work()?.description == "a rebase is in progress")
  }

  @Test("a worktree has its own state and shares its references")
  func worktree() throws {
    let git = try GitFolder()
    try git.commit("base")
    guard git.git("worktree", "add", "-q", "-b", "side", "tree") else { return }
    let main = try #require(git.repository())
    let tree = try #require(git.repository("tree"))
    #expect(try #require(tree.head()).hasPrefix("ref: refs/heads/side "))
    #expect(try #require(main.head()).hasPrefix("ref: refs/heads/main "))
    #expect(tree.head()?.split(separator: " ").last == main.head()?.split(separator: " ").last)
    try git.folder.save(".git/worktrees/tree/index.lock", [])
    #expect(tree.work()?.description == "git is writing its index")
    #expect(main.work() == nil)
  }

  @Test("outside of any repository there is nothing")
  func none() throws {
    let folder = try TemporaryFolder()
    try folder.save(".git", Array("not a pointer".utf8))
    #expect(GitRepository.find(above: folder.path) { try? LiveFileSystem(root: $0) } == nil)
    #expect(GitRepository.find(above: "/") { _ in nil } == nil)
  }
}
