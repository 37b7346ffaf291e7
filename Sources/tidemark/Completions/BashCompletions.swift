/// Completions for bash, of 4.4 or later.
enum BashCompletions {
  static var script: String {
    let commands = CompletedCommand.all
    let names = commands.map(\.name).joined(separator: " ")
    let actions = CompletedCommand.actions.map(\.lastWord).joined(separator: " ")
    let cases = (commands + CompletedCommand.actions).map(branch).joined(separator: "\n")
    return """
      # Completions of tidemark for bash.
      _tidemark() {
        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= word index
        COMPREPLY=()
        for ((index = 1; index < COMP_CWORD; index++)); do
          word=${COMP_WORDS[index]}
          case $word in
            -C) ((index++)) ;;
            -*) ;;
            *)
              if [[ $command == photos ]]; then command+=" $word"; break; fi
              command=$word
              [[ $command == photos ]] || break ;;
          esac
        done
        local words= options= valued= files= operand=unknown
        case $command in
          '') words='\(names)' options='-C --help --version' files=-C valued=-C ;;
          photos) words='\(actions)' options='-C --json --help' files=-C valued=-C ;;
      \(cases)
        esac
        if [[ " $valued " == *" $previous "* ]]; then
          [[ " $files " == *" $previous "* ]] || compopt +o default 2>/dev/null
          return
        fi
        if [[ $current == -* ]]; then words=$options; fi
        if [[ -z $words && $operand == paths ]]; then return; fi
        compopt +o default 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
      }
      complete -o default -F _tidemark tidemark
      """
  }

  private static func branch(_ command: CompletedCommand) -> String {
    func names(_ isTaken: (OptionDescription) -> Bool) -> String {
      command.options.filter(isTaken).map(\.name).joined(separator: " ")
    }
    var settings = ["options='\(names { _ in true })'", "valued='\(names { $0.value != nil })'"]
    settings.append("files='\(names { $0.completedValue == .paths })'")
    switch command.operand {
    case .paths: settings.append("operand=paths")
    case .words(let words): settings.append("words='\(words.joined(separator: " "))'")
    case .commands: settings.append("words='\(CompletedCommand.all.map(\.name).joined(separator: " "))'")
    case .unknown: break
    }
    return "    '\(command.name)') \(settings.joined(separator: " ")) ;;"
  }
}
