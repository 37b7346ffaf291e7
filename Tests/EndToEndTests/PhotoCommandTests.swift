import Foundation
import Testing

@Suite("What commands do to photos' files", .timeLimit(.minutes(3))) struct PhotoCommandTests {
  /// A workspace with two tasks; nothing is sent.
  private func workspace(_ site: Site) async throws -> Replica {
    let a = try await site.workspace("a", isFirst: true)
    try await a.run("offline").expectSuccess()
    try a.write("tasks/kitchen.json", #"{"title": "Kitchen"}"#)
    try a.write("tasks/garden.json", #"{"title": "Garden"}"#)
    return a
  }

  @Test("add copies files whole under their own names, with their times, into the row's folder")
  func add() async throws {
    let site = try await Site()
    let a = try await workspace(site)
    let added = try await a.ask("photos", "add", "tasks/kitchen.json", Picture.red.path, Picture.turned.path)
    let photos = try #require(added["photos"] as? [[String: String]])
    #expect(photos.map { $0["path"] } == ["photos/kitchen/two-colours.png", "photos/kitchen/turned.jpg"])
    #expect(try a.bytes("photos/kitchen/turned.jpg") == Picture.turned.bytes)
    let times = try [Picture.turned.path, "\(a.path)/photos/kitchen/turned.jpg"].map {
      try FileManager.default.attributesOfItem(atPath: $0)[.modificationDate] as? Date
    }
    #expect(times[0] == times[1])
    #expect(a.names(".tidemark/tmp") == [])
    // By the name of the file alone, and by the folder of the photos.
    #expect(
      try await a.run("photos", "add", "garden", Picture.red.path).output == "added photos/garden/two-colours.png\n")
    let inside = try await Tidemark.run(["photos", "add", ".", Picture.moving.path], in: "\(a.path)/photos/garden")
    #expect(inside.output == "added photos/garden/moving.gif\n", "\(inside.errors)")
  }

  @Test("add leaves everything as it was where one of the files is no photo, has its name taken, or has no row")
  func refused() async throws {
    let site = try await Site()
    let a = try await workspace(site)
    try a.write("words.jpg", "only words\n")
    let cut = Data(try Picture.turned.bytes.dropLast(9))
    try save(cut, to: "\(a.path)/cut.jpg")
    let tries: [(task: String, file: String, words: String)] = [
      ("kitchen", "\(a.path)/words.jpg", "not a photo but ASCII text"),
      ("kitchen", "\(a.path)/cut.jpg", "incomplete picture"),
      ("kitchen", "\(a.path)/none.jpg", "No such file"), ("kitchen", a.path, "no regular file"),
      ("tasks/none.json", Picture.turned.path, "there is no file 'tasks/none.json'"),
      ("nothing", Picture.turned.path, "there is no row 'nothing'"),
    ]
    for (task, file, words) in tries {
      let done = try await a.run("photos", "add", task, Picture.red.path, file)
      #expect(done.status == 1 && done.errors.contains(words), "\(done.errors)")
      #expect(!a.exists("photos/kitchen"))
    }
    try await a.run("photos", "add", "kitchen", Picture.red.path).expectSuccess()
    let again = try await a.run("photos", "add", "kitchen", Picture.red.path)
    #expect(again.status == 1 && again.errors.contains("a file lies there already"), "\(again.errors)")
  }

  @Test("move, copy, replace and remove are what they say of the files, and what goes is in the trash")
  func changes() async throws {
    let site = try await Site()
    let a = try await workspace(site)
    try await a.run("photos", "add", "kitchen", Picture.red.path, Picture.turned.path).expectSuccess()
    let (red, turned) = ("photos/kitchen/two-colours.png", "photos/kitchen/turned.jpg")
    #expect(try await a.run("photos", "move", "garden", red).output == "moved photos/garden/two-colours.png\n")
    #expect(try await a.run("photos", "copy", "garden", turned).output == "copied to photos/garden/turned.jpg\n")
    #expect(a.names("photos/garden") == ["turned.jpg", "two-colours.png"])
    #expect(a.names("photos/kitchen") == ["turned.jpg"])
    try await a.run("photos", "replace", turned, Picture.moving.path).expectSuccess()
    #expect(try a.bytes(turned) == Picture.moving.bytes)
    #expect(try a.bytes("photos/garden/turned.jpg") == Picture.turned.bytes)
    try await a.run("photos", "remove", "photos/garden/two-colours.png").expectSuccess()
    #expect(a.names("photos/garden") == ["turned.jpg"])
    let trash = try await a.entries("trash")
    #expect(trash.map { $0["origin"] as? String } == [turned, "photos/garden/two-colours.png"])
    for (entry, picture) in zip(trash, [Picture.turned, .red]) {
      #expect(try a.bytes(entry["file"] as? String ?? "") == picture.bytes)
    }
    try await a.run("restore", "photos/garden/two-colours.png").expectSuccess()
    #expect(try a.bytes("photos/garden/two-colours.png") == Picture.red.bytes)
    #expect(try await a.entries("trash").count == 1)
    let missing = try await a.run("photos", "remove", "photos/garden/none.png")
    #expect(missing.status == 1 && missing.errors.contains("there is no file"), "\(missing.errors)")
    let row = try await a.run("photos", "remove", "tasks/kitchen.json")
    #expect(row.status == 1 && row.errors.contains("no path of a photo"), "\(row.errors)")
    #expect(a.exists("tasks/kitchen.json"))
  }

  @Test("an action is needed, and each has its help")
  func help() async throws {
    let none = try await Tidemark.run(["photos"])
    #expect(none.status == 2 && none.errors.contains("an action is missing"))
    let help = try await Tidemark.run(["photos", "--help"]).output
    for action in ["add", "move", "copy", "replace", "remove"] {
      #expect(help.contains("\n  \(action) "))
      #expect(try await Tidemark.run(["photos", action, "--help"]).output.hasPrefix("tidemark photos \(action) "))
    }
  }

  @Test("list says where each photo stands, and retry tries again what has failed", arguments: [false, true])
  func list(isWatching: Bool) async throws {
    let site = try await Site()
    let a = try await workspace(site)
    try await a.run("online").expectSuccess()
    try a.drop(.turned, at: "photos/kitchen/front.jpg")
    try a.drop(.moving, at: "photos/cellar/dark.gif")
    try a.drop(.red, at: "photos/lost.png")
    try a.write("photos/kitchen/words.jpg", "only words\n")
    try await a.sync(expecting: 4)
    let both = try await BothWays(a, isWatching: isWatching)
    let states = [
      "photos/kitchen/front.jpg": "same", "photos/cellar/dark.gif": "held", "photos/lost.png": "held",
      "photos/kitchen/words.jpg": "failed",
    ]
    #expect(try await a.photos() == states)
    let lines = try await a.run("photos", "list", "kitchen").output
    #expect(
      lines == """
        -  photos/kitchen/front.jpg  1 kB
        !  photos/kitchen/words.jpg  11 B  failed: not a photo but ASCII text; photos are JPEG, PNG, WebP, GIF, HEIC and AVIF

        """)
    try save(Picture.red.bytes, to: "\(a.path)/photos/kitchen/words.jpg")
    try await a.run("photos", "retry").expectSuccess()
    while try await a.photos()["photos/kitchen/words.jpg"] != "same" { try await a.run("sync").noted() }
    let nothing = try await a.run("photos", "retry", "photos/kitchen/none.jpg")
    #expect(nothing.status == 1 && nothing.errors.contains("there is nothing among the photos"), "\(nothing.errors)")
    await both.stop()
  }

  @Test(
    "what is sent is a copy without the place, smaller, and JPEG, where the settings say so; the file stays as it is")
  func prepared() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try a.setPhotos("prepare", ["stripLocation": true, "longestEdge": 64, "heicToJPEG": true])
    try a.write("tasks/kitchen.json", #"{"title": "Kitchen"}"#)
    for (picture, name) in [(Picture.turned, "front.jpg"), (.placed, "phone.heic"), (.red, "plain.png")] {
      try a.drop(picture, at: "photos/kitchen/\(name)")
    }
    try await a.sync()
    for _ in 0..<2 {
      try await b.sync()
      try await a.sync()
    }
    #expect(a.names("photos/kitchen") == ["front.jpg", "phone.heic", "plain.png"])
    #expect(try a.bytes("photos/kitchen/front.jpg") == Picture.turned.bytes)
    #expect(try a.bytes("photos/kitchen/phone.heic") == Picture.placed.bytes)
    #expect(try await Set(a.photos().values) == ["same"])
    #expect(try await Set(b.photos().values) == ["same"])
    // In place, so as many bytes, and not the same ones.
    let front = try b.bytes("photos/kitchen/front.jpg")
    #expect(try front.count == Picture.turned.bytes.count && front != Picture.turned.bytes)
    let phone = try #require(b.names("photos/kitchen").first { $0.hasPrefix("phone") })
    #expect(try b.bytes("photos/kitchen/\(phone)").starts(with: [0xFF, 0xD8, 0xFF]))
    #expect(try b.bytes("photos/kitchen/plain.png") == Picture.red.bytes)
    #expect(a.names(".tidemark/photos") == [])
  }

  @Test(
    "after the state was lost photos are known again, also those of which a copy was sent", arguments: [false, true])
  func lostState(isPrepared: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    if isPrepared {
      try a.setPhotos("prepare", ["stripLocation": true, "longestEdge": 64, "heicToJPEG": true])
    }
    try a.write("tasks/kitchen.json", #"{"title": "Kitchen"}"#)
    let dropped = [(Picture.turned, "front.jpg"), (.placed, "phone.heic"), (.red, "plain.png"), (.red, "twice.png")]
    for (picture, name) in dropped { try a.drop(picture, at: "photos/kitchen/\(name)") }
    try await a.sync()
    for name in ["", "-wal", "-shm"] where a.exists(".tidemark/state.sqlite\(name)") {
      try a.remove(".tidemark/state.sqlite\(name)")
    }
    for _ in 0..<3 { try await a.sync() }
    #expect(a.names("photos/kitchen") == dropped.map(\.1))
    let states = dropped.map { ("photos/kitchen/\($0.1)", "same") }
    #expect(try await a.photos() == Dictionary(uniqueKeysWithValues: states))
    for (picture, name) in dropped { #expect(try a.bytes("photos/kitchen/\(name)") == picture.bytes) }
    try await b.sync()
    #expect(b.names("photos/kitchen").count == dropped.count)
  }

  @Test("the newest come down, or the small ones, as the policy says; the others are listed")
  func policies() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try a.write("tasks/kitchen.json", #"{"title": "Kitchen"}"#)
    // One that says when it was taken, and a smaller one that does not.
    try a.drop(.turned, at: "photos/kitchen/front.jpg")
    try a.drop(.red, at: "photos/kitchen/back.png")
    try await a.sync()
    try b.setDownload(["newest": 1])
    try await b.sync()
    #expect(try await b.photos() == ["photos/kitchen/front.jpg": "same", "photos/kitchen/back.png": "server"])
    let c = try await site.workspace("c", isFirst: false)
    try c.setDownload(["upTo": 500])
    try await c.sync()
    #expect(try await c.photos() == ["photos/kitchen/front.jpg": "server", "photos/kitchen/back.png": "same"])
  }

  @Test(
    "a photo that a policy leaves on the server is listed, told of and shared there, and comes when it is asked for",
    arguments: [false, true])
  func get(isWatching: Bool) async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    try b.setDownload("none")
    try a.write("tasks/kitchen.json", #"{"title": "Kitchen"}"#)
    for (picture, name) in [(Picture.turned, "front.jpg"), (.red, "back.png")] {
      try a.drop(picture, at: "photos/kitchen/\(name)")
    }
    try await a.sync()
    try await b.sync()
    let both = try await BothWays(b, isWatching: isWatching)
    let (front, back) = ("photos/kitchen/front.jpg", "photos/kitchen/back.png")
    #expect(try await b.photos() == [front: "server", back: "server"])
    #expect(b.names("photos/kitchen") == [])
    let info = try await b.ask("photos", "info", front)
    #expect((info["server"] as? [String: Any])?["isInBucket"] as? Bool == true)
    let links = try await b.run("photos", "share-all", "kitchen", "--expires", "1d").output.split(separator: "\n")
    #expect(links.count == 2 && links.allSatisfy { $0.contains("/object/sign/") })
    try await b.run("photos", "get", front).expectSuccess()
    #expect(try await b.photos() == [front: "same", back: "server"])
    #expect(try b.bytes(front) == Picture.turned.bytes)
    // Removed by a person it goes for good; what was never here stays there.
    try await b.run("photos", "remove", front).expectSuccess()
    while try await b.photos() != [back: "server"] { try await b.run("sync").noted() }
    try await b.run("sync").noted()
    while try await a.photos() != [back: "same"] { try await a.run("sync").noted() }
    try await b.run("photos", "get", "--all").expectSuccess()
    #expect(try b.bytes(back) == Picture.red.bytes)
    let nothing = try await b.run("photos", "get", "photos/kitchen/none.jpg")
    #expect(nothing.status == 1 && nothing.errors.contains("there is nothing among the photos"), "\(nothing.errors)")
    await both.stop()
  }
}

extension Replica {
  /// Has a policy of its own about which photos come down.
  fileprivate func setDownload(_ policy: Any) throws { try setPhotos("download", policy) }

  /// Sets a member of the photos' settings.
  fileprivate func setPhotos(_ name: String, _ value: Any) throws {
    try edit("tidemark.json") { settings in
      guard var collections = settings["collections"] as? [[String: Any]],
        var photos = collections[0]["photos"] as? [String: Any]
      else { return }
      photos[name] = value
      collections[0]["photos"] = photos
      settings["collections"] = collections
    }
  }
}

extension Finished {
  /// A look whose outcome the next one tells.
  fileprivate func noted() {}
}
