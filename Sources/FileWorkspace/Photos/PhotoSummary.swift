import LosslessJSON
import OfflineEngine

/// How the photos of a workspace stand.
public struct PhotoSummary: Sendable, Hashable {
  /// The photo whose bytes are on their way.
  public struct Transfer: Sendable, Hashable {
    /// Where its file lies or will lie.
    public var path: String
    /// How much has passed, from 0 to 100.
    public var percent: Int
  }

  /// Photos that are to be read, sent or told the server of.
  public var waiting = 0
  /// Photos that are to come down.
  public var toFetch = 0
  /// Photos that cannot be sent or fetched, and photos without a row, each with its reason.
  public var problems: [Problem] = []
  /// Missing photos whose deletes wait for a person.
  public var held = 0
  /// What is held and what a person can do about it, a sentence each.
  public var holds: [String] = []
  /// What is on its way now.
  public var transfer: Transfer?
  /// What single photos wait for, a sentence each.
  public var waits: [String] = []

  /// Nothing waits.
  public init() {}

  init(_ transaction: EngineTransaction, _ settings: WorkspaceSettings) throws {
    for collection in settings.collections {
      guard let table = PhotoTable(Collection(settings: collection)) else { continue }
      let records = try PhotoRecords(transaction).unfinished(collection.folder)
      for record in records { try add(record, table, transaction) }
      let missing = records.filter(\.isHeld).map(\.lastPath).sorted()
      if !missing.isEmpty {
        let folder = table.settings.folder
        held += missing.count
        holds.append(
          "\(folder): \(missing.count) \(missing.count == 1 ? "photo is" : "photos are") missing "
            + "(\(WorkspaceSummary.short(missing))); 'tidemark restore \(folder)' brings them back, 'tidemark confirm' deletes "
            + "their rows")
      }
      if waiting > 0 { waits.append("\(table.settings.folder): \(Self.count(waiting)) to be sent") }
      if toFetch > 0 { waits.append("\(table.settings.folder): \(Self.count(toFetch)) to come down") }
    }
  }

  private mutating func add(
    _ record: PhotoRecord, _ table: PhotoTable, _ transaction: EngineTransaction
  ) throws {
    switch record.state {
    case .failed, .held:
      problems.append(
        Problem(path: record.lastPath, message: record.reason ?? "it waits for a person", since: transaction.now))
    case .unread, .waiting, .sent:
      waiting += 1
      if let reason = record.reason { waits.append("\(record.lastPath): \(reason)") }
    case .remote where record.isWanted:
      toFetch += 1
      if let reason = record.reason { waits.append("\(record.lastPath): \(reason)") }
    case .remote, .stored: break
    }
    if record.absentSince != nil, !record.isHeld {
      waits.append("\(record.lastPath): it is missing, so the photo is deleted unless it comes back")
    }
  }

  private static func count(_ number: Int) -> String { number == 1 ? "1 photo waits" : "\(number) photos wait" }

  /// The counts, as `tidemark status --json` prints them.
  public var json: JSONValue {
    [
      "waiting": .integer(Int64(waiting)), "toFetch": .integer(Int64(toFetch)),
      "failed": .integer(Int64(problems.count)), "held": .integer(Int64(held)),
      "transfer": transfer.map { ["path": .string($0.path), "percent": .integer(Int64($0.percent))] } ?? .null,
    ]
  }
}

extension Workspace {
  /// What is on its way now.
  func photoTransfer() throws -> PhotoSummary.Transfer? {
    guard let (id, percent) = photoProgress.current,
      let record = try client.read({ try PhotoRecords($0).record(id: id) })
    else { return nil }
    return PhotoSummary.Transfer(path: record.path ?? record.lastPath, percent: percent)
  }
}
