import Foundation
import LosslessJSON

/// The program `tidemark-conformance`: plays answers recorded from a real PostgREST against `tidemark serve`.
@main
struct Main {
  private static let usage = """
    usage: tidemark-conformance FOLDER --schema FILE [--program FILE]

    Plays every case of FOLDER/*.jsonl against the built tidemark over HTTP: a line a failure, a score a topic.
    The exit code is 1 when a case fails.

    --schema FILE   the tables and functions that the cases need, as 'tidemark serve --schema' takes them;
                    a FOLDER/schema.json comes before it
    --program FILE  the program to try (default: the tidemark beside this program)
    """

  static func main() {
    signal(SIGPIPE, SIG_IGN)
    do {
      try exit(run(Array(CommandLine.arguments.dropFirst())) ? 0 : 1)
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(64)
    }
  }

  /// Whether every case went well.
  private static func run(_ arguments: [String]) throws -> Bool {
    var folder: String?
    var schema: String?
    var program =
      CommandLine.arguments[0].split(separator: "/", omittingEmptySubsequences: false).dropLast()
      .joined(separator: "/") + "/tidemark"
    var rest = arguments[...]
    while let word = rest.popFirst() {
      switch word {
      case "--schema": schema = rest.popFirst()
      case "--program": program = rest.popFirst() ?? program
      case "--help", "-h":
        print(usage)
        return true
      default:
        guard folder == nil, !word.hasPrefix("-") else { throw CaseFolder.Failure(description: usage) }
        folder = word
      }
    }
    guard let folder else { throw CaseFolder.Failure(description: usage) }
    let cases = try CaseFolder(folder)
    let own = "\(folder)/schema.json"
    if FileManager.default.fileExists(atPath: own) {
      schema = own
    } else if let schema, let recorded = cases.databaseSchema {
      let known = try? String(
        contentsOfFile: (schema as NSString).deletingLastPathComponent + "/schema.sql", encoding: .utf8)
      if let known, known != recorded {
        print("note: \(folder)/schema.sql is not the one that \(schema) was written for")
      }
    }
    guard let schema else { throw CaseFolder.Failure(description: usage) }
    return try ConformanceRun(cases, servers: ServerStarter(program: program, schema: schema)).run()
  }
}
