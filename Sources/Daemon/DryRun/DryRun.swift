import FileWorkspace
import LosslessJSON
import OfflineEngine
import SupabaseAPI

/// What a sync would do now.
public struct DryRun: Sendable {
  /// What would be sent, in its order.
  public var sends: [PlannedWrite] = []
  /// What would happen to files, and what would wait for a person.
  public var events: [WorkspaceEvent] = []
  /// Why it could not be looked at to the end.
  public var failure: SyncFailure?
  /// Whether anything waits, or would wait, for a person.
  public var needsPerson = false

  /// Plays a whole sync over a copy of the state in memory, a scratch layer over the files and a network that only reads:
  /// nothing is changed on the disk, in the database or on the server, and a running watcher is not disturbed.
  ///
  /// What the server would answer to the writes is not known, so each is only listed.
  public static func play(_ folder: WorkspaceFolder, environment live: EngineEnvironment) async throws -> DryRun {
    let settings = try folder.settings()
    let store = try EngineStore(
      copyOf: folder.databasePath, clock: live.clock, callerMigrations: Workspace.migrations)
    let identity = try WorkspaceIdentity(store, folder, settings)
    var environment = live
    environment.http = ReadingExchange(http: live.http)
    let sessions = try OpenWorkspace.sessions(
      of: identity.user, ReadingSession(file: folder.session), settings, environment)
    let client = try OpenWorkspace.client(
      store, identity.user, sessions, settings, environment, ConflictResolvers.holdDisagreements)
    if identity.isNetworkDisabled { client.disableNetwork() }
    let files = ScratchFileSystem(over: try LiveFileSystem(root: folder.path))
    let workspace = Workspace(
      WorkspaceParts(settings: settings, client: client, files: files, environment: environment))

    var run = DryRun()
    run.events += try await workspace.start().events
    run.events += try await workspace.scan().events
    if try await workspace.hasOpenAbsences() {
      try await environment.clock.sleep(for: Workspace.absenceProof)
      run.events += try await workspace.scan(deleteAfter: .zero).events
    }
    for collection in settings.collections where run.failure == nil {
      do throws(SyncFailure) {
        _ = try await client.pull(collection.table)
      } catch {
        run.failure = error
      }
    }
    run.events += try await workspace.writeRows().events
    run.events += try await workspace.tick().events
    run.events += try await workspace.writeProblemNotes(isAtOnce: true).events
    run.sends = try await workspace.plannedWrites()
    run.needsPerson = try await workspace.summary().needsPerson
    return run
  }

  /// Whether a sync would change anything.
  public var isQuiet: Bool { sends.isEmpty && events.allSatisfy { $0.kind == .note } }

  /// The plan as `tidemark sync --dry-run --json` prints it.
  public var json: JSONObject {
    [
      "send": .array(
        sends.map { write in
          [
            "operation": .string(write.operation), "table": .string(write.table), "path": .string(write.path),
            "columns": .array(write.columns.map(JSONValue.string)), "meetsChange": .bool(write.meetsChange),
          ]
        }),
      "files": .array(
        events.map { event in
          ["event": .string(event.kind.rawValue), "path": .string(event.path), "detail": .string(event.detail)]
        }),
      "failure": failure.map { .string("\($0)") } ?? .null,
    ]
  }
}
