import FileWorkspace
import LosslessJSON
import OfflineEngine
import SupabaseAPI

extension Doctor {
  /// Asks the server: whether it is there, whose clock is right, whether the session and the tables are good.
  func server(
    _ store: EngineStore, _ identity: WorkspaceIdentity, _ settings: WorkspaceSettings
  ) async -> [DoctorCheck] {
    if identity.isNetworkDisabled {
      return [DoctorCheck("server", .note, "network access is off, so it was not asked; 'tidemark online' turns it on")]
    }
    let project: Project
    do {
      project = try settings.server.project
    } catch {
      return [DoctorCheck("server", .failure, "\(error)")]
    }
    let auth = AuthClient(project: project, http: environment.http)
    let answer: DoctorCheck
    if project.services.auth == nil {
      answer = DoctorCheck(
        "server", .note, "\(settings.server.url): no Auth service is named; tokens are kept ready")
    } else {
      do throws(AuthFailure) {
        let version = try await auth.health()
        let shown = version.isEmpty ? "" : ", sign-in service \(version)"
        answer = DoctorCheck("server", .ok, "\(settings.server.url) answers\(shown)")
      } catch {
        return [DoctorCheck("server", error.mayPass ? .waiting : .failure, "\(settings.server.url): \(error)")]
      }
    }
    let (session, token) = await session(auth, store, identity, settings)
    return [answer, session] + (await tables(project, settings, token)) + (await policies(project, settings, store))
      + (await photos(project, settings, store, identity.user, token))
  }

  private func session(
    _ auth: AuthClient, _ store: EngineStore, _ identity: WorkspaceIdentity, _ settings: WorkspaceSettings
  ) async -> (DoctorCheck, Secret?) {
    let name = "session"
    do {
      let account = try store.read(user: identity.user) { try WorkspaceAccount($0, folder, settings) }
      guard account.isSignedIn else {
        let isLost = account.isAnonymous == true && account.email == nil
        let text = isLost ? LoginRules.accountGone(account) : "nobody is signed in; run 'tidemark login'"
        return (DoctorCheck(name, .trouble, text), nil)
      }
      // The holder of the workspace renews a token that has ended; two processes must not.
      switch try await AccountRequests(folder, environment: environment).sessionState() {
      case .alive:
        let token = try folder.session.load()?.accessToken
        return (DoctorCheck(name, .ok, "signed in as the user \(account.user)"), token)
      case .ended(let reason):
        let text = account.isAnonymous == true ? LoginRules.accountGone(account) : reason
        return (DoctorCheck(name, .trouble, text), nil)
      case .unknown(let reason): return (DoctorCheck(name, .waiting, reason), nil)
      }
    } catch {
      return (DoctorCheck(name, .trouble, "\(error)"), nil)
    }
  }

  private func tables(_ project: Project, _ settings: WorkspaceSettings, _ token: Secret?) async -> [DoctorCheck] {
    let client = TableClient(project: project, http: environment.http)
    var checks: [DoctorCheck] = []
    var clock: DoctorCheck?
    for table in Workspace.tables(settings) {
      let name = "table \(table.name)"
      do throws(SupabaseError) {
        let request = TableRequest.select(table.name, columns: table.readColumns, limit: 1)
        let answer = try await client.send(request, accessToken: token)
        let seen = token == nil ? "; as nobody is signed in, its rows were not asked for" : ""
        checks.append(DoctorCheck(name, .ok, "it can be read with its \(table.readColumns.count) columns\(seen)"))
        clock = clock ?? answer.serverDate.map { Self.clock(server: $0, device: environment.clock.now().seconds) }
      } catch {
        let failure = SyncFailure(reading: error, table: table.name)
        checks.append(DoctorCheck(name, failure.mayPass ? .waiting : .failure, "\(failure)"))
      }
    }
    return [clock ?? DoctorCheck("clock", .note, "the server did not tell its time")] + checks
  }

  /// Whether row-level security keeps a table from whoever has but the publishable key, which every client has.
  private func policies(
    _ project: Project, _ settings: WorkspaceSettings, _ store: EngineStore
  ) async -> [DoctorCheck] {
    let client = TableClient(project: project, http: environment.http)
    var checks: [DoctorCheck] = []
    for table in Workspace.tables(settings) {
      let name = "security of \(table.name)"
      let hasRows = (try? store.read(user: "") { try $0.note(OpenWorkspace.Note.user) }).flatMap { $0 }.flatMap {
        user in
        try? store.read(user: user) { try $0.cachedRowCount(table.name) > 0 }
      }
      do throws(SupabaseError) {
        let answer = try await client.send(
          .select(table.name, columns: table.keyColumns, limit: 1), accessToken: nil)
        if !answer.rows.isEmpty {
          checks.append(
            DoctorCheck(
              name, .trouble,
              "whoever has the publishable key can read its rows without signing in: turn row-level security on for it "
                + "(alter table \(table.name) enable row level security) and give it policies, as schema.sql does"))
        } else if hasRows == true {
          checks.append(DoctorCheck(name, .ok, "its rows are not shown to anybody who is not signed in"))
        } else {
          checks.append(DoctorCheck(name, .note, "it cannot be told while the table shows no rows"))
        }
      } catch {
        // Refused without a user: nothing is shown to strangers. Other trouble is told of the table itself.
        continue
      }
    }
    return checks
  }

  /// How far the device's clock is from the server's, which tells whole seconds only.
  static func clock(server: Int64, device: Int64) -> DoctorCheck {
    let seconds = device - server
    if abs(seconds) <= 2 { return DoctorCheck("clock", .ok, "it agrees with the server's") }
    let text = "this device's clock is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") the server's"
    if abs(seconds) <= 60 { return DoctorCheck("clock", .note, text) }
    return DoctorCheck("clock", .trouble, "\(text); set it: times in the log and in the trash are wrong")
  }
}
