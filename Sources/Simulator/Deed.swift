import Randomness

/// One thing that happens on a day; what it draws, it draws from a seed of its own, so that a day without it is the same.
struct Deed: Sendable {
  enum Kind: String, Sendable, CaseIterable {
    // People.
    case edit, editSlowly, editOldBuffer, editOpen, saveAnew, saveBetween, openEverything, add, addWithKey, addEmpty
    case remove, removeAll, rename, renameOver, swap, copy, reformat, settle, changeMany, confirm
    case commit, checkout
    // People, of photos.
    case drop, dropInNewFolder, dropLoose, dropSlowly, dropNoPhoto, taskForFolder, photoReplace, photoRename, photoMove
    case photoMoveOver, photoSwap, photoCopy, photoTouch, photoRemove, photoRemoveAll
    case removeWithPhotos, renameWithPhotos, photoFolderRename
    case serverPhotoDelete, serverPhotoRename, serverPhotoMove
    // Another writer, straight on the server.
    case serverUpdate, serverInsert, serverDelete
    // What goes wrong.
    case cableOut, cableIn, kill, killSoon, losePower, start, stop, clock, diskFull, diskFree, unmount
    case rumour, wake, serverRestart, calm

    var isFault: Bool {
      switch self {
      case .cableOut, .cableIn, .kill, .killSoon, .losePower, .start, .stop, .clock, .diskFull, .diskFree, .unmount,
        .rumour, .wake, .serverRestart, .calm:
        true
      default: false
      }
    }

    /// Whether a person makes files that were not there.
    var makesFiles: Bool {
      switch self {
      case .add, .addWithKey, .addEmpty, .copy, .checkout, .settle: true
      default: false
      }
    }

    /// Whether a text is saved that was made of another than lies there.
    var savesOlderText: Bool {
      switch self {
      case .editOldBuffer, .editOpen, .saveBetween, .checkout: true
      default: false
      }
    }

    var isServers: Bool {
      switch self {
      case .serverUpdate, .serverInsert, .serverDelete, .serverPhotoDelete, .serverPhotoRename, .serverPhotoMove: true
      default: false
      }
    }
  }

  var kind: Kind
  /// Milliseconds after the one before.
  var pause: Int
  /// Which device, counted round.
  var device: Int
  var seed: UInt64

  /// The deeds of a day.
  static func drawn(
    _ day: Day, _ weights: [(weight: Int, choice: Deed.Kind)], _ random: inout SeededRandom
  ) -> [Deed] {
    var deeds: [Deed] = []
    var people = 0
    while people < Day.deedCount {
      let kind = random.pick(weighted: weights)
      if !kind.isFault { people += 1 }
      deeds.append(
        Deed(
          kind: kind, pause: random.draw(below: day.pauseMilliseconds), device: random.draw(below: 64),
          seed: random.next()))
    }
    return deeds
  }
}
