import Foundation
import FoundationNetworking
import Testing

@Suite("Photos, with real processes, files and pictures", .serialized, .timeLimit(.minutes(5))) struct PhotoTests {
  /// A picture of the other tests' with some words in a comment of its own.
  static func picture(_ words: String, padding: Int = 0) throws -> Data {
    var picture = try Data(
      contentsOf: URL(fileURLWithPath: Tidemark.packageRoot + "/Tests/ImagesTests/Fixtures/turned.jpg"))
    let text = Data(words.utf8)
    // A comment (FF FE) behind the beginning of the image, with its length in two bytes.
    let size = text.count + 2
    picture.insert(contentsOf: Data([0xFF, 0xFE, UInt8(size >> 8), UInt8(size & 255)]) + text, at: 2)
    for _ in 0..<(padding / 60_000) {
      picture.insert(contentsOf: Data([0xFF, 0xFE, 0xEA, 0x62]) + Data(repeating: 32, count: 60_000), at: 2)
    }
    return picture
  }

  /// The photos' files of a workspace with their bytes.
  static func photos(_ replica: Replica) -> [String: Data] {
    let root = "\(replica.path)/photos"
    var found: [String: Data] = [:]
    for path in FileManager.default.enumerator(atPath: root)?.compactMap({ $0 as? String }) ?? [] {
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: "\(root)/\(path)", isDirectory: &isFolder)
      if !isFolder.boolValue { found[path] = FileManager.default.contents(atPath: "\(root)/\(path)") }
    }
    return found
  }

  private func drop(_ data: Data, _ path: String, into replica: Replica) throws {
    let url = URL(fileURLWithPath: "\(replica.path)/photos/\(path)")
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try save(data, to: url.path)
  }

  private func ask(_ site: Site, _ target: String, body: String? = nil) async throws -> [[String: Any]] {
    var request = URLRequest(url: try #require(URL(string: site.url + target)))
    request.httpMethod = body == nil ? "GET" : "POST"
    request.setValue(site.serviceKey, forHTTPHeaderField: "apikey")
    request.setValue("Bearer \(site.serviceKey)", forHTTPHeaderField: "Authorization")
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    request.httpBody = body.map { Data($0.utf8) }
    let (data, _) = try await URLSession.shared.data(for: request)
    return try #require(try JSONSerialization.jsonObject(with: data) as? [[String: Any]])
  }

  private func rows(_ site: Site) async throws -> [[String: Any]] {
    try await ask(site, "/rest/v1/task_photos?select=*&order=name")
  }

  private func objectCount(_ site: Site) async throws -> Int {
    let user = try #require(try await rows(site).first?["user_id"] as? String)
    return try await ask(
      site, "/storage/v1/object/list/photos", body: "{\"prefix\": \"\(user)/\", \"limit\": 1000}"
    ).count
  }

  @Test("a photo dropped on one device is a file with the same bytes on the other, and a change is one too")
  func travels() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    let (watchA, watchB) = (try await a.watch(), try await b.watch())
    try a.write("tasks/kitchen.json", "{\"title\": \"kitchen\"}")
    let (front, later) = (try Self.picture("front"), try Self.picture("later", padding: 3_000_000))
    try drop(front, "kitchen/front.jpg", into: a)
    try await watchB.line(with: "written", "photos/kitchen/front.jpg")
    #expect(Self.photos(b) == ["kitchen/front.jpg": front])

    let before = watchB.lineCount
    try drop(later, "kitchen/front.jpg", into: a)
    try await watchB.line(with: "written", "photos/kitchen/front.jpg", from: before)
    #expect(Self.photos(b) == ["kitchen/front.jpg": later])

    let beforeMove = watchB.lineCount
    try a.write("tasks/garden.json", "{\"title\": \"garden\"}")
    try FileManager.default.createDirectory(atPath: "\(a.path)/photos/garden", withIntermediateDirectories: true)
    a.move("photos/kitchen/front.jpg", to: "photos/garden/gate.jpg")
    try await watchB.line(with: "moved", "photos/garden/gate.jpg", from: beforeMove)
    #expect(Self.photos(b) == ["garden/gate.jpg": later])

    #expect(await watchA.stop().status == 0)
    #expect(await watchB.stop().status == 0)
    try await a.sync()
    try await b.sync()
    #expect(try await rows(site).count == 1)
    #expect(try await objectCount(site) == 1)
    #expect(try await a.run("status").status == 0)
  }

  @Test("photos dropped while the server is down wait, and all arrive once when it is back")
  func offline() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try a.write("tasks/kitchen.json", "{\"title\": \"kitchen\"}")
    await site.killServer()
    var dropped: [String: Data] = [:]
    for number in 1...5 { dropped["kitchen/\(number).jpg"] = try Self.picture("photo \(number)") }
    for (path, data) in dropped { try drop(data, path, into: a) }
    #expect(try await a.run("sync").status == 3)
    let photos = try #require(try await a.status()["photos"] as? [String: Any])
    #expect(photos["waiting"] as? Int == 5)
    try await site.startServer()
    try await a.sync()
    try await b.sync()
    #expect(Self.photos(b) == dropped)
    #expect(try await rows(site).count == 5)
    #expect(try await objectCount(site) == 5)
  }

  @Test("killed again and again while photos come and go, every photo is there once, and nothing else")
  func killed() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try a.write("tasks/kitchen.json", "{\"title\": \"kitchen\"}")
    try await a.sync()
    var dropped: [String: Data] = [:]
    for round in 1...6 {
      let watch = try await a.watch()
      for number in 1...3 {
        let path = "kitchen/\(round)-\(number).jpg"
        dropped[path] = try Self.picture(path, padding: 200_000 * round)
        try drop(try #require(dropped[path]), path, into: a)
      }
      if round > 1 {
        dropped["kitchen/1-1.jpg"] = try Self.picture("again \(round)")
        try drop(try #require(dropped["kitchen/1-1.jpg"]), "kitchen/1-1.jpg", into: a)
      }
      // At another step of the work each time.
      try await watch.line(with: round.isMultiple(of: 2) ? "sent" : "added", "photos/")
      watch.signal(SIGKILL)
      _ = await watch.finished()
    }
    for _ in 0..<3 { _ = try await a.run("sync") }
    try await a.sync()
    let fetching = try await b.watch()
    try await fetching.line(with: "written", "photos/")
    fetching.signal(SIGKILL)
    _ = await fetching.finished()
    for _ in 0..<2 { try await b.sync() }
    #expect(Self.photos(a) == dropped)
    #expect(Self.photos(b) == dropped)
    #expect(try await rows(site).count == dropped.count)
    #expect(try await objectCount(site) == dropped.count)
    #expect(try await a.run("status").status == 0)
  }

  /// The statuses of the requests to a route of Storage, 0 where no answer was given.
  private func statuses(_ site: Site, _ method: String, _ route: String) async throws -> [Int] {
    try await ask(site, "/stand-in/requests").filter {
      $0["method"] as? String == method && ($0["path"] as? String)?.hasPrefix("/storage/v1/\(route)") == true
    }.compactMap { $0["status"] as? Int }
  }

  @Test("a large photo goes on after a lost network and a kill where it was, up and down, and is there once")
  func resumed() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try a.write("tasks/kitchen.json", "{\"title\": \"kitchen\"}")
    try await a.sync()
    try await site.misbehave(#"[{"kind": "dropAfter", "method": "PATCH", "skipping": 2, "times": null}]"#)
    let large = try Self.picture("large", padding: 30_000_000)
    let watch = try await a.watch()
    try drop(large, "kitchen/large.jpg", into: a)
    try await watch.line(with: "photos wait")
    watch.signal(SIGKILL)
    _ = await watch.finished()
    try await site.misbehave("[]")
    try await a.sync()
    #expect(try await statuses(site, "POST", "upload/resumable") == [201])
    // Of five pieces two were answered, and at least one more had come in: what came in is not sent again.
    #expect(try await statuses(site, "PATCH", "upload/resumable").count { $0 == 204 } <= 4)
    #expect(try await objectCount(site) == 1)

    try await site.misbehave(#"[{"kind": "truncate", "method": "GET", "path": "/storage/v1/object/authenticated"}]"#)
    #expect(try await b.run("sync").status == 3)
    try await b.sync()
    #expect(Self.photos(b) == ["kitchen/large.jpg": large])
    #expect(try await statuses(site, "GET", "object/authenticated") == [200, 206])
    #expect(try await a.run("status").status == 0)
  }

  @Test("doctor finds rows without an object and objects without a row, and what it proposes mends it")
  func doctor() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try a.write("tasks/kitchen.json", "{\"title\": \"kitchen\"}")
    for name in ["front", "back"] { try drop(try Self.picture(name), "kitchen/\(name).jpg", into: a) }
    try await a.sync()
    func check() async throws -> [String: String] {
      let checks = try #require(try await a.run("doctor", "--json").json()["checks"] as? [[String: String]])
      return try #require(checks.first { $0["name"] == "photos in photos" })
    }
    #expect(try await check()["level"] == "ok")
    let row = try #require(try await rows(site).first { $0["name"] as? String == "front.jpg" })
    let (key, user) = (try #require(row["object_path"] as? String), try #require(row["user_id"] as? String))
    try await store(site, "\(user)/stray", Self.picture("stray"))
    var found = try await check()
    #expect(found["level"] == "note" && found["text"]?.contains("objects without a row: 1") == true, "\(found)")
    try await remove(site, [key, "\(user)/stray"])
    found = try await check()
    #expect(found["level"] == "trouble" && found["text"]?.contains("'photos/kitchen/front.jpg'") == true, "\(found)")
    try await a.run("photos", "retry", "photos/kitchen/front.jpg").expectSuccess()
    try await a.sync()
    #expect(try await check()["level"] == "ok")
    #expect(try await objectCount(site) == 2)
  }

  @Test("doctor takes no photo of another collection in the same bucket for an object without a row")
  func doctorOfSharedBucket() async throws {
    let template = URL(fileURLWithPath: Tidemark.packageRoot + "/Templates/tasks-and-photos/schema.json")
    var schema = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: template)) as? [String: Any])
    var tables = try #require(schema["tables"] as? [String: [String: Any]])
    tables["errands"] = tables["tasks"]
    tables["errand_photos"] = tables["task_photos"]
    tables["errand_photos"]?["foreignKeys"] = [
      ["columns": ["task_id"], "references": ["table": "errands", "columns": ["id"]], "onDelete": "cascade"]
    ]
    schema["tables"] = tables
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("schema-\(UUID().uuidString).json")
    try JSONSerialization.data(withJSONObject: schema).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let site = try await Site(serving: ["--schema", file.path])
    let a = try await site.workspace("a", isFirst: true)
    let settings = try JSONSerialization.jsonObject(with: Data(a.text("tidemark.json").utf8)) as? [String: Any]
    let tasks = try #require((settings?["collections"] as? [[String: Any]])?.first)
    var errands = tasks
    (errands["folder"], errands["table"]) = ("errands", "errands")
    errands["photos"] = ["folder": "receipts", "table": "errand_photos", "row": "task_id"]
    try a.set(["collections": [tasks, errands]])
    try await a.sync()
    try a.write("tasks/kitchen.json", "{\"title\": \"kitchen\"}")
    try a.write("errands/bank.json", "{\"title\": \"bank\"}")
    try drop(try Self.picture("front"), "kitchen/front.jpg", into: a)
    try drop(try Self.picture("receipt"), "../receipts/bank/receipt.jpg", into: a)
    try await a.sync()
    #expect(try await objectCount(site) == 2)
    let checks = try #require(try await a.run("doctor", "--json").json()["checks"] as? [[String: String]])
    let found = checks.filter { $0["name"] == "photos in photos" }
    #expect(found.map { $0["level"] } == ["ok"] && found.first?["text"]?.hasPrefix("2 rows") == true, "\(found)")
  }

  @Test("photos' rows are not kept back by a large photo behind them, however soon they follow each other")
  func rowsBeforeLargePhoto() async throws {
    let (site, count) = (try await Site(), 8)
    let a = try await site.workspace("a", isFirst: true)
    try a.set(["pullEvery": 3_600, "live": false])
    try a.write("tasks/kitchen.json", "{\"title\": \"kitchen\"}")
    try await a.sync()
    // The one behind them takes a minute.
    try await site.misbehave(
      """
      [{"kind": "slowUpload", "bytesPerSecond": 20000, "method": "POST", "path": "/storage/v1/object/photos", "skipping": \(count)}]
      """)
    let watch = try await a.watch()
    for number in 0...count {
      try drop(try Self.picture("\(number)", padding: 1_200_000), "kitchen/\(number).jpg", into: a)
    }
    var line = 0
    while try await rows(site).count < count { line = try await watch.line(with: "sent", from: line) }
    #expect(try await objectCount(site) == count)
    watch.signal(SIGKILL)
    _ = await watch.finished()
  }

  private func store(_ site: Site, _ key: String, _ bytes: Data) async throws {
    try await change(site, "POST", "/storage/v1/object/photos/\(key)", "image/jpeg", bytes)
  }

  private func remove(_ site: Site, _ keys: [String]) async throws {
    let body = try JSONSerialization.data(withJSONObject: ["prefixes": keys])
    try await change(site, "DELETE", "/storage/v1/object/photos", "application/json", body)
  }

  /// Changes what is in the bucket as the project's owner.
  private func change(_ site: Site, _ method: String, _ target: String, _ type: String, _ body: Data) async throws {
    var request = URLRequest(url: try #require(URL(string: site.url + target)))
    request.httpMethod = method
    request.setValue(site.serviceKey, forHTTPHeaderField: "apikey")
    request.setValue("Bearer \(site.serviceKey)", forHTTPHeaderField: "Authorization")
    request.setValue(type, forHTTPHeaderField: "Content-Type")
    request.httpBody = body
    let (_, response) = try await URLSession.shared.data(for: request)
    #expect((response as? HTTPURLResponse)?.statusCode == 200)
  }

  @Test("what is no photo, or none that the server takes, is a problem of that one file")
  func bad() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try a.write("tasks/kitchen.json", "{\"title\": \"kitchen\"}")
    try drop(try Self.picture("good"), "kitchen/good.jpg", into: a)
    try drop(Data(), "kitchen/empty.jpg", into: a)
    try drop(Data("words".utf8), "kitchen/words.jpg", into: a)
    try drop(try Self.picture("large", padding: 54_000_000), "kitchen/large.jpg", into: a)
    try drop(try Self.picture("loose"), "loose.jpg", into: a)
    try drop(try Self.picture("nobody's"), "nobody/x.jpg", into: a)
    try FileManager.default.createDirectory(
      atPath: "\(a.path)/photos/kitchen/folder.jpg", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: "\(a.path)/photos/kitchen/link.jpg", withDestinationPath: "/etc/hostname")
    try drop(Data("half".utf8), "kitchen/browser.jpg.crdownload", into: a)
    let sync = try await a.run("sync")
    let status = try await a.run("status")
    #expect(status.status == 4)
    for name in ["empty.jpg", "words.jpg", "large.jpg", "loose.jpg", "x.jpg", "folder.jpg", "link.jpg"] {
      #expect(status.output.contains(name), "\(name) in \(status.output) after \(sync.output)\(sync.errors)")
    }
    #expect(!status.output.contains("good.jpg") && !status.output.contains("crdownload"))
    #expect(try await rows(site).map { $0["name"] as? String } == ["good.jpg"])
    // What the bucket does not take was not even begun to be sent.
    #expect(try await statuses(site, "POST", "upload/resumable") == [])
    #expect(status.output.contains("at most 52428800 bytes"))
    // None of it is tried again by itself.
    #expect(try await a.run("sync", "--json").json()["remaining"] as? Int == 0)
    #expect(try await objectCount(site) == 1)
  }
}
