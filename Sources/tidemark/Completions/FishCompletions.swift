/// Completions for fish.
enum FishCompletions {
  static var script: String {
    let (commands, actions) = (CompletedCommand.all, CompletedCommand.actions)
    var lines = commands.map {
      "complete -c tidemark -n '__tidemark_is \"\"' -f -a \($0.name) -d '\(quoted($0.summary))'"
    }
    lines.append("complete -c tidemark -n '__tidemark_is \"\"' -f -l version -d 'Print the version.'")
    lines.append(
      "complete -c tidemark -n '__tidemark_is \"\"' -f -o C -x -a '(__fish_complete_directories)' "
        + "-d '\(quoted(Arguments.common[0].help))'")
    for action in actions {
      lines.append(
        "complete -c tidemark -n '__tidemark_is photos' -f -a \(action.lastWord) -d '\(quoted(action.summary))'")
    }
    for command in commands + actions { lines += Self.lines(command) }
    return """
      # Completions of tidemark for fish.
      function __tidemark_command
        set -l words
        set -l skips no
        for word in (commandline -opc)[2..-1]
          if test $skips = yes
            set skips no
          else if test "$word" = -C
            set skips yes
          else if not string match -q -- '-*' $word
            set -a words $word
            if test "$words[1]" != photos; or test (count $words) = 2
              break
            end
          end
        end
        echo "$words"
      end

      function __tidemark_is
        test (__tidemark_command) = "$argv[1]"
      end

      \(lines.joined(separator: "\n"))
      """
  }

  private static func lines(_ command: CompletedCommand) -> [String] {
    let start = "complete -c tidemark -n '__tidemark_is \"\(command.name)\"'"
    var lines = command.options.map { option in
      let name = option.name.hasPrefix("--") ? "-l \(option.name.dropFirst(2))" : "-o \(option.name.dropFirst())"
      let value =
        switch option.completedValue {
        case nil: "-f"
        case .paths where option.value == "DIR": "-x -a '(__fish_complete_directories)'"
        case .paths: "-r -F"
        default: "-x"
        }
      return "\(start) \(name) \(value) -d '\(quoted(option.help))'"
    }
    switch command.operand {
    case .paths: lines.append("\(start) -F")
    case .words(let words): lines.append("\(start) -f -a '\(words.joined(separator: " "))'")
    case .commands: lines.append("\(start) -f -a '\(CompletedCommand.all.map(\.name).joined(separator: " "))'")
    case .unknown: lines.append("\(start) -f")
    }
    return lines
  }

  /// A text within single quotes.
  private static func quoted(_ text: String) -> String {
    text.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\\\")
      .split(separator: "'", omittingEmptySubsequences: false).joined(separator: "\\'")
  }
}
