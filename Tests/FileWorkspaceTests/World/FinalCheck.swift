import LosslessJSON
import OfflineEngine

@testable import FileWorkspace

/// What must hold once edits have stopped and faults have healed.
struct FinalCheck {
  let world: TaskWorld
  let people: [PersonAtWork]
  let words: SavedWords

  /// What is wrong, a sentence each; nothing when all is well.
  func complaints() -> [String] {
    let rows = world.rows
    var complaints: [String] = []
    for (number, person) in people.enumerated() {
      complaints += faults(of: person.replica, person.mainNames, rows).map { "replica \(number + 1): \($0)" }
    }
    let lost = words.expected.subtracting(wordsWithinReach(rows))
    if !lost.isEmpty { complaints.append("lost: \(lost.sorted())") }
    for word in words.saved.subtracting(words.copied) {
      let count = rows.values.count { $0["title"] == .string(word) }
      if count > 1 { complaints.append("\(word) is the title of \(count) rows") }
    }
    return complaints
  }

  /// What a sync does although nothing has changed.
  func complaintsAboutQuiet() async throws -> [String] {
    var complaints: [String] = []
    for person in people {
      _ = person.replica.network.takeWrites()
      let result = try await person.replica.sync()
      let writes = person.replica.network.takeWrites()
      if !result.isQuiet || !writes.isEmpty { complaints.append("not quiet: \(result.files.events) \(writes)") }
    }
    return complaints
  }

  private func faults(of replica: Replica, _ names: [String], _ rows: [String: JSONObject]) -> [String] {
    var complaints: [String] = []
    let problems = Set(((try? replica.problems) ?? []).map { WorkspacePath.name(of: $0.path) })
    var shown: [String: String] = [:]
    for file in names where !problems.contains(file) {
      guard let id = replica.json(file)?["id"]?.stringValue, let row = rows[id] else {
        complaints.append("\(file) is no row: \(replica.text(file) ?? "")")
        continue
      }
      if let other = shown.updateValue(file, forKey: id) { complaints.append("\(file) and \(other) are \(id)") }
      for (column, value) in replica.json(file) ?? [:] where row[column] != value {
        complaints.append("\(file) says \(value) where the row says \(row[column] ?? .null)")
      }
    }
    // A file that cannot be taken stands for its row until a person mends it.
    let missing = rows.filter { shown[$0.key] == nil }
    if missing.count > problems.count { complaints.append("no file for \(missing.values)") }
    if let queue = try? replica.queue, !queue.isEmpty { complaints.append("\(queue.count) writes wait") }
    return complaints
  }

  /// The words on the server, in files, lists and the trash.
  private func wordsWithinReach(_ rows: [String: JSONObject]) -> Set<String> {
    var found = rows.values.map { JSONValue.object($0).serialized() }
    for person in people {
      let replica = person.replica
      found += replica.trash + replica.names.map { (replica.text($0) ?? "") + $0 }
      found += ((try? replica.conflicts) ?? []).map { JSONValue.object($0.write.values).serialized() }
      found += ((try? replica.refusals) ?? []).map { JSONValue.object($0.write.values).serialized() }
    }
    return found.reduce(into: []) { $0.formUnion(SavedWords.words(in: $1)) }
  }
}
