import Glibc
import LosslessJSON

/// Where the numbers were measured.
enum Machine {
  /// The load averages of 1, 5 and 15 minutes.
  static func load() -> [Double] {
    let fields = (try? Files.text("/proc/loadavg"))?.split(separator: " ").prefix(3) ?? []
    return fields.compactMap { Double($0) }
  }

  /// The bytes in a field of a process's status, such as `VmRSS`; `nil` where there is no such field.
  static func memory(_ field: String, of process: String = "self") throws -> Double? {
    for line in try Files.text("/proc/\(process)/status").split(separator: "\n") where line.hasPrefix(field + ":") {
      let kibibytes = line.split { $0 == " " || $0 == "\t" }.dropFirst().first.flatMap { Double($0) }
      if let kibibytes { return kibibytes * 1024 }
    }
    return nil
  }

  static func json(_ folder: String, program: String, seed: UInt64) -> JSONObject {
    let cores = Int64(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    let memory = Int64(sysconf(Int32(_SC_PHYS_PAGES))) * Int64(sysconf(Int32(_SC_PAGESIZE)))
    return [
      "processor": .string(processor()), "cores": .number(JSONNumber(cores)),
      "memory": .number(JSONNumber(memory)), "kernel": .string(kernel()), "disk": .string(fileSystem(folder)),
      "load": .array(load().map { JSONNumber("\($0)").map(JSONValue.number) ?? .null }),
      "seed": .number(JSONNumber(Int64(truncatingIfNeeded: seed))), "program": .string(program),
    ]
  }

  static func text(_ folder: String) -> String {
    let gibibytes = (Int64(sysconf(Int32(_SC_PHYS_PAGES))) * Int64(sysconf(Int32(_SC_PAGESIZE)))) >> 30
    let load = load().map { "\($0)" }.joined(separator: " ")
    return "\(sysconf(Int32(_SC_NPROCESSORS_ONLN))) × \(processor()), \(gibibytes) GiB, Linux \(kernel()), "
      + "\(fileSystem(folder)), load \(load)"
  }

  private static func processor() -> String {
    let lines = (try? Files.text("/proc/cpuinfo"))?.split(separator: "\n") ?? []
    let name = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last.map(String.init) ?? "processor"
    return name.split(separator: " ").joined(separator: " ")
  }

  private static func kernel() -> String {
    ((try? Files.text("/proc/sys/kernel/osrelease")) ?? "").split(separator: "\n").first.map(String.init) ?? ""
  }

  private static func fileSystem(_ folder: String) -> String {
    guard let child = try? ChildProcess(["stat", "-f", "-c", "%T", folder]), (try? child.wait()) != nil else {
      return "unknown file system"
    }
    // The two cannot be told apart by their number.
    return child.lines.first.map { $0 == "ext2/ext3" ? "ext4" : $0 } ?? "unknown file system"
  }
}
