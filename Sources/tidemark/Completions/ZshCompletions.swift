/// Completions for zsh.
enum ZshCompletions {
  static var script: String {
    """
    #compdef tidemark
    # Completions of tidemark for zsh.
    _tidemark() {
      local context state state_descr line
      typeset -A opt_args
      local -a commands=(
    \(names(CompletedCommand.all, "    "))
      )
      _arguments -C \\
        '-C+[\(quoted(Arguments.common[0].help))]:DIR:_files -/' \\
        '--help[Show what the program does.]' \\
        '--version[Print the version.]' \\
        '1:command:->command' '*::word:->words'
      case $state in
        command) _describe -t commands command commands ;;
        words)
          case $words[1] in
            photos) _tidemark_photos ;;
    \(branches(CompletedCommand.all.filter { $0.name != PhotosCommand.description.name }, "        "))
          esac ;;
      esac
    }

    _tidemark_photos() {
      local context state state_descr line
      local -a actions=(
    \(names(CompletedCommand.actions, "    "))
      )
      _arguments -C '1:action:->action' '*::word:->words'
      case $state in
        action) _describe -t actions action actions ;;
        words)
          case $words[1] in
    \(branches(CompletedCommand.actions, "        "))
          esac ;;
      esac
    }

    if [[ $funcstack[1] == _tidemark ]]; then _tidemark "$@"; else compdef _tidemark tidemark; fi
    """
  }

  private static func names(_ commands: [CompletedCommand], _ indent: String) -> String {
    commands.map { "\(indent)'\($0.lastWord):\(quoted($0.summary))'" }.joined(separator: "\n")
  }

  private static func branches(_ commands: [CompletedCommand], _ indent: String) -> String {
    commands.map { command in
      var words = command.options.map { option in
        let value = option.completedValue.map { ":\(option.value ?? ""):\(action($0))" } ?? ""
        let joint = value.isEmpty ? "" : option.name.hasPrefix("--") ? "=" : "+"
        return "'\(option.name)\(joint)[\(quoted(option.help))]\(value)'"
      }
      words.append("'*:word:\(action(command.operand))'")
      let lines = words.map { "\(indent)    \($0)" }.joined(separator: " \\\n")
      return "\(indent)\(command.lastWord))\n\(indent)  _arguments \\\n\(lines) ;;"
    }.joined(separator: "\n")
  }

  private static func action(_ operand: CompletedCommand.Operand) -> String {
    switch operand {
    case .paths: "_files"
    case .words(let words): "(\(words.joined(separator: " ")))"
    case .commands: "(\(CompletedCommand.all.map(\.name).joined(separator: " ")))"
    case .unknown: " "
    }
  }

  /// A text within single quotes and the brackets of an option.
  private static func quoted(_ text: String) -> String {
    var quoted = ""
    for character in text {
      switch character {
      case "[", "]", ":", "\\": quoted += "\\\(character)"
      case "'": quoted += "'\\''"
      default: quoted.append(character)
      }
    }
    return quoted
  }
}
