import FileWorkspace
import LosslessJSON

/// What must hold of the photos of a world.
struct PhotoAccount {
  let world: World
  let devices: [Device]
  let users: [String]

  // MARK: Always

  /// Each picture that somebody has lies in a folder, in a trash, or in the bucket behind a row.
  func checkNothingLost() { check(world.pictures.expected, "lost: the pictures") }

  private func check(_ expected: Set<Int>, _ complaint: String) {
    var missing = expected
    if missing.isEmpty { return }
    for device in devices {
      for path in device.pathsOfPictures {
        if let number = device.files.person.bytes(path).flatMap(world.pictures.number) { missing.remove(number) }
      }
    }
    // Seldom are any left for which the bucket must be asked.
    for user in users where !missing.isEmpty {
      let objects = world.server.objects(of: user)
      for row in world.server.photoRows(of: user).values {
        let bytes = row["object_path"]?.stringValue.flatMap { objects[$0] }
        if let number = bytes.flatMap(world.pictures.number) { missing.remove(number) }
      }
    }
    if !missing.isEmpty { world.complain("\(complaint) \(missing.sorted())") }
  }

  // MARK: At rest

  /// What must hold once nothing is wrong any more: bucket, rows and all folders agree.
  func check() throws {
    checkNothingLost()
    check(world.pictures.expectedInTrash, "removed, and in no trash: the pictures")
    var photos: [Int: Int] = [:]
    for user in users {
      let (rows, objects) = (world.server.photoRows(of: user), world.server.objects(of: user))
      let own = devices.filter { $0.user.id == user }
      for complaint in faults(of: rows, objects) { world.complain(complaint) }
      for device in own {
        for complaint in try faults(of: device, rows, objects) + nameFaults(of: device, rows) + stateFaults(of: device)
        {
          world.complain("\(device.name): \(complaint)")
        }
      }
      for bytes in objects.values {
        if let number = world.pictures.number(of: bytes) { photos[number, default: 0] += 1 }
      }
    }
    for (number, count) in photos.sorted(by: { $0.key < $1.key }) where count > world.pictures.photosMax(number) {
      world.complain("picture \(number) has \(count) objects")
    }
  }

  /// Where the bucket does not fit the rows.
  private func faults(of rows: [String: JSONObject], _ objects: [String: [UInt8]]) -> [String] {
    var complaints: [String] = []
    var named: Set<String> = []
    for (id, row) in rows.sorted(by: { $0.key < $1.key }) {
      let key = row["object_path"]?.stringValue ?? ""
      guard let bytes = objects[key] else {
        complaints.append("the photo \(id) has no object")
        continue
      }
      if !named.insert(key).inserted { complaints.append("\(key) has two rows") }
      if row["sha256"]?.stringValue.map({ $0 != Picture.sha256(bytes) }) ?? false {
        complaints.append("the row of \(id) tells of other bytes than its object has")
      }
      if row["size_bytes"]?.int64Value != Int64(bytes.count) {
        complaints.append("the row of \(id) tells of \(row["size_bytes"] ?? .null) bytes instead of \(bytes.count)")
      }
    }
    for key in objects.keys.sorted() where !named.contains(key) && !world.pictures.wasNamed(key) {
      complaints.append("\(key) has never had a row")
    }
    return complaints
  }

  /// Where the folders do not equal the rows.
  private func faults(
    of device: Device, _ rows: [String: JSONObject], _ objects: [String: [UInt8]]
  ) throws -> [String] {
    // A file that cannot be taken as its row may be any that a photo belongs to.
    guard try device.texts("SELECT path AS text FROM problem WHERE path LIKE 'tasks/%'").isEmpty else { return [] }
    var complaints: [String] = []
    var wanted: [String: [Int]] = [:]
    for row in rows.values {
      guard let bytes = row["object_path"]?.stringValue.flatMap({ objects[$0] }),
        let task = row["task_id"]?.stringValue
      else { continue }
      wanted[task, default: []].append(world.pictures.number(of: bytes) ?? 0)
    }
    // A folder of photos that was renamed alone keeps them, and they stay whose they were.
    var elsewhere = device.photosOfNobody.compactMap { device.files.person.bytes($0).flatMap(world.pictures.number) }
    for file in device.rowNames {
      guard let task = device.row(file)?["id"]?.stringValue else { continue }
      let folder = Photographer.folder(of: file)
      let found = device.files.person.paths(below: folder).compactMap { path in
        device.files.person.bytes(path).flatMap(world.pictures.number)
      }
      var extra = found
      var missing: [Int] = []
      for picture in wanted.removeValue(forKey: task) ?? [] {
        if let index = extra.firstIndex(of: picture) { extra.remove(at: index) } else { missing.append(picture) }
      }
      missing.removeAll { picture in
        let index = elsewhere.firstIndex(of: picture)
        if let index { elsewhere.remove(at: index) }
        return index != nil
      }
      if !extra.isEmpty { complaints.append("\(folder) has the pictures \(extra.sorted()), of which no row tells") }
      if !missing.isEmpty { complaints.append("\(folder) lacks the pictures \(missing.sorted())") }
    }
    for task in wanted.keys.sorted() { complaints.append("there are photos of \(task), which has no file") }
    return complaints
  }

