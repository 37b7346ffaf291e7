import Foundation
import Testing

/// Three people change one task while none of them can see the others, and come back in every order.
@Suite("Three replicas that come back in every order", .timeLimit(.minutes(5))) struct ThreeReplicasTests {
  /// What the three do to one task.
  private struct Kind {
    var name: String
    /// By replica: the columns it sets, or `nil` for a delete.
    var edits: [[String: String]?]

    static func all(_ round: Int) -> [Kind] {
      func text(_ kind: String, _ who: String) -> String { "round \(round) \(kind) by \(who)" }
      return [
        Kind(name: "same", edits: ["a", "b", "c"].map { ["title": text("same", $0)] }),
        Kind(
          name: "different",
          edits: [["title": text("different", "a")], ["notes": text("different", "b")], ["done": "true"]]),
        Kind(
          name: "mixed",
          edits: [["title": text("mixed", "a")], ["notes": text("mixed", "b")], ["title": text("mixed", "c")]]),
        Kind(name: "alike", edits: ["a", "b", "c"].map { _ in ["title": text("alike", "all")] }),
        Kind(name: "deleted", edits: [nil, ["title": text("deleted", "b")], ["notes": text("deleted", "c")]]),
        Kind(name: "gone", edits: [nil, nil, ["notes": text("gone", "c")]]),
      ]
    }

    /// Every text that somebody types.
    var typed: [String] { edits.compactMap(\.self).flatMap(\.values).filter { $0 != "true" } }
  }

  @Test("all three folders end equal, and every text that anyone typed is in a file, a side file or the trash")
  func everyOrder() async throws {
    let site = try await Site()
    var replicas: [Replica] = []
    for name in ["a", "b", "c"] { replicas.append(try await site.workspace(name, isFirst: name == "a")) }
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    for (round, order) in orders.enumerated() {
      let kinds = Kind.all(round)
      for kind in kinds {
        let id = UUID().uuidString.lowercased()
        try replicas[0].write(
          "tasks/\(round)-\(kind.name).json",
          #"{"id": "\#(id)", "title": "\#(round) \#(kind.name)", "notes": null, "done": false}"#)
      }
      for replica in replicas { _ = try await sync(replica) }
      for kind in kinds {
        for (replica, edit) in zip(replicas, kind.edits) {
          let path = "tasks/\(round)-\(kind.name).json"
          guard let edit else {
            try replica.remove(path)
            continue
          }
          try replica.edit(path) { row in
            for (column, value) in edit { row[column] = column == "done" ? true : value }
          }
        }
      }
      for number in order { _ = try await sync(replicas[number]) }
      try await settle(replicas)
      let comment = Comment(rawValue: "round \(round), order \(order)")
      try expectEqual(replicas, comment)
      let kept = try replicas.map(texts).joined()
      for text in kinds.flatMap(\.typed) { #expect(kept.contains { $0.contains(text) }, "\(text), order \(order)") }
      try expectSides(replicas, order, round)
    }
    // Whatever a person then chooses, one after the other, ends the conflicts of all.
    for (number, replica) in replicas.enumerated() {
      for side in try replica.tasks() where side.contains(".mine.") || side.contains(".deleted.") {
        if number == 1, side.hasSuffix(".mine.json") {
          replica.move("tasks/\(side)", to: "tasks/\(side.replacingOccurrences(of: ".mine", with: ""))")
        } else {
          try await replica.run("resolve", "tasks/\(side)", "--theirs").expectSuccess()
        }
      }
      try await settle(replicas)
    }
    try expectEqual(replicas, "settled")
    for replica in replicas {
      let status = try await replica.run("status")
      #expect(status.status == 0, "\(status.output)")
      #expect(try replica.tasks().allSatisfy { !$0.contains(".mine.") && !$0.contains(".deleted.") })
    }
  }

  /// Which side files there must be, as far as the order says it: the first to come back never has one.
  private func expectSides(_ replicas: [Replica], _ order: [Int], _ round: Int) throws {
    for (place, number) in order.enumerated() {
      let sides = try replicas[number].tasks().filter { $0.hasPrefix("\(round)-") && $0.contains(".mine.") }
      for never in ["different", "alike"] { #expect(!sides.contains("\(round)-\(never).mine.json"), "order \(order)") }
      #expect(sides.contains("\(round)-same.mine.json") == (place > 0), "order \(order)")
      #expect(number == 1 ? !sides.contains("\(round)-mixed.mine.json") : true, "order \(order)")
    }
  }

  /// One sync, which may find that something needs a person.
  private func sync(_ replica: Replica) async throws -> [String: Int] {
    let done = try await replica.run("sync", "--json")
    #expect([0, 4].contains(done.status), "\(done.output) \(done.errors)")
    return try done.json().compactMapValues { $0 as? Int }
  }

  /// Syncs one after the other until none has anything to do.
  private func settle(_ replicas: [Replica]) async throws {
    for _ in 0..<6 {
      var isQuiet = true
      for replica in replicas {
        let counts = try await sync(replica)
        if ["synced", "conflicted", "filesWritten", "filesRemoved"].contains(where: { counts[$0] ?? 0 > 0 }) {
          isQuiet = false
        }
      }
      if isQuiet { return }
    }
    Issue.record("no end of work")
  }

  private func expectEqual(_ replicas: [Replica], _ comment: Comment) throws {
    let folders = try replicas.map { replica in
      try replica.tasks().filter { !$0.contains(".mine.") && !$0.contains(".deleted.") }
        .map { "\($0) \(try canonical(replica.row("tasks/\($0)")))" }
    }
    #expect(folders[0] == folders[1], comment)
    #expect(folders[0] == folders[2], comment)
  }

  private func canonical(_ row: [String: Any]) throws -> String {
    String(decoding: try JSONSerialization.data(withJSONObject: row, options: [.sortedKeys]), as: UTF8.self)
  }

  /// Every text in a replica's folder and its trash.
  private func texts(_ replica: Replica) throws -> [String] {
    let trash = (try? FileManager.default.contentsOfDirectory(atPath: "\(replica.path)/.tidemark/trash")) ?? []
    return try replica.tasks().map { try replica.text("tasks/\($0)") }
      + trash.map { try replica.text(".tidemark/trash/\($0)") }
  }
}
