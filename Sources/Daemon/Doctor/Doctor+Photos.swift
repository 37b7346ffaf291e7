import FileWorkspace
import LosslessJSON
import OfflineEngine
import SupabaseAPI

extension Doctor {
  /// Compares the photos' rows with the objects in their buckets.
  func photos(
    _ project: Project, _ settings: WorkspaceSettings, _ store: EngineStore, _ user: String, _ token: Secret?
  ) async -> [DoctorCheck] {
    let buckets = KnownObjects.buckets(settings)
    guard let token, !buckets.isEmpty else { return [] }
    guard project.services.storage != nil else {
      return [DoctorCheck("photos", .note, "no Storage service is named; photos stay on this device")]
    }
    let storage = StorageClient(project: project, http: environment.http)
    let tables = TableClient(project: project, http: environment.http)
    var checks: [DoctorCheck] = []
    for bucket in buckets {
      let name = "photos in \(bucket)"
      do {
        // First the objects: what is uploaded meanwhile is on record before it is there.
        let there = try await Self.objects(storage, bucket, user, token)
        let known = try store.read(user: user) { try KnownObjects(bucket, settings, $0) }
        let missing = try await Self.missing(known, there, storage, token)
        let strays = try await Self.strays(known, there, tables, token)
        checks.append(Self.check(name, count: known.paths.count, missing: missing, strays: strays))
      } catch let error as SupabaseError {
        let failure = SyncFailure(reading: error, table: bucket)
        let text = "the bucket cannot be looked at: \(error)"
        checks.append(DoctorCheck(name, failure.mayPass ? .waiting : .trouble, text))
      } catch {
        checks.append(DoctorCheck(name, .failure, "\(error)"))
      }
    }
    return checks
  }

  /// The keys of the user's objects: listed page by page until an empty one.
  private static func objects(
    _ storage: StorageClient, _ bucket: String, _ user: String, _ token: Secret
  ) async throws -> Set<String> {
    var keys: Set<String> = []
    var offset = 0
    while true {
      let options = ListOptions(limit: 1_000, offset: offset)
      let page = try await storage.list(bucket, folder: user, options, accessToken: token)
      if page.isEmpty { return keys }
      keys.formUnion(page.filter { !$0.isFolder }.map { "\(user)/\($0.name)" })
      offset += page.count
    }
  }

  /// What a look at a bucket found, and how many others it did not ask for.
  struct Found {
    var names: [String] = []
    var unasked = 0
  }

  /// How many objects are asked for one by one.
  private static let askedMax = 100

  /// The paths of photos whose objects are not there: a listing is no proof, so each is asked for.
  private static func missing(
    _ known: KnownObjects, _ there: Set<String>, _ storage: StorageClient, _ token: Secret
  ) async throws -> Found {
    let unlisted = known.paths.filter { !there.contains($0.key) }.sorted { $0.value < $1.value }
    var missing = Found(unasked: max(unlisted.count - askedMax, 0))
    for (key, path) in unlisted.prefix(askedMax) {
      do throws(SupabaseError) {
        _ = try await storage.info(try ObjectPath(bucket: known.bucket, key: key), accessToken: token)
      } catch {
        guard case .refused(let refusal) = error, ["NoSuchKey", "InvalidKey"].contains(refusal.code) else {
          throw error
        }
        missing.names.append(path)
      }
    }
    return missing
  }

  /// The keys of objects that no row names: neither here nor, since another device may have sent them, on the server.
  private static func strays(
    _ known: KnownObjects, _ there: Set<String>, _ tables: TableClient, _ token: Secret
  ) async throws -> Found {
    let unknown = there.filter { known.paths[$0] == nil && !known.passing.contains($0) }.sorted()
    let asked = unknown.prefix(askedMax)
    var named: Set<String> = []
    // So many keys are a URL that every proxy takes.
    for start in stride(from: 0, to: asked.count, by: 20) {
      let keys = asked[start..<min(start + 20, asked.count)].map(JSONValue.string)
      for table in known.tables {
        let answer = try await tables.send(
          .select(table, columns: [KnownObjects.column], filters: [.in(KnownObjects.column, keys)]), accessToken: token)
        named.formUnion(answer.rows.compactMap { $0[KnownObjects.column]?.stringValue })
      }
    }
    return Found(names: asked.filter { !named.contains($0) }, unasked: unknown.count - asked.count)
  }

  static func check(_ name: String, count: Int, missing: Found, strays: Found) -> DoctorCheck {
    func shown(_ names: [String]) -> String {
      names.prefix(3).map { "'\($0)'" }.joined(separator: ", ") + (names.count > 3 ? ", …" : "")
    }
    var parts: [String] = []
    if !missing.names.isEmpty {
      parts.append(
        "rows whose object is not there: \(missing.names.count) of \(count) (\(shown(missing.names))): where the file is "
          + "here, 'tidemark photos retry PATH' sends it anew; else 'tidemark photos remove PATH' removes the row")
    }
    if !strays.names.isEmpty {
      parts.append(
        "objects without a row: \(strays.names.count) (\(shown(strays.names))): if no other program needs them, remove "
          + "them in the project's dashboard, under Storage")
    }
    let unasked = missing.unasked + strays.unasked
    if unasked > 0 { parts.append("\(unasked) more that seem so were not asked for") }
    guard !parts.isEmpty else {
      return DoctorCheck(name, .ok, "\(count) rows, each with its object, and no object without a row")
    }
    return DoctorCheck(name, missing.names.isEmpty ? .note : .trouble, parts.joined(separator: "; "))
  }
}
