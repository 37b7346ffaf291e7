import LosslessJSON
import OfflineEngine

/// What an undo has to do about one file.
enum UndoStep: Sendable, Hashable {
  /// Put the former text back over what the sync wrote.
  case putBack([UInt8], over: [UInt8])
  /// Bring a removed file back.
  case restore([UInt8])
  /// Remove a file that came new, which says what the sync wrote.
  case remove(ContentHash)
  /// Leave a file that came new.
  case stays
  /// Leave a file for good; its former text, if any, goes to the trash.
  case left(reason: String, former: [UInt8]?)
  /// Leave it for now.
  case waits(reason: String)
  /// Nothing is left of it that could be undone.
  case nothing
}

/// One file of an undo.
struct UndoItem: Sendable, Hashable {
  var file: SyncedFile
  /// Where the file lies now.
  var path: String
  var step: UndoStep

  /// What the item comes to when all goes well.
  var outcome: UndoReport.File? {
    switch step {
    case .putBack: UndoReport.File(path: path, fate: .putBack, detail: "")
    case .restore: UndoReport.File(path: path, fate: .restored, detail: "")
    case .remove:
      UndoReport.File(path: path, fate: .removed, detail: "it is in the trash; its row is deleted as by 'rm'")
    case .stays:
      UndoReport.File(
        path: path, fate: .stays, detail: "it came new; 'tidemark undo --added' removes it, and deletes its row")
    case .left(let reason, nil): UndoReport.File(path: path, fate: .left, detail: reason)
    case .left(let reason, _?):
      UndoReport.File(path: path, fate: .left, detail: "\(reason); what it said before that sync is in the trash")
    case .waits(let reason): UndoReport.File(path: path, fate: .waits, detail: reason)
    case .nothing: nil
    }
  }
}

/// Finds out what an undo has to do, without doing it.
struct UndoPlan {
  let transaction: EngineTransaction
  let collections: [Collection]
  let files: any FileSystem
  /// Whether files that came new go, too.
  let isAddedToo: Bool

  func items(of round: SyncRound) throws -> [UndoItem] {
    try SyncRecord(transaction).files(of: round).map(item)
  }

  private func item(_ file: SyncedFile) throws -> UndoItem {
    guard let collection = collections.first(where: { $0.folder == file.collection }) else {
      return UndoItem(
        file: file, path: file.path,
        step: .left(reason: "its collection is not in tidemark.json any more", former: file.former))
    }
    let entry = try Mirror(transaction).entry(collection.folder, keyText: file.keyText)
    let path = entry?.path ?? file.path
    let found: Sighting
    do {
      found = try files.look(path, bytesMax: RowFile.bytesMax)
    } catch {
      return UndoItem(file: file, path: path, step: .waits(reason: "\(error)"))
    }
    return UndoItem(file: file, path: path, step: step(file, path, found, entry, collection))
  }

  private func step(
    _ file: SyncedFile, _ path: String, _ found: Sighting, _ entry: MirrorEntry?, _ collection: Collection
  ) -> UndoStep {
    guard let written = file.written else {
      // Its row is gone, so whatever lies there is something else, or it is back already.
      guard found.isAbsent else {
        return .left(reason: "a file lies there again; the one that was removed is in the trash", former: nil)
      }
      return .restore(spelledOut(file.former ?? [], path, collection))
    }
    guard let former = file.former else {
      if found.isAbsent { return .nothing }
      if !isAddedToo { return .stays }
      guard found.says(written) else { return .left(reason: "it came new, and was changed since", former: nil) }
      return waiting(path) ?? .remove(written)
    }
    guard let current = found.bytes, found.says(written) else {
      return .left(reason: found.isAbsent ? "it was removed since" : "it was changed since", former: former)
    }
    if let waits = waiting(path) { return waits }
    guard let bytes = text(file, former, current, entry, collection) else {
      return .left(reason: "its collection has other columns now", former: former)
    }
    return bytes == current ? .nothing : .putBack(bytes, over: current)
  }

  /// A text that says by itself what it said by its file's name when it was empty.
  private func spelledOut(_ former: [UInt8], _ path: String, _ collection: Collection) -> [UInt8] {
    guard let row = try? RowFile.read(former, collection.settings), row.document == nil else { return former }
    let values = RowFile.valuesOfEmptyFile(named: WorkspacePath.name(of: path), collection.settings)
    return RowFile.render(values, collection.settings)
  }

  private func waiting(_ path: String) -> UndoStep? {
    EditorMarker.name(for: path, in: files).map {
      .waits(reason: "it is open in an editor (\($0)); close it, and undo again")
    }
  }

  /// The former text; what only the server sets stays as it is.
  ///
  /// What the file did not mention and the sync put in must be said, since a member that is absent says nothing.
  private func text(
    _ file: SyncedFile, _ former: [UInt8], _ current: [UInt8], _ entry: MirrorEntry?, _ collection: Collection
  ) -> [UInt8]? {
    let settings = collection.settings
    guard let old = try? RowFile.read(former, settings), let new = try? RowFile.read(current, settings),
      let document = old.document ?? new.document
    else { return nil }
    var fixed = JSONObject(new.values.members.filter { settings.column($0.name)?.isReadOnly ?? false })
    if let key = new.key.map(RowKey.init) { fixed = fixed.overlaid(with: collection.keyValues(key)) }
    let bytes = RowFile.updated(document.removing(PathDecision.problemMember), to: fixed, settings)
    guard let named = try? RowFile.read(bytes, settings).document else { return nil }
    return RowFile.updated(named, to: file.formerValues, settings, adding: .all)
  }
}
