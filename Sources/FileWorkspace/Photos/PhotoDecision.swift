/// What a decision about one photo is made from.
struct PhotoInput: Sendable, Hashable {
  /// The file as it is now.
  enum File: Sendable, Hashable {
    /// None lies there, which proves nothing yet.
    case missing
    /// A person has removed it, by all the proof that a delete needs.
    case removed
    /// One is there whose bytes are not known.
    case unread
    /// One is there, with bytes of this hash.
    case there(sha256: String)
  }

  /// What file and row last agreed on.
  struct Base: Sendable, Hashable {
    /// The key of the object.
    var object: String
    /// Of the bytes of the file that the object was made from; `nil` where no file has been here yet.
    var sha256: String?
    var place: PhotoPlace
  }

  /// The row as this device knows it, with what waits in the queue.
  enum Row: Sendable, Hashable {
    /// There was never one.
    case none
    /// There is one; the hash is that of the file that its object was made from, where the row says it.
    case there(object: String, sha256: String?, place: PhotoPlace)
    /// There was one.
    case gone
  }

  var base: Base?
  var file: File
  /// Where the file lies; `nil` for a folder that belongs to no row, and where there is no file.
  var place: PhotoPlace?
  var row: Row
  /// Whether the row that the photo belongs to is on the server.
  var isOwnerOnServer: Bool
  /// Whether the settings, or a person, let this photo come down.
  var mayDownload: Bool
}

/// What is to be done about one photo, in order.
enum PhotoStep: Sendable, Hashable {
  /// Read the file, and decide again.
  case read
  /// Wait for a row that the folder belongs to.
  case hold
  /// Wait for the row that it belongs to, which is not on the server yet.
  case awaitOwner
  /// Send the file's bytes under a new key.
  case upload
  /// Write the photo's row, once its bytes are there.
  case insertRow
  /// Have the row name the new object, once its bytes are there.
  case updateObject
  /// Have the row say where the file lies.
  case updatePlace
  /// Delete the row.
  case deleteRow
  /// Remove an object, once no row names it.
  case removeObject(String)
  /// Take the file for the row's object, whose bytes it has.
  case adopt
  /// Fetch the row's object and put it where the row says.
  case download
  /// Put the file where the row says.
  case moveFile(PhotoPlace)
  /// Move the file to the trash.
  case trashFile
  /// Take the file for a photo of its own: what it was is decided elsewhere, and these bytes have no copy.
  case makeAnother
  /// Forget the photo.
  case forget
}

/// Decides what is to be done about one photo; total, and without effects.
///
/// | agreed | file | row | steps |
/// | --- | --- | --- | --- |
/// | – | unread | – | read |
/// | – | there, folder without a row | – | hold |
/// | – | there, its row not on the server | – | wait |
/// | – | there | – | upload, insert |
/// | – | none | – | forget |
/// | – | none | there | download |
/// | any | the row's bytes | there | adopt; move the file where the row has another place |
/// | b | b, in its place | b | nothing |
/// | b | other bytes | b | upload, update, remove the old object |
/// | b | b, elsewhere | b | update of the place |
/// | b | missing | any | nothing: that is not yet a delete |
/// | b | removed | b | delete, remove the object |
/// | b | removed | other object | download: nobody has seen what was removed |
/// | b | b | other object | download; then what the place asks for |
/// | b | b, in its place | other place | move the file |
/// | b | other bytes | other object | the file is a photo of its own; download |
/// | b | b | gone | trash |
/// | b | other bytes | gone | the file is a photo of its own |
/// | b | none | gone | forget |
func decidePhoto(_ input: PhotoInput) -> [PhotoStep] {
  if input.file == .unread { return [.read] }
  guard let base = input.base else { return decideNew(input) }
  switch input.row {
  case .gone, .none: return decideGone(input, base)
  case .there(let object, let sha256, let place): return decideKnown(input, base, object, sha256, place)
  }
}

private func decideNew(_ input: PhotoInput) -> [PhotoStep] {
  switch (input.file, input.row) {
  case (.missing, .there), (.removed, .there): input.mayDownload ? [.download] : []
  case (.missing, _), (.removed, _): [.forget]
  case (.there(let mine), .there(_, let sha256, let place)) where mine == sha256:
    input.place.map { $0 == place } ?? true ? [.adopt] : [.adopt, .moveFile(place)]
  // Its row is there, but this device never agreed with it on anything: what lies here is another photo.
  case (_, .there): [.makeAnother]
  case _ where input.place == nil: [.hold]
  case _ where !input.isOwnerOnServer: [.awaitOwner]
  default: [.upload, .insertRow]
  }
}

private func decideGone(_ input: PhotoInput, _ base: PhotoInput.Base) -> [PhotoStep] {
  switch input.file {
  case .missing, .removed: [.forget]
  case .there(let sha256) where sha256 == base.sha256: [.trashFile, .forget]
  case .there, .unread: [.makeAnother]
  }
}

private func decideKnown(
  _ input: PhotoInput, _ base: PhotoInput.Base, _ object: String, _ rowSHA256: String?, _ place: PhotoPlace
) -> [PhotoStep] {
  let isNewer = object != base.object
  switch input.file {
  case .missing where base.sha256 == nil, .removed where isNewer: return input.mayDownload ? [.download] : []
  case .missing, .unread: return []
  case .removed: return base.sha256 == nil ? [] : [.deleteRow, .removeObject(base.object)]
  case .there(let sha256):
    // A process that died between putting a fetched file in place and noting it finds it so.
    if isNewer, sha256 == rowSHA256 { return [.adopt] + placeSteps(input, base, place) }
    let isEdited = sha256 != base.sha256
    if isEdited, isNewer { return [.makeAnother, .download] }
    if isNewer { return [.download] }
    var steps: [PhotoStep] = []
    if isEdited { steps += [.upload, .updateObject, .removeObject(base.object)] }
    return steps + placeSteps(input, base, place)
  }
}

/// What is to be done where file and row do not agree on the place: the person's own last move stands.
private func placeSteps(_ input: PhotoInput, _ base: PhotoInput.Base, _ place: PhotoPlace) -> [PhotoStep] {
  // In a folder without a row it belongs to whom it belonged to.
  if let here = input.place, here != base.place { return [.updatePlace] }
  return place == base.place ? [] : [.moveFile(place)]
}
