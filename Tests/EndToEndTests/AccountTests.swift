import Foundation
import Testing

@Suite("Signing in and out, with and without a watcher", .timeLimit(.minutes(5))) struct AccountTests {
  private func login(_ replica: Replica, _ site: Site, _ words: String...) async throws -> Finished {
    try await Tidemark.run(["-C", replica.path, "login", "--password-file", "\(site.path)/password"] + words)
  }

  @Test("logout keeps files and queue and sends nothing; login goes on with them", arguments: [false, true])
  func outAndIn(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    let watch = isWatching ? try await a.watch() : nil
    let who = try await a.run("whoami", "--json")
    #expect(who.status == 0)
    #expect(try who.json()["email"] as? String == "me@example.com")
    #expect(try who.json()["signedIn"] as? Bool == true)

    let out = try await a.run("logout", "--json")
    #expect(out.status == 0, "\(out.errors)")
    #expect(try out.json()["serverTold"] as? Bool == true)
    #expect(!a.exists(".tidemark/session"))
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    try await watch?.line(with: "added", "tasks/x.json")
    try await watch?.line(with: "changes wait: nobody is signed in")
    let refused = try await a.run("sync")
    #expect(refused.status == 1)
    #expect(refused.errors.contains("tidemark login"))
    #expect(try await a.status()["pending"] as? Int == 1)
    #expect(try await a.run("status").status == 4, "nothing goes on until somebody signs in")
    try await b.sync()
    #expect(try b.titles().isEmpty, "nothing was sent")
    let nobody = try await a.run("whoami")
    #expect(nobody.status == 4)
    #expect(nobody.output.contains("me@example.com") && nobody.output.contains("nobody is signed in"))
    #expect(try await a.run("logout").output.contains("nobody was signed in"))

    let before = watch?.lineCount ?? 0
    let back = try await login(a, site)
    #expect(back.status == 0, "\(back.errors)")
    #expect(back.output.contains("signed in as me@example.com"))
    if let watch {
      // By itself, with nothing else asked of it.
      try await watch.line(with: "sent 1", from: before)
      await watch.stop()
    } else {
      #expect(try await a.sync()["synced"] == 1)
    }
    try await b.sync()
    #expect(try b.titles() == ["one"])
  }

  @Test("another user and a wrong password are refused, and nothing changes", arguments: [false, true])
  func otherUser(isWatching: Bool) async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    let other = try await Tidemark.run([
      "init", "\(site.path)/other", "--server", site.url, "--key", site.key, "--sign-up", "you@example.com",
      "--password-file", "\(site.path)/password",
    ])
    #expect(other.status == 0)
    let watch = isWatching ? try await a.watch() : nil
    let session = try a.text(".tidemark/session")
    let refused = try await login(a, site, "--sign-in", "you@example.com")
    #expect(refused.status == 1)
    #expect(refused.errors.contains("belongs to me@example.com"), "\(refused.errors)")
    #expect(refused.errors.contains("tidemark init DIR"))

    try Data("wrong\n".utf8).write(to: URL(fileURLWithPath: "\(site.path)/wrong"))
    let wrong = try await a.run("login", "--password-file", "\(site.path)/wrong")
    #expect(wrong.status == 1)
    #expect(wrong.errors.contains("wrong") && wrong.errors.contains("nothing was changed"), "\(wrong.errors)")
    #expect(try a.text(".tidemark/session") == session)
    await site.killServer()
    let offline = try await login(a, site)
    #expect(offline.status == 1)
    #expect(try a.text(".tidemark/session") == session)
    await watch?.stop()
  }

  @Test(
    "logout without a network deletes the tokens; with --everywhere it says what it could not do",
    arguments: [false, true])
  func offlineLogout(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    let watch = isWatching ? try await a.watch() : nil
    await site.killServer()
    let out = try await a.run("logout")
    #expect(out.status == 0, "\(out.errors)")
    #expect(out.errors.contains("could not be told"))
    #expect(!a.exists(".tidemark/session"))
    await watch?.stop()

    let everywhere = try await b.run("logout", "--everywhere")
    #expect(everywhere.status == 1)
    #expect(everywhere.errors.contains("sessions on other devices go on"))
    #expect(!b.exists(".tidemark/session"))
  }

  @Test("logout --everywhere ends the user's other sessions")
  func everywhere() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    let out = try await a.run("logout", "--everywhere", "--json")
    #expect(out.status == 0)
    #expect(try out.json()["serverTold"] as? Bool == true)
    // The other's sign-out then finds its session gone, which is what it wanted.
    let other = try await b.run("logout", "--json")
    #expect(try other.json()["serverTold"] as? Bool == true)
  }

  @Test("a session that the server has ended is known as ended, and login mends it", arguments: [false, true])
  func ended(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    #expect(try await b.run("logout", "--everywhere").status == 0)
    // An access token outlives its session; as if its hour were over.
    try a.edit(".tidemark/session") { $0["expires_at"] = 1 }
    let watch = isWatching ? try await a.watch() : nil
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    if let watch {
      try await watch.line(with: "added", "tasks/x.json")
      try await watch.line(with: "changes wait: the server ended the session")
    } else {
      let done = try await a.run("sync")
      #expect(done.status == 1)
      #expect(done.errors.contains("the server ended the session"), "\(done.errors)")
    }
    #expect(try await a.run("whoami").status == 4)
    let why = try await a.run("why", "tasks/x.json")
    #expect(why.status == 3)
    #expect(why.output.contains("tidemark login"), "\(why.output)")
    let before = watch?.lineCount ?? 0
    #expect(try await login(a, site).status == 0)
    #expect(try await a.run("whoami").status == 0)
    if let watch {
      try await watch.line(with: "sent 1", from: before)
      await watch.stop()
    } else {
      #expect(try await a.sync()["synced"] == 1)
    }
  }

  @Test("an anonymous account is not thrown away by a slip, and its loss is told plainly", arguments: [false, true])
  func anonymous(isWatching: Bool) async throws {
    let site = try await Site()
    let made = try await Tidemark.run(["init", "\(site.path)/a", "--server", site.url, "--key", site.key])
    #expect(made.status == 0)
    let a = Replica(path: "\(site.path)/a")
    let watch = isWatching ? try await a.watch() : nil
    try a.write("tasks/x.json", "{\"title\": \"one\"}")
    try await a.sync()
    let alive = try await a.run("login")
    #expect(alive.status == 0, "\(alive.errors)")
    #expect(alive.output.contains("signed in already"))

    let slip = try await a.run("logout")
    #expect(slip.status == 1)
    #expect(slip.errors.contains("--abandon-account"))
    #expect(a.exists(".tidemark/session"))
    #expect(try await a.run("logout", "--abandon-account").status == 0)

    let gone = try await a.run("login")
    #expect(gone.status == 1)
    #expect(gone.errors.contains("nobody can sign in to it again"), "\(gone.errors)")
    #expect(gone.errors.contains("tidemark init --sign-up"))
    let who = try await a.run("whoami")
    #expect(who.status == 4)
    #expect(who.errors.contains("nobody can sign in to it again"))
    #expect(try a.titles() == ["one"], "the files stay")
    await watch?.stop()
  }
}
