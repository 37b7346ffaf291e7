/// Every picture that people put into folders, by its bytes: where each of them is makes the account of "nothing is lost".
final class SavedPictures: @unchecked Sendable {  // Proof: one thread runs everything in a world.
  private var numbers: [[UInt8]: Int] = [:]
  /// In how many places people have it, as far as they know.
  private var places: [Int: Int] = [:]
  /// How many photos it may be.
  private var photos: [Int: Int] = [:]
  /// Those that somebody put another one in the place of, or another file over.
  private var replaced: Set<Int> = []
  /// Those that somebody removed when they were on the server.
  private var removed: Set<Int> = []
  /// Those whose object somebody deleted at the server: no trash can have it from there any more.
  private var destroyed: Set<Int> = []
  private var halfWritten: Set<String> = []
  /// The objects that a row has named, by their keys.
  private var named: Set<String> = []

  /// A picture that nobody has yet.
  func new() -> Picture {
    let picture = Picture(number: numbers.count + 1)
    numbers[picture.bytes] = picture.number
    return picture
  }

  /// Notes that somebody put a picture somewhere, in the place of what they saw there.
  func save(_ bytes: [UInt8], over seen: [UInt8]?) {
    replace(seen)
    guard let number = numbers[bytes] else { return }
    places[number, default: 0] += 1
    photos[number, default: 0] += 1
  }

  /// Notes that something else came into the place of what somebody saw there.
  func replace(_ seen: [UInt8]?) {
    guard let number = seen.flatMap({ numbers[$0] }) else { return }
    places[number, default: 0] -= 1
    replaced.insert(number)
  }

  /// Notes that somebody removed what they saw.
  ///
  /// - Parameter isStored: Whether it was on the server: from there its bytes can come into the trash.
  func remove(_ seen: [UInt8]?, isStored: Bool) {
    guard let number = seen.flatMap({ numbers[$0] }) else { return }
    places[number, default: 0] -= 1
    if isStored { removed.insert(number) }
  }

  /// Notes that somebody deleted an object that they saw at the server.
  func destroy(_ seen: [UInt8]?) {
    remove(seen, isStored: false)
    if let number = seen.flatMap({ numbers[$0] }) { destroyed.insert(number) }
  }

  /// The number of a whole picture.
  func number(of bytes: [UInt8]) -> Int? { numbers[bytes] }

  /// The pictures that must be found somewhere.
  var expected: Set<Int> { Set(places.filter { $0.value > 0 }.keys) }

  /// Whether nobody has removed a picture from any place, or put another one in its place.
  func isUntouched(_ number: Int) -> Bool { places[number] == photos[number] }

  /// The pictures that must be found, in a trash at least, once all is done.
  var expectedInTrash: Set<Int> { removed.subtracting(replaced).subtracting(destroyed) }

  /// How many photos a picture may be at most.
  func photosMax(_ number: Int) -> Int { photos[number] ?? 0 }

  /// Notes that rows name objects.
  func noteNamed(_ keys: Set<String>) { named.formUnion(keys) }

  /// Whether a row has ever named an object: whoever deleted that without knowing of it leaves the object behind.
  func wasNamed(_ key: String) -> Bool { named.contains(key) }

  // MARK: Files that are half written

  /// Says that a file is half written, which nobody else touches meanwhile.
  ///
  /// - Returns: To be called when all of it is.
  func beginWriting(_ path: String, on device: Device) -> @Sendable () -> Void {
    let place = "\(device.name)/\(path)"
    halfWritten.insert(place)
    return { [self] in halfWritten.remove(place) }
  }

  /// Whether a file, or one below a folder, is half written.
  func isBeingWritten(_ path: String, on device: Device) -> Bool {
    let place = "\(device.name)/\(path)"
    return halfWritten.contains { $0 == place || $0.hasPrefix(place + "/") }
  }
}
