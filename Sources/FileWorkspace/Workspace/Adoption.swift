import OfflineEngine

/// What becomes of files that lay in a collection's folder before its workspace was made, or before its state was lost.
///
/// Nothing is known of them, so nothing is done with any file of the collection until every row has been read once. Then
/// files that say what their rows say are remembered; a few that differ or are unknown are judged one by one; many are
/// one question to the person, since a wrong account, a wrong server or an old backup look like that.
public enum Adoption: Sendable, Hashable {
  /// The rows have not all been read yet.
  case waiting
  /// A person must choose: so many files have ids that no row has, and so many differ from their rows.
  case held(unknown: Int, differing: Int)
  /// The person has chosen; it is being done.
  case chosen(AdoptionChoice)

  /// How many files wait for a person.
  public var heldCount: Int { if case .held(let unknown, let differing) = self { unknown + differing } else { 0 } }

  init?(text: String) {
    let words = text.split(separator: " ")
    switch (words.first, words.dropFirst().compactMap { Int($0) }) {
    case ("waiting", _): self = .waiting
    case ("held", let counts) where counts.count == 2: self = .held(unknown: counts[0], differing: counts[1])
    case (let word?, _):
      guard let choice = AdoptionChoice(rawValue: String(word)) else { return nil }
      self = .chosen(choice)
    default: return nil
    }
  }

  var text: String {
    switch self {
    case .waiting: "waiting"
    case .held(let unknown, let differing): "held \(unknown) \(differing)"
    case .chosen(let choice): choice.rawValue
    }
  }
}

/// A person's one choice for all files of a held adoption.
public enum AdoptionChoice: String, Sendable, Hashable {
  /// Files with unknown ids become rows; what differs is sent.
  case mine
  /// Files with unknown ids, and what differs, go to the trash; the rows' texts take their place.
  case theirs
  /// Files with unknown ids become rows; each that differs is a conflict of its own.
  case each
}

extension EngineTransaction {
  private static let adoptsBefore = "adopts_before"

  private static func adoptionNote(_ folder: String) -> String { "adoption \(folder)" }

  /// Has the files that lie in the collections' folders now be adopted.
  ///
  /// To be called when a fresh state is made for a folder.
  public func adoptFiles(before time: WallTime) throws {
    // The kernel's time stamps lag behind its clock by a tick.
    try setNote(Self.adoptsBefore, String((time + .milliseconds(-10)).nanoseconds))
  }

  func adoptsBefore() throws -> WallTime? {
    try note(Self.adoptsBefore).flatMap { Int64($0) }.map(WallTime.init(nanoseconds:))
  }

  /// How far the adoption of a collection's files has come; `nil` where there was none or it is over.
  public func adoption(_ folder: String) throws -> Adoption? {
    try note(Self.adoptionNote(folder)).flatMap(Adoption.init)
  }

  func setAdoption(_ folder: String, _ adoption: Adoption?) throws {
    try setNote(Self.adoptionNote(folder), adoption?.text)
  }
}
