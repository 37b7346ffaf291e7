import Randomness

/// What photos add to a day: drawn beside all else, so that the rest of a day is what it is without them.
enum PhotoDay {
  /// Has some of a day's deeds be about photos.
  static func add(to plan: inout DayPlan) {
    var random = SeededRandom(seed: plan.seed ^ 0x7068_6F74_6F73)  // "photos"
    plan.day.hasPhotos = true
    let isLone = plan.day.isLone
    let weights =
      Deed.Kind.allCases.filter(\.isOfPhotos).map { kind in
        (weight: kind.isServers && isLone ? 0 : random.draw(below: 12), choice: kind)
      } + [(weight: 4, choice: Deed.Kind.drop)]
    let share = 2 + random.draw(below: 3)
    for index in plan.deeds.indices where !plan.deeds[index].kind.isFault && !random.oneIn(share) {
      plan.deeds[index].kind = random.pick(weighted: weights)
    }
  }
}

extension Deed.Kind {
  /// Whether it is about photos.
  var isOfPhotos: Bool {
    switch self {
    case .drop, .dropInNewFolder, .dropLoose, .dropSlowly, .dropNoPhoto, .taskForFolder, .photoReplace, .photoRename,
      .photoMove, .photoMoveOver, .photoSwap, .photoCopy, .photoTouch, .photoRemove, .photoRemoveAll, .removeWithPhotos,
      .renameWithPhotos, .photoFolderRename, .serverPhotoDelete, .serverPhotoRename, .serverPhotoMove:
      true
    default: false
    }
  }
}
