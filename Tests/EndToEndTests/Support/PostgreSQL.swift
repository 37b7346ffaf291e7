import Foundation
import Glibc
import Synchronization
import Testing

/// A PostgreSQL in a temporary folder and on a Unix socket, so that it takes no port; all tests share it.
private final class Cluster: Sendable {
  let path: String
  private let server: Program
  private let count = Atomic(0)

  /// Whoever comes first starts it.
  static let shared = Task { try await Cluster() }
  private static let folder = Mutex<String?>(nil)

  /// The programs of the newest of Debian's versions.
  private static func programs() throws -> String {
    let versions = try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql").compactMap(Int.init)
    let newest = try #require(versions?.max(), "PostgreSQL is not installed: make setup-tests installs it")
    return "/usr/lib/postgresql/\(newest)/bin"
  }

  struct NotStarted: Error {
    let reason: String
  }

  init() async throws {
    let made = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-pg-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: made, withIntermediateDirectories: true)
    let path = made.resolvingSymlinksInPath().path
    self.path = path
    Self.folder.withLock { $0 = path }
    atexit { if let path = Cluster.folder.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) } }
    let programs = try Self.programs()
    // PostgreSQL refuses to be root's; Debian's package brings a user for it.
    let isRoot = getuid() == 0
    let user = isRoot ? "setpriv --reuid=postgres --regid=postgres --clear-groups" : ""
    let initialized = try await Program(
      shell: """
        \(isRoot ? "chown postgres:postgres . &&" : "") \(user) \(programs)/initdb --no-sync -A trust -U supabase_admin \
        -E UTF8 --locale=C.UTF-8 -D data
        """, in: path
    ).finished()
    guard initialized.status == 0 else { throw NotStarted(reason: initialized.output + initialized.errors) }
    server = try Program(
      shell: """
        exec \(user) \(programs)/postgres -D data -k "$0" -c listen_addresses= -c fsync=off -c wal_level=logical \
        -c timezone=UTC 2>&1
        """, in: path)
    try await server.line(with: "ready to accept connections")
    for _ in 0..<2 {  // It may be run again.
      let done = try await run(PostgreSQL.project, in: "template1")
      guard done.status == 0 else { throw NotStarted(reason: done.errors) }
    }
  }

  /// Makes a database as a new project has it; returns its name.
  func database() async throws -> String {
    let name = "project_\(count.add(1, ordering: .relaxed).newValue)"
    let done = try await run("create database \(name)", in: "postgres")
    try #require(done.status == 0, "\(done.errors)")
    return name
  }

  /// Runs statements until one fails.
  func run(_ sql: String, in database: String) async throws -> Finished {
    try await Program(
      shell: """
        exec psql -X -q -A -t -v ON_ERROR_STOP=1 -v VERBOSITY=verbose -h "$0" -U supabase_admin -d \(database) -f -
        """, in: path, input: sql
    ).finished()
  }
}

/// A database of its own for one test, with what `schema.sql` uses of a Supabase project: roles, `auth`, `storage`,
/// `extensions`, the publication.
struct PostgreSQL {
  private let cluster: Cluster
  private let name: String

  init() async throws {
    cluster = try await Cluster.shared.value
    name = try await cluster.database()
  }

  /// Runs statements as the project's owner; the rows come back a line each, columns separated by `|`.
  @discardableResult
  func run(_ sql: String, at location: SourceLocation = #_sourceLocation) async throws -> [String] {
    let done = try await attempt(sql)
    try #require(done.status == 0, "\(done.errors)", sourceLocation: location)
    return done.output.split(separator: "\n").map(String.init)
  }

  /// Runs statements as the API does for a user's request: in their role, with their claims.
  ///
  /// - Parameter user: The user's id; `nil` for somebody without a token.
  func run(as user: String?, _ sql: String) async throws -> Finished {
    let claims = user.map { #"{"sub":"\#($0)","role":"authenticated"}"# } ?? #"{"role":"anon"}"#
    return try await attempt(
      """
      set role \(user == nil ? "anon" : "authenticated");
      set request.jwt.claims = '\(claims)';
      \(sql)
      """)
  }

  private func attempt(_ sql: String) async throws -> Finished { try await cluster.run(sql, in: name) }

  /// What a project's database has before anybody made a table.
  static var project: String {
    get throws {
      try String(contentsOfFile: "\(Tidemark.packageRoot)/Templates/self-hosted.sql", encoding: .utf8)
    }
  }
}
