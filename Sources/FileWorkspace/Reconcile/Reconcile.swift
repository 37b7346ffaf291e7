import LosslessJSON
import OfflineEngine

/// One thing to do about a path.
public enum ReconcileStep: Sendable, Hashable {
  /// Queue a new row with the file's values, and know the path as that row's. Without a key a new one is made.
  case insert(values: JSONObject, key: RowKey?)
  /// Queue the person's edit against what the file showed.
  case update(columns: JSONObject)
  /// Queue the row's end, once the proof of a delete stands.
  case delete
  /// Keep an edit of a row that is gone for a person to settle.
  case holdEdit(columns: JSONObject)
  /// Try a refused insert again with the file as it is now.
  case retryInsert(entry: Int64, values: JSONObject)
  /// Write the row's values into the file, or make the file.
  case writeFile(values: JSONObject, version: String?)
  /// Move the unchanged file of a gone row to the trash.
  case trashFile
  /// Remember that file and row agree.
  case recordBase(FileBase)
  /// The file is another path's, moved here: take over what the mirror knows of it, then decide again.
  case moveFrom(path: String)
  /// Take back the delete of a row that was not sent yet, since a file with its key is back; then decide again.
  case takeBackDelete(RowKey)
  /// Forget the path: neither file nor row is there.
  case forget
  /// File and row differ and nothing tells which is newer: keep both for a person.
  case holdDifference(key: RowKey, columns: JSONObject)
  /// The file needs a person for another reason.
  case problem(ReconcileProblem)
}

/// Why a readable file still cannot be taken.
public enum ReconcileProblem: Sendable, Hashable {
  /// The file shows a key that no row and no file has, where another row was.
  case foreignKey(RowKey)
  /// The file shows the key of a row that was deleted.
  case deletedKey(RowKey)
}

/// Decides what happens at one path (DESIGN section 6): pure and total.
///
/// The columns in which the file differs from its base are the person's edit; what the file should say is the row with
/// the queued writes laid over it, this edit among them.
public func reconcile(_ input: ReconcileInput) -> [ReconcileStep] {
  switch (input.base, input.file) {
  case (_, .unreadable): []
  case (nil, .absent): unknownPath(input.row)
  case (nil, .row(let file)): newFile(file, input)
  case (let base?, .absent): missingFile(base, input)
  case (let base?, .row(let file)): knownFile(base, file, input)
  }
}

/// No file and nothing in the mirror: a row that came from the server gets its file.
private func unknownPath(_ row: RowReading) -> [ReconcileStep] {
  if case .present(let values, let version) = row { return [.writeFile(values: values, version: version)] }
  return []
}

private func newFile(_ file: FileRow, _ input: ReconcileInput) -> [ReconcileStep] {
  guard let key = file.key else {
    // Moved before its key stood in it.
    if case .absent(let path) = input.owner { return [.moveFrom(path: path)] }
    return [.insert(values: file.values, key: nil)]
  }
  switch input.owner {
  case .present: return [.insert(values: file.values, key: nil)]  // A copy: two files cannot be one row.
  case .absent(let path): return [.moveFrom(path: path)]
  case .nobody: break
  }
  switch input.row {
  case .unknown: return [.insert(values: file.values, key: key)]
  case .deletedHere(mayBeSent: false): return [.takeBackDelete(key)]
  case .gone, .goneUnanswered, .deletedHere: return [.problem(.deletedKey(key))]
  case .refusedInsert(let entry, _): return [.retryInsert(entry: entry, values: file.values)]
  case .present(let values, let version):
    let differing = edit(file.values, from: values)
    if differing.isEmpty {
      return [.recordBase(FileBase(key: key, values: values, version: version, writtenKey: key))]
    }
    return [.holdDifference(key: key, columns: differing)]
  }
}

