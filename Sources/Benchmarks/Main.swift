import Glibc
import LosslessJSON

/// The program `tidemark-bench`: measures the built `tidemark` beside what the machine can do at best.
@main
struct Main {
  private static let usage = """
    usage: tidemark-bench [WORKLOAD …] [--quick] [--runs N] [--json] [--program FILE] [--folder DIR] [--seed N]

    --quick         small sizes, for a smoke test
    --runs N        repeat everything N times with fresh folders, and show medians (default 1)
    --json          one JSON line a measurement; the first line is the machine
    --program FILE  the release build of tidemark (default: the one beside this program)
    --folder DIR    where the workspaces go, on the disk to be measured (default: /var/tmp); removed at the end
    --seed N        what the sample rows are made from (default 1)

    Workloads:
    """

  /// What the command line asks for.
  private struct Request {
    var names: [String] = []
    var isQuick = false
    var isJSON = false
    var runs = 1
    var program: String?
    var folder = "/var/tmp"
    var seed: UInt64 = 1
  }

  private struct UsageError: Error, CustomStringConvertible {
    let description: String
  }

  static func main() async {
    signal(SIGPIPE, SIG_IGN)
    do {
      try await run(try request(Array(CommandLine.arguments.dropFirst())))
    } catch let error as UsageError {
      say(error.description, to: STDERR_FILENO)
      exit(2)
    } catch {
      say("tidemark-bench: \(error)", to: STDERR_FILENO)
      exit(1)
    }
  }

  private static func request(_ words: [String]) throws -> Request {
    var request = Request()
    var words = words[...]
    func value(_ option: String) throws -> String {
      guard let value = words.popFirst() else {
        throw UsageError(description: "tidemark-bench: \(option) needs a value")
      }
      return value
    }
    while let word = words.popFirst() {
      switch word {
      case "--help", "-h":
        let names = Workload.all.map { "\($0.name)  \($0.summary)" }
        say(([usage] + names).joined(separator: "\n"))
        exit(0)
      case "--quick": request.isQuick = true
      case "--json": request.isJSON = true
      case "--program": request.program = try value(word)
      case "--folder": request.folder = try value(word)
      case "--runs":
        guard let runs = Int(try value(word)), (1...100).contains(runs) else {
          throw UsageError(description: "tidemark-bench: --runs takes a number from 1 to 100")
        }
        request.runs = runs
      case "--seed":
        guard let seed = UInt64(try value(word)) else {
          throw UsageError(description: "tidemark-bench: --seed takes a number")
        }
        request.seed = seed
      default:
        guard Workload.all.contains(where: { $0.name == word }) else {
          throw UsageError(description: "tidemark-bench: unknown word '\(word)'; --help lists the workloads")
        }
        request.names.append(word)
      }
    }
    return request
  }

  private static func sizes(_ name: String, isQuick: Bool) -> [Int] {
    switch name {
    case "edit-server": [isQuick ? 3 : 30]
    case "edit-replica": [isQuick ? 2 : 15]
    case "drop": isQuick ? [20] : [100, 1_000]
    case "drop-slow": [isQuick ? 20 : 1_000]
    case "pull": isQuick ? [1_000] : [1_000, 100_000]
    case "memory": [isQuick ? 100 : 10_000]
    case "enqueue", "cache": [isQuick ? 1_000 : 100_000]
    case "replay": [isQuick ? 100 : 1_000]
    case "photos": [isQuick ? 5 : 200]
    case "photo-large": [isQuick ? 20 : 1_000]
    case "serve": [isQuick ? 1_000 : 20_000]
    default: isQuick ? [100] : [1_000, 10_000]
    }
  }

  private static func run(_ request: Request) async throws {
    let program = try request.program ?? beside()
    guard access(program, X_OK) == 0 else {
      throw UsageError(description: "tidemark-bench: there is no program '\(program)'; 'make bench' builds it")
    }
    let folder = "\(request.folder)/tidemark-bench-\(getpid())"
    try Files.makeFolder(folder)
    // Only at the very end: a file system is slower at making files after many were deleted.
    defer { _ = try? Limits.command(["rm", "-rf", folder]) }
    if request.isJSON {
      let machine = Machine.json(folder, program: program, seed: request.seed)
      say(JSONValue.object(machine).serialized())
    } else {
      say(Machine.text(folder))
      say(Columns.line(Columns.head))
    }
    let bench = Bench(program: program, folder: folder, seed: request.seed)
    let chosen = Workload.all.filter { request.names.isEmpty || request.names.contains($0.name) }
    var all: [Measurement] = []
    do {
      for _ in 0..<request.runs {
        for workload in chosen {
          for size in sizes(workload.name, isQuick: request.isQuick) {
            for var measurement in try await workload.run(bench, size) {
              measurement.load = Machine.load()
              all.append(measurement)
              if request.runs == 1 { show(measurement, isJSON: request.isJSON) }
            }
          }
        }
        await bench.startOver()
      }
    } catch {
      await bench.startOver()
      throw error
    }
    if request.runs > 1 { for measurement in merged(all) { show(measurement, isJSON: request.isJSON) } }
    if !request.isJSON {
      say("load at the end \(Machine.load().map { "\($0)" }.joined(separator: " "))")
    }
  }

  /// The repetitions of one measurement as one, with the medians of their limits.
  private static func merged(_ measurements: [Measurement]) -> [Measurement] {
    var merged: [Measurement] = []
    for first in measurements where !merged.contains(where: { $0.what == first.what && $0.size == first.size }) {
      let same = measurements.filter { $0.what == first.what && $0.size == first.size }
      var one = first
      one.values = same.flatMap(\.values)
      for index in one.limits.indices {
        one.limits[index].value = Measurement.quantile(same.map { $0.limits[index].value }, 0.5)
      }
      one.load = same.last?.load ?? []
      merged.append(one)
    }
    return merged
  }

  private static func show(_ measurement: Measurement, isJSON: Bool) {
    if isJSON {
      say(JSONValue.object(measurement.json).serialized())
    } else {
      for row in measurement.rows { say(Columns.line(row)) }
    }
  }

  /// The program in the folder of this one.
  private static func beside() throws -> String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard let slash = path.lastIndex(of: "/") else { throw UsageError(description: "tidemark-bench: give --program") }
    return path[..<slash] + "/tidemark"
  }

  private static func say(_ line: String, to descriptor: Int32 = STDOUT_FILENO) {
    let bytes = Array((line + "\n").utf8)
    var start = 0
    while start < bytes.count {
      let count = bytes[start...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      start += count
    }
  }
}
