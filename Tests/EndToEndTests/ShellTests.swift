import Foundation
import Testing

@Suite("What the program is to a shell, with real shells and systemd", .timeLimit(.minutes(2)))
struct ShellTests {
  /// A line that is begun, and all that can stand there.
  private static let lines: [(line: String, completions: [String])] = [
    ("tidemark stat", ["status"]),
    ("tidemark -C /tmp/x stat", ["status"]),
    ("tidemark di", ["discard", "dismiss"]),
    ("tidemark photos sha", ["share", "share-all"]),
    ("tidemark photos share --wi", ["--width"]),
    ("tidemark photos list --wi", []),
    ("tidemark list --do", ["--done"]),
    ("tidemark live ", ["off", "on"]),
    ("tidemark resolve --m", ["--merged", "--mine"]),
    ("tidemark help conf", ["confirm", "conflicts"]),
    ("tidemark completions ", ["bash", "fish", "zsh"]),
    ("tidemark --vers", ["--version"]),
    ("tidemark add ", []),
    ("tidemark add --last sta", []),
  ]

  private func script(_ shell: String, in folder: URL) async throws -> String {
    let file = folder.appendingPathComponent("_tidemark.\(shell)")
    try save(Data(try await Tidemark.run(["completions", shell]).output.utf8), to: file.path)
    return file.path
  }

  private func temporaryFolder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-e2e-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  private static let bash = """
    complete_line() {
      local line=$1; read -ra COMP_WORDS <<< "$line"
      [[ $line != *' ' ]] || COMP_WORDS+=('')
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tidemark; echo "$line:${COMPREPLY[*]}"
    }

    """