private func missingFile(_ base: FileBase, _ input: ReconcileInput) -> [ReconcileStep] {
  switch input.row {
  case .gone, .deletedHere: [.forget]
  case .goneUnanswered: []
  case .unknown: [.forget]
  case .present, .refusedInsert: [.delete]
  }
}

private func knownFile(_ base: FileBase, _ file: FileRow, _ input: ReconcileInput) -> [ReconcileStep] {
  if let key = file.key, key != base.key, key != base.writtenKey {
    switch input.owner {
    case .absent(let path): return [.moveFrom(path: path)]
    case .present: break  // The text of another row laid over this file: an edit of this path's row.
    case .nobody: if case .unknown = input.otherRow { return [.problem(.foreignKey(key))] }
    }
  }
  // Moved over this file before its key stood in it: the row follows its file, as with a key.
  if file.key == nil, case .absent(let path) = input.owner { return [.moveFrom(path: path)] }
  let columns = edit(file.values, from: base.values)
  switch input.row {
  case .gone, .deletedHere:
    return columns.isEmpty ? [.trashFile] : [.holdEdit(columns: columns)]
  case .goneUnanswered: return []
  case .unknown:
    // The row never came to be: its insert was dropped. The file stays; the next edit offers it again.
    return columns.isEmpty ? [] : [.insert(values: base.values.overlaid(with: file.values), key: base.key)]
  case .refusedInsert(let entry, _):
    return columns.isEmpty ? [] : [.retryInsert(entry: entry, values: base.values.overlaid(with: file.values))]
  case .present(let values, let version):
    // What a row does not say yet, such as a column that only the server sets, stays as the file has it.
    let edited = base.values.overlaid(with: values).overlaid(with: columns)
    var steps: [ReconcileStep] = columns.isEmpty ? [] : [.update(columns: columns)]
    guard input.mayWrite else { return steps }
    if isOutdated(file.values, base: base.values, row: edited) {
      // Until the edit is answered, whoever goes on from this file has seen its own base and not the row's version.
      steps.append(.writeFile(values: edited, version: columns.isEmpty ? version : base.version))
    } else if columns.isEmpty, base.version != version || base.values != edited {
      steps.append(
        .recordBase(FileBase(key: base.key, values: edited, version: version, writtenKey: base.writtenKey)))
    }
    return steps
  }
}

/// The columns in which a file differs from what it last agreed on.
///
/// A column that the file does not mention says nothing.
public func edit(_ file: JSONObject, from base: JSONObject) -> JSONObject {
  var columns = JSONObject()
  for (name, value) in file.members where base[name] != value {
    // A column that was never there and is null says nothing either.
    if base[name] == nil, value.isNull { continue }
    columns[name] = value
  }
  return columns
}

/// Whether the row has a value that the file does not show: one that the file shows differently, or one that the file
/// does not mention and that has changed since.
///
/// A value that nobody knew yet, such as a default that the server filled in, is no reason to rewrite a file that a
/// person has just saved.
private func isOutdated(_ file: JSONObject, base: JSONObject, row: JSONObject) -> Bool {
  row.members.contains { name, value in
    if let shown = file[name] { return shown != value }
    return base[name].map { $0 != value } ?? false
  }
}

/// The base that a save was made from: the current one, or an earlier one that an editor still held.
///
/// The one from which the file differs in the fewest columns, the newest on a tie. A file that equals an earlier base in
/// all it mentions is a person putting it back: an ordinary edit against the current base.
public func baseOfSave(_ file: JSONObject, current: FileBase, earlier: [FileBase]) -> FileBase {
  var best = current
  var fewest = edit(file, from: current.values).count
  for base in earlier {
    let count = edit(file, from: base.values).count
    if count == 0 { return current }
    if count < fewest {
      best = base
      fewest = count
    }
  }
  return best
}

extension JSONObject {
  /// This object with the members of `other` set over its own.
  public func overlaid(with other: JSONObject) -> JSONObject {
    var result = self
    for (name, value) in other.members { result[name] = value }
    return result
  }
}