  /// Where a photo is not called as its row says, or as it must be beside others of that name.
  private func nameFaults(of device: Device, _ rows: [String: JSONObject]) -> [String] {
    let elsewhere = Set(device.photosOfNobody)
    return device.storedPhotos.sorted { $0.key < $1.key }.compactMap { id, path in
      guard !elsewhere.contains(path), let name = rows[id]?["name"]?.stringValue else { return nil }
      let marked = name.replacing(".jpg", with: "-\(id.suffix(8)).jpg")
      let found = WorkspacePath.name(of: path)
      return found == name || found == marked ? nil : "\(path) is called \(name) by its row"
    }
  }

  /// Where something is still to be done.
  private func stateFaults(of device: Device) throws -> [String] {
    var complaints: [String] = []
    for line in try device.texts(
      """
      SELECT state || ' ' || id || ' ' || coalesce(path, 'once ' || last_path) || coalesce(': ' || reason, '') AS text
      FROM photo
      WHERE (state NOT IN ('stored', 'held', 'failed') OR absent_since IS NOT NULL)
        -- A task that waits for a person keeps its new photos waiting, too.
        AND NOT (state = 'waiting' AND owner IN (SELECT key FROM mutation WHERE list <> 'queued'))
      ORDER BY number
      """)
    {
      complaints.append("still \(line)")
    }
    for path in try device.texts("SELECT path AS text FROM photo WHERE state = 'failed' AND path IS NOT NULL") {
      guard let number = device.files.person.bytes(path).flatMap(world.pictures.number) else { continue }
      complaints.append("\(path), which is the picture \(number), has failed")
    }
    let leftovers = try device.texts(
      """
      SELECT object AS text FROM photo_leftover
      WHERE coalesce(owner, '') NOT IN (SELECT key FROM mutation WHERE list <> 'queued')
      """)
    if !leftovers.isEmpty { complaints.append("\(leftovers) are still to be removed") }
    return complaints
  }
}

extension Device {
  /// Where pictures may lie that a person can come by.
  fileprivate var pathsOfPictures: [String] {
    [Photographer.folder, StateFolder.trash, ".tidemark/photos"].flatMap { files.person.paths(below: $0) }
  }

  /// Whether a picture was not taken, or did not come.
  func hasFailedPhotos() throws -> Bool {
    try texts("SELECT path AS text FROM photo WHERE state = 'failed' AND path IS NOT NULL").contains { path in
      files.person.bytes(path).map(Picture.isWhole) ?? true
    }
  }

  /// Whether objects are to be removed later.
  func hasLeftovers() throws -> Bool {
    try numbers("SELECT count(*) AS number FROM photo_leftover WHERE retry_at IS NOT NULL") != [0]
  }

  /// The photos in folders that have no task.
  fileprivate var photosOfNobody: [String] {
    let tasks = Set(rowNames)
    return photos.filter { !tasks.contains(WorkspacePath.name(of: WorkspacePath.folder(of: $0)) + ".json") }
  }

  /// Where photos lie that are on the server, by the keys of their rows.
  fileprivate var storedPhotos: [String: String] {
    let lines = (try? texts("SELECT id || ' ' || path AS text FROM photo WHERE state = 'stored' AND path IS NOT NULL"))
    return Dictionary(uniqueKeysWithValues: (lines ?? []).map { (String($0.prefix(36)), String($0.dropFirst(37))) })
  }
}
