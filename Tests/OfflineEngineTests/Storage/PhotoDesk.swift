import Foundation
import StandInServer
import SupabaseAPI

@testable import OfflineEngine

/// A developer's client of a stand-in behind a real socket, with a folder for files.
final class PhotoDesk {
  let server: StandInServer
  let http = CurlExchange()
  let folder = FileManager.default.temporaryDirectory.appending(path: "photos-\(UUID().uuidString)")
  let session: Session
  private(set) var client: OfflineClient
  private var others: [OfflineClient] = []
  private let fileCacheBytesMax: Int64

  init(
    fileCacheBytesMax: Int64 = 1 << 30, _ change: (inout StandInConfiguration) -> Void = { _ in }
  ) async throws {
    self.fileCacheBytesMax = fileCacheBytesMax
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var configuration = StandInConfiguration()
    change(&configuration)
    server = try StandInServer(configuration)
    try server.start()
    let project = try Project(url: server.url, key: Secret(server.publishableKey))
    session = try await AuthClient(project: project, http: http).signUpAnonymously()
    client = try Self.client(project, session, http, folder, "state", fileCacheBytesMax)
    try await Self.open(client)
  }

  deinit {
    for client in [client] + others { client.close() }
    server.stop()
    try? FileManager.default.removeItem(at: folder)
  }

  private static func client(
    _ project: Project, _ session: Session, _ http: CurlExchange, _ folder: URL, _ name: String,
    _ fileCacheBytesMax: Int64
  ) throws -> OfflineClient {
    var configuration = OfflineConfiguration(
      project: project, databasePath: folder.appending(path: "\(name).sqlite").path(percentEncoded: false))
    configuration.sessionStorage = MemorySession(session)
    configuration.fileCacheBytesMax = fileCacheBytesMax
    let environment = EngineEnvironment(
      clock: LiveClock(), http: http, makeID: { UUID().uuidString.lowercased() })
    return try OfflineClient(configuration, environment: environment)
  }

  private static func open(_ client: OfflineClient) async throws {
    try await client.open()
    for await _ in client.store.changes.rings() where client.notedSession?.isSettled ?? false { break }
  }

  /// The program ends and begins anew, with what it had on the disk.
  func restart() async throws {
    client.close()
    client = try Self.client(client.configuration.project, session, http, folder, "state", fileCacheBytesMax)
    try await Self.open(client)
  }

  /// Another device of the same user.
  func another() async throws -> OfflineClient {
    let other = try Self.client(
      client.configuration.project, session, http, folder, "other\(others.count)", fileCacheBytesMax)
    others.append(other)
    try await Self.open(other)
    return other
  }

  var user: String { session.user.id }
  var photos: StorageReference { client.storage("photos") }
  /// A key in the user's folder.
  func key(_ name: String) -> String { "\(user)/\(name)" }

  /// A file of some bytes.
  func file(_ name: String, _ bytes: [UInt8]) throws -> String {
    let place = folder.appending(path: name)
    try Data(bytes).write(to: place)
    return place.path(percentEncoded: false)
  }

  func place(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }

  func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }

  /// The requests to Storage, as method and what follows the service.
  var lines: [String] {
    server.requests.filter { $0.path.hasPrefix("/storage/v1/") }.map {
      "\($0.method) \($0.path.dropFirst("/storage/v1/".count).split(separator: "/").prefix(2).joined(separator: "/"))"
    }
  }
}
