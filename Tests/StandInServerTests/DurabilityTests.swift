import Foundation
import Glibc
import LosslessJSON
import Synchronization
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("The data folder") struct DurabilityTests {
  /// A server's life: starts, does something, ends.
  private func life(_ folder: String, schema: Schema = .tasksAndPhotos, _ body: (Project) throws -> Void) throws {
    let project = try Project {
      $0.dataFolder = folder
      $0.schema = schema
    }
    try body(project)
  }

  @Test("keys, users, sessions and rows are there after a restart")
  func restart() throws {
    try withFolder { folder in
      var keys: [String] = []
      var token = ""
      var refreshToken = ""
      try life(folder + "/deep/er") { project in
        keys = [project.server.publishableKey, project.server.serviceKey, project.server.standIn.legacyAnonKey]
        let session = try project.auth("POST", "signup", body: #"{"email":"a@b.c","password":"secret"}"#).json
        token = session.text("access_token")
        refreshToken = session.text("refresh_token")
        _ = try project.rest("POST", "tasks", token: token, body: #"{"title":"kept"}"#)
      }
      try life(folder + "/deep/er") { project in
        #expect(
          keys == [project.server.publishableKey, project.server.serviceKey, project.server.standIn.legacyAnonKey])
        #expect(try project.rest("GET", "tasks?select=title", token: token).text == #"[{"title":"kept"}]"#)
        let refreshed = try project.auth(
          "POST", "token?grant_type=refresh_token", body: #"{"refresh_token":"\#(refreshToken)"}"#)
        #expect(refreshed.status == 200)
        let signedIn = try project.auth(
          "POST", "token?grant_type=password", body: #"{"email":"a@b.c","password":"secret"}"#)
        #expect(signedIn.status == 200)
      }
    }
  }

  @Test("what was answered is in the files at that moment: a copy of them, as a killed process leaves them, has it all")
  func killed() throws {
    try withFolder { folder in
      try life(folder + "/a") { project in
        let token = try project.signUpAnonymously().text("access_token")
        for number in 0..<50 {
          let answer = try project.rest("POST", "tasks", token: token, body: #"{"title":"task \#(number)"}"#)
          #expect(answer.status == 201)
        }
        try FileManager.default.copyItem(atPath: folder + "/a", toPath: folder + "/b")
        try life(folder + "/b") { copy in
          let rows = try copy.rest("GET", "tasks?select=title", token: token)
          #expect(rows.json.arrayValue?.count == 50)
        }
      }
    }
  }

  @Test("only the owner can read the files")
  func modes() throws {
    try withFolder { folder in
      try life(folder) { project in
        _ = try project.signUpAnonymously()
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
          let mode = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")[.posixPermissions] as? Int
          #expect(mode == (name == "storage" ? 0o700 : 0o600), "\(name)")
        }
      }
    }
  }

  @Test("two servers cannot share a folder")
  func lock() throws {
    try withFolder { folder in
      try life(folder) { _ in
        #expect(throws: StandInError.dataFolderInUse(path: folder)) {
          try StandInServer(StandInConfiguration(dataFolder: folder))
        }
      }
      try life(folder) { _ in }
    }
  }

  @Test("a server that is refused a folder closes nothing of anybody else's")
  func closesItsOwn() throws {
    try withFolder { folder in
      try life(folder) { _ in
        let isOver = Atomic(false)
        let failures = Atomic(0)
        let others = Thread {
          // Takes the number that was just closed, and finds it closed by somebody else.
          while !isOver.load(ordering: .relaxed) {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            if close(descriptor) != 0 { failures.add(1, ordering: .relaxed) }
          }
        }
        others.start()
        for _ in 0..<2_000 { #expect(throws: StandInError.self) { _ = try DataFolder(folder) } }
        isOver.store(true, ordering: .relaxed)
        while !others.isFinished { sched_yield() }
        #expect(failures.load(ordering: .relaxed) == 0)
      }
    }
  }

  @Test("a folder that cannot be made, and damaged keys, are named")
  func unusable() throws {
    try withFolder { folder in
      #expect(throws: StandInError.self) { try StandInServer(StandInConfiguration(dataFolder: "/proc/nowhere")) }
      try life(folder) { _ in }
      try Data("{}".utf8).write(to: URL(fileURLWithPath: folder + "/stand-in.keys.json"))
      #expect(throws: StandInError.self) { try StandInServer(StandInConfiguration(dataFolder: folder)) }
    }
  }

  @Test("a secret that is handed in is used and not stored")
  func ownSecret() throws {
    try withFolder { folder in
      let secret = Array("handed in, thirty-two bytes at least".utf8)
      let server = try StandInServer(StandInConfiguration(dataFolder: folder, jwtSecret: secret))
      let text = try String(contentsOfFile: folder + "/stand-in.keys.json", encoding: .utf8)
      #expect(!text.contains("handed in"))
      #expect(throws: Never.self) { try JSONWebToken(server.standIn.legacyAnonKey, secret: secret) }
    }
  }

  // MARK: Another schema

  private func schema(_ columns: String) throws -> Schema {
    try Schema(
      parsing:
        #"{"tables":{"notes":{"columns":[{"name":"id","type":"int4","notNull":true}\#(columns)],"primaryKey":["id"]}}}"#
    )
  }

  @Test("a new column is added with its default; a changed one is refused and nothing happens")
  func changedSchema() throws {
    try withFolder { folder in
      try life(folder, schema: try schema("")) { project in
        let made = try project.rest("POST", "notes", body: #"{"id":1}"#)
        #expect(made.status == 201)
      }
      let wider = try schema(
        #",{"name":"done","type":"boolean","notNull":true,"default":false},{"name":"x","type":"text"}"#)
      try life(folder, schema: wider) { project in
        let rows = try project.rest("GET", "notes").text
        #expect(rows == #"[{"id":1,"done":false,"x":null}]"#)
      }
      let changed = try schema(#",{"name":"done","type":"text"}"#)
      #expect(throws: StandInError.self) {
        try StandInServer(StandInConfiguration(dataFolder: folder, schema: changed))
      }
      let impossible = try schema(#",{"name":"y","type":"text","notNull":true}"#)
      #expect(throws: StandInError.self) {
        try StandInServer(StandInConfiguration(dataFolder: folder, schema: impossible))
      }
      try life(folder, schema: wider) { project in
        let rows = try project.rest("GET", "notes?select=id").text
        #expect(rows == #"[{"id":1}]"#)
      }
    }
  }
}
