import Glibc
import LosslessJSON
import SQLite

/// What no program of this kind can beat, measured in the same run on the same disk.
enum Limits {
  static func timed(_ body: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try body()
    return (ContinuousClock.now - start).seconds
  }

  static func timedRequests(_ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await body()
    return (ContinuousClock.now - start).seconds
  }

  /// The median seconds of one commit of one row with `synchronous=FULL`.
  static func commit(_ path: String, count: Int = 200) throws -> Double {
    let database = try Database(path: path)
    try database.script("CREATE TABLE row (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
    let body = SQLiteValue.text(String(repeating: "x", count: 300))
    var seconds: [Double] = []
    for _ in 0..<count {
      seconds.append(try timed { try database.execute("INSERT INTO row (body) VALUES (?)", [body]) })
    }
    return Measurement.quantile(seconds, 0.5)
  }

  /// The seconds for putting rows' texts into a table by their keys, a thousand a commit.
  static func kept(_ rows: [JSONObject], _ path: String) throws -> Double {
    let database = try Database(path: path)
    try database.script("CREATE TABLE row (key TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID")
    let texts = rows.map { [SQLiteValue.optional($0["id"]?.stringValue), .text(JSONValue.object($0).serialized())] }
    return try timed {
      for start in stride(from: 0, to: texts.count, by: 1_000) {
        try database.transaction {
          for text in texts[start..<min(start + 1_000, texts.count)] {
            try database.execute("INSERT INTO row VALUES (?, ?)", text)
          }
        }
      }
    }
  }

  /// The seconds of one request of a kind to the server, over one connection.
  static func roundTrip(count: Int, _ body: (Int) async throws -> Void) async throws -> Double {
    var seconds: [Double] = []
    for index in 0..<count { seconds.append(try await timedRequests { try await body(index) }) }
    return Measurement.quantile(seconds, 0.5)
  }

  /// The seconds for writing the files of a folder anew, each under a temporary name that is then renamed; `isDurable`
  /// has the file system flushed once before the first rename.
  static func renames(of source: String, into path: String, isDurable: Bool = false) throws -> Double {
    let files = try Files.names(source).map { ($0, try Files.text("\(source)/\($0)")) }
    try Files.makeFolder(path)
    return try timed {
      for (name, text) in files {
        try Files.write("\(path)/.\(name).tmp", text)
        if !isDurable { rename("\(path)/.\(name).tmp", "\(path)/\(name)") }
      }
      guard isDurable else { return }
      _ = try command(["sync", "-f", path])
      for (name, _) in files { rename("\(path)/.\(name).tmp", "\(path)/\(name)") }
      let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      defer { close(descriptor) }
      fsync(descriptor)
    }
  }

  /// The seconds of a command, its output thrown away.
  static func command(_ words: [String]) throws -> Double {
    try timed {
      try ChildProcess(words).wait()
    }
  }

  /// The seconds in which `tar` extracts the files of a folder.
  static func extraction(of source: String, into path: String) throws -> Double {
    _ = try command(["tar", "-C", source, "-cf", "\(path).tar", "."])
    try Files.makeFolder(path)
    return try command(["tar", "-C", path, "-xf", "\(path).tar"])
  }

  /// The seconds in which `find` looks at every file of a tree.
  static func listing(of path: String) throws -> Double {
    try command(["sh", "-c", "exec find \"$0\" -printf '%p %i %s %T@ %C@\\n' >/dev/null", path])
  }
}
