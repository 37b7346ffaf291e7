import LosslessJSON
import Randomness

/// Somebody who sees to a user's photos with the server's own tools.
struct PhotoOwner {
  let world: World
  let user: String
  var random: SeededRandom

  /// Does one thing; nothing where there is nothing to do it to.
  mutating func act(_ kind: Deed.Kind) {
    let server = world.server
    let rows = server.photoRows(of: user)
    guard let id = random.pick(rows.keys.sorted()), let row = rows[id] else { return }
    switch kind {
    case .serverPhotoDelete:
      let key = row["object_path"]?.stringValue ?? ""
      world.trace("server: the photo \(id) and its object are deleted")
      world.pictures.destroy(server.objects(of: user)[key])
      server.deletePhoto(id, object: key)
    case .serverPhotoRename:
      let name = "s\(world.pictures.new().number).jpg"
      world.trace("server: the photo \(id) is called \(name)")
      server.updatePhoto(id, ["name": .string(name)])
    case .serverPhotoMove:
      guard let task = random.pick(server.rows(of: user).keys.sorted()) else { return }
      world.trace("server: the photo \(id) belongs to \(task)")
      server.updatePhoto(id, ["task_id": .string(task)])
    default: break
    }
  }
}
