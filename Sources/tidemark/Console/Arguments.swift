/// A command line that cannot be understood.
struct UsageError: Error, Equatable {
  var message: String
}

/// One option of a command, as data, so that parsing and help cannot disagree.
struct OptionDescription: Equatable {
  /// The long name with its dashes.
  var name: String
  /// What stands for its value in help; `nil` for a flag.
  var value: String?
  /// What it does, in one sentence.
  var help: String

  static func flag(_ name: String, _ help: String) -> OptionDescription {
    OptionDescription(name: name, value: nil, help: help)
  }

  static func value(_ name: String, _ value: String, _ help: String) -> OptionDescription {
    OptionDescription(name: name, value: value, help: help)
  }
}

/// The words behind a command's name, sorted into options and the rest.
struct Arguments: Equatable {
  private(set) var positional: [String] = []
  private var values: [String: String] = [:]
  private var flags: Set<String> = []

  /// Options that every command takes.
  static let common = [
    OptionDescription.value("-C", "DIR", "Use the workspace in DIR (default: the current folder or one above it)."),
    .flag("--json", "Print one JSON document on standard output."),
    .flag("--help", "Show this help."),
  ]

  /// Sorts `words`.
  ///
  /// Options may stand anywhere; `--` ends them; `--name=value` is `--name value`; a repeat is an error.
  init(_ words: [String], options: [OptionDescription], positionalMax: Int) throws(UsageError) {
    var rest = words[...]
    var optionsEnded = false
    while let word = rest.popFirst() {
      if optionsEnded || !word.hasPrefix("-") || word == "-" {
        positional.append(word)
        continue
      }
      if word == "--" {
        optionsEnded = true
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = parts[0] == "-h" ? "--help" : parts[0]
      guard let option = options.first(where: { $0.name == name }) else {
        throw UsageError(
          message: "unknown option '\(Terminal.safe(name))'\(Spelling.question(name, among: options.map(\.name)))")
      }
      guard !flags.contains(name), values[name] == nil else {
        throw UsageError(message: "option '\(name)' is given twice")
      }
      if option.value == nil {
        guard parts.count == 1 else { throw UsageError(message: "option '\(name)' takes no value") }
        flags.insert(name)
      } else if parts.count == 2 {
        values[name] = parts[1]
      } else if let value = rest.popFirst() {
        values[name] = value
      } else {
        throw UsageError(message: "option '\(name)' needs a value: \(name) \(option.value ?? "VALUE")")
      }
    }
    guard positional.count <= positionalMax else {
      throw UsageError(message: "unexpected '\(Terminal.safe(positional[positionalMax]))'")
    }
  }

  func has(_ flag: String) -> Bool { flags.contains(flag) }

  func value(_ name: String) -> String? { values[name] }

  /// The option's value as a whole number within `range`.
  func number(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let text = values[name] else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw UsageError(
        message: "option '\(name)' needs a whole number from \(range.lowerBound) to \(range.upperBound), not '"
          + "\(Terminal.safe(text))'")
    }
    return number
  }
}