  @Test("bash completes commands, actions, options and their few words")
  func bash() async throws {
    let folder = try temporaryFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let lines = Self.lines.map { "complete_line '\($0.line)'" }.joined(separator: "\n")
    let done = try await Program(
      shell:
        "bash --norc /dev/stdin <<'END'\n. \(try await script("bash", in: folder))\n\(Self.bash)\(lines)\nEND",
      in: folder.path
    ).finished()
    let answers = done.output.split(separator: "\n").map { line -> (String, [String]) in
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      return (String(parts[0]), parts[1].split(separator: " ").map(String.init).sorted())
    }
    #expect(answers.map(\.0) == Self.lines.map(\.line), "\(done.errors)")
    for (answer, expected) in zip(answers, Self.lines) { #expect(answer.1 == expected.completions, "\(expected.line)") }
  }

  @Test("fish completes the same", .enabled(if: Tool.isInstalled("fish"), Tool.missing("fish")))
  func fish() async throws {
    let folder = try temporaryFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let lines = Self.lines.map { "echo '>\($0.line)'; complete -C '\($0.line)' | string split -f 1 \\t" }
    let file = folder.appendingPathComponent("lines.fish").path
    let source = "source \(try await script("fish", in: folder))\n\(lines.joined(separator: "\n"))\n"
    try save(Data(source.utf8), to: file)
    let done = try await Program(shell: "HOME=\(folder.path) fish --no-config \(file)", in: folder.path).finished()
    let answers = done.output.split(separator: ">").map { $0.split(separator: "\n").map(String.init) }
    #expect(answers.count == Self.lines.count, "\(done.output) \(done.errors)")
    for (answer, expected) in zip(answers, Self.lines) {
      #expect(answer.dropFirst().sorted() == expected.completions, "\(expected.line)")
    }
  }

  @Test("zsh completes on its own line", .enabled(if: Tool.isInstalled("zsh"), Tool.missing("zsh")))
  func zsh() async throws {
    let folder = try temporaryFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    rename(try await script("zsh", in: folder), "\(folder.path)/_tidemark")
    // A program of that name tells what it was called with.
    let program = "\(folder.path)/tidemark"
    try save(Data("#!/bin/sh\necho \"called with $*.\"\n".utf8), to: program)
    chmod(program, 0o755)
    let source = """
      zmodload zsh/zpty
      zpty shell "TERM=dumb zsh -f -i"
      zpty -w shell "path=(\(folder.path) \\$path); fpath=(\(folder.path) \\$fpath); autoload -Uz compinit; compinit -u -D; PS1='r''eady'"
      zpty -r shell text '*ready*'
      for line in 'tidemark stat' 'tidemark photos info --js' 'tidemark completions zs' 'tidemark resolve --ed'; do
        zpty -w shell "$line"$'\\t'
        zpty -r shell text '*called with*.*'
        print -r -- "${text##*called with }"
      done
      """
    let file = "\(folder.path)/lines.zsh"
    try save(Data(source.utf8), to: file)
    let done = try await Program(shell: "timeout 60 zsh -f \(file)", in: folder.path).finished()
    let called = done.output.split(separator: "\n").compactMap { $0.split(separator: ".").first }
      .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty && !$0.contains("ready") }
    #expect(
      called == ["status", "photos info --json", "completions zsh", "resolve --edit"], "\(done.output)\(done.errors)")
  }

  @Test("every command's options are completed as its help tells them")
  func everyOption() async throws {
    let folder = try temporaryFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    func names(_ text: String, in section: String) -> [String] {
      let lines = text.components(separatedBy: "\n\(section)\n").last?.components(separatedBy: "\n\n").first ?? ""
      return lines.split(separator: "\n").filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
        .compactMap { $0.split(separator: " ").first.map(String.init) }
    }
    var commands = names(try await Tidemark.run(["help"]).output, in: "Commands")
    let photos = try await Tidemark.run(["help", "photos"]).output
    commands += names(photos.replacingOccurrences(of: "say.\n\n", with: "say.\nActions\n"), in: "Actions").map {
      "photos \($0)"
    }
    try #require(commands.count > 40)
    let lines = commands.map { "complete_line 'tidemark \($0) -'" }.joined(separator: "\n")
    let done = try await Program(
      shell: "bash --norc /dev/stdin <<'END'\n. \(try await script("bash", in: folder))\n\(Self.bash)\(lines)\nEND",
      in: folder.path
    ).finished()
    let answers = done.output.split(separator: "\n")
    try #require(answers.count == commands.count)
    for (command, answer) in zip(commands, answers) {
      let help = try await Tidemark.run(command.split(separator: " ").map(String.init) + ["--help"]).output
      let completed = answer.split(separator: ":").last?.split(separator: " ").map(String.init) ?? []
      #expect(completed == names(help, in: "Options"), "\(command)")
    }
  }

  @Test(
    "a unit for systemd is one that it takes, whatever the folder is called",
    .enabled(if: Tool.isInstalled("systemd-analyze"), Tool.missing("systemd")))
  func service() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    let odd = "\(site.path)/a b %d \"$x\" \\é"
    try FileManager.default.moveItem(atPath: a.path, toPath: odd)
    let unit = try await Tidemark.run(["-C", odd, "service"])
    #expect(unit.status == 0)
    let file = "\(site.path)/tidemark-odd.service"
    func verify(_ text: String) async throws -> Finished {
      try save(Data(text.utf8), to: file)
      return try await Program(
        shell: "XDG_RUNTIME_DIR=\(site.path) systemd-analyze --user verify \(file)", in: site.path
      )
      .finished()
    }
    let right = try await verify(unit.output)
    #expect(right.status == 0 && right.output.isEmpty && right.errors.isEmpty, "\(unit.output)\(right.errors)")
    #expect(try await verify(unit.output.replacingOccurrences(of: "=\"/", with: "=\"/nothing/")).status != 0)
  }

  @Test(
    "what was probably meant is asked",
    arguments: [
      (["staus"], "unknown command 'staus'; did you mean 'status'?"),
      (["snyc"], "unknown command 'snyc'; did you mean 'sync'?"),
      (["photos", "lits"], "unknown command 'photos lits'; did you mean 'photos list'?"),
      (["help", "photos", "lits"], "unknown command 'photos lits'; did you mean 'photos list'?"),
      (["sync", "--jsn"], "unknown option '--jsn'; did you mean '--json'?"),
      (["xyzzy"], "unknown command 'xyzzy'; 'tidemark help' lists them"),
      (["completions", "tcsh"], "'tcsh' is none of the shells: bash, zsh, fish"),
      (["completions"], "a shell is missing: bash, zsh, fish"),
    ])
  func meant(words: [String], sentence: String) async throws {
    let done = try await Tidemark.run(words)
    #expect(done.status == 2 && done.errors.contains(sentence), "\(done.errors)")
  }
}
