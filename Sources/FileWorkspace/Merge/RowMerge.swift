import LosslessJSON

/// Two changes of one row's file, brought together column by column.
///
/// A member that one side changed, added or took out is taken from that side. A text that both changed is merged line by
/// line where that leaves no doubt. Everything else that both changed, to different values, is a conflict, and stands in the
/// text in all three versions between markers, so that whoever takes one version of each is left with JSON.
///
/// A person's formatting stays: the text is that of the side that changed more than values, and only members that the other
/// side changed are replaced in it. Texts that are not JSON objects are merged line by line as a whole.
public struct RowMerge: Sendable {
  /// The merged text, with markers where there is a conflict.
  public let bytes: [UInt8]
  /// Whether nothing is left for a person.
  public let isClean: Bool
  /// The members in conflict, in the order of the text; none where whole texts were merged.
  public let disputed: [String]

  /// Merges two changes of `base`.
  ///
  /// - Parameters:
  ///   - base: The text that both were made from; empty where there was none.
  ///   - mine: One's own text.
  ///   - theirs: The other text.
  ///   - markers: What marks a conflict.
  ///   - collection: The files' collection, where it is known: its key (else `id`) must be the same in both, and its types
  ///     say which values mean the same.
  /// - Returns: Nil where the texts are not UTF-8 and differ, so that nothing can be said of them.
  public init?(
    base: [UInt8], mine: [UInt8], theirs: [UInt8], markers: ConflictMarkers = ConflictMarkers(),
    collection: CollectionSettings? = nil
  ) {
    if mine == theirs || theirs == base {
      (bytes, isClean, disputed) = (mine, true, [])
    } else if mine == base {
      (bytes, isClean, disputed) = (theirs, true, [])
    } else if let merge = MemberMerge(base, mine, theirs, collection), let text = merge.text(markers) {
      (bytes, isClean) = (text, merge.conflicts.isEmpty)
      disputed = merge.document.members.map(\.name).filter { merge.conflicts[$0] != nil }
    } else {
      let texts = [base, mine, theirs].compactMap { String(validating: $0, as: UTF8.self) }
      guard texts.count == 3 else { return nil }
      let merge = TextMerge(base: texts[0], mine: texts[1], theirs: texts[2])
      let marked = merge.marked(mine: markers.mine, base: markers.base, theirs: markers.theirs)
      (bytes, isClean, disputed) = (Array((merge.merged ?? marked).utf8), !merge.overlaps, [])
    }
  }
}

/// A merge member by member.
private struct MemberMerge {
  /// A member that both changed; nil where a version does not have it.
  struct Conflict {
    var base: JSONValue?
    var mine: JSONValue?
    var theirs: JSONValue?
  }

  /// The merged text; a member in conflict has one of its values.
  private(set) var document: JSONDocument
  private(set) var conflicts: [String: Conflict] = [:]

  /// - Returns: Nil where a text is no object, or where both are about different rows.
  init?(_ baseText: [UInt8], _ mineText: [UInt8], _ theirsText: [UInt8], _ collection: CollectionSettings?) {
    let isBaseBlank = baseText.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) }
    guard let mine = Self.object(mineText), let theirs = Self.object(theirsText),
      let base = isBaseBlank ? Self.object(Array("{}".utf8)) : Self.object(baseText)
    else { return nil }
    let values = (base: base.members, mine: mine.members, theirs: theirs.members)
    let isSame = { (name: String, one: JSONValue?, other: JSONValue?) -> Bool in
      guard let one, let other else { return one == nil && other == nil }
      return collection?.column(name).map { RowFile.isSame(one, other, $0.type) } ?? (one == other)
    }
    for column in collection?.key ?? ["id"] {
      if let one = values.mine[column], let other = values.theirs[column], !isSame(column, one, other) { return nil }
    }
    // A side that only replaced values has the formatting of the base, which the other may have changed.
    let isTheirs = !isBaseBlank && Self.replacing(base.document, with: values.mine).bytes == mineText
    let (carrier, other) = isTheirs ? (theirs, values.mine) : (mine, values.theirs)
    document = carrier.document
    var names = other.names
    names += carrier.members.names.filter { other[$0] == nil }
    for (place, name) in names.enumerated() {
      let (before, one, two) = (values.base[name], values.mine[name], values.theirs[name])
      if isSame(name, one, two) { continue }
      var merged = one
      if isSame(name, one, before) {
        merged = two
      } else if !isSame(name, two, before) {
        if let text = Self.mergedText(before, one, two) {
          merged = text
        } else {
          conflicts[name] = Conflict(base: before, mine: one, theirs: two)
          merged = document.value[name] ?? other[name]
        }
      }
      guard let merged else {
        document = document.removing(name)
        continue
      }
      let previous = names[..<place].last { document.value[$0] != nil }
      document = document.setting(name, to: merged, after: previous)
    }
  }

  private struct Object {
    var document: JSONDocument
    var members: JSONObject
  }

  private static func object(_ text: [UInt8]) -> Object? {
    guard let document = try? JSONDocument(parsing: text), let members = document.value.objectValue else { return nil }
    return Object(document: document, members: members)
  }

  /// The document with the members of an object, and no others.
  private static func replacing(_ document: JSONDocument, with members: JSONObject) -> JSONDocument {
    var result = document
    var previous: String?
    for (name, value) in members {
      result = result.setting(name, to: value, after: previous)
      previous = name
    }
    for name in document.value.objectValue?.names ?? [] where members[name] == nil { result = result.removing(name) }
    return result
  }

  private static func mergedText(_ base: JSONValue?, _ mine: JSONValue?, _ theirs: JSONValue?) -> JSONValue? {
    guard let base = base?.stringValue, let mine = mine?.stringValue, let theirs = theirs?.stringValue else {
      return nil
    }
    return TextMerge(base: base, mine: mine, theirs: theirs).merged.map(JSONValue.string)
  }

  // MARK: Markers

  /// The text with markers around the members in conflict.
  ///
  /// - Returns: Nil where no member is in all versions, so that nothing tells where commas belong.
  func text(_ markers: ConflictMarkers) -> [UInt8]? {
    guard !conflicts.isEmpty else { return document.bytes }
    let names = document.value.objectValue?.names ?? []
    let isOptional = names.map { name in
      conflicts[name].map { $0.base == nil || $0.mine == nil || $0.theirs == nil } ?? false
    }
    guard let lastCertain = isOptional.lastIndex(of: false) else { return nil }
    let ranges = document.memberRanges
    var writer = MarkerWriter(lineEnd: lineEnd)
    writer.space(document.bytes[..<ranges[0].name.lowerBound], isRegionNext: conflicts[names[0]] != nil)
    for (index, name) in names.enumerated() {
      let range = ranges[index].name.lowerBound..<ranges[index].value.upperBound
      // A comma goes with the member that may be missing, else with the one before it.
      let isCommaBehind = index < lastCertain
      let comma: (front: String, back: String) = (index > lastCertain ? ", " : "", isCommaBehind ? "," : "")
      if let conflict = conflicts[name] {
        let version = { (value: JSONValue?) -> [UInt8] in
          guard let value else { return [] }
          return writer.indent + Array(comma.front.utf8) + spelled(name, value, range) + Array(comma.back.utf8)
            + lineEnd
        }
        writer.region(
          markers.around(
            mine: version(conflict.mine), base: version(conflict.base), theirs: version(conflict.theirs),
            lineEnd: lineEnd))
      } else {
        writer.text(document.bytes[range])
      }
      let isLast = index == names.count - 1
      let gap = document.bytes[range.upperBound..<(isLast ? document.bytes.count : ranges[index + 1].name.lowerBound)]
      let separator = isLast ? nil : gap.firstIndex(of: UInt8(ascii: ","))
      if isCommaBehind, conflicts[name] == nil, let separator { writer.text(gap[...separator]) }
      writer.space(
        separator.map { gap[($0 + 1)...] } ?? gap, isRegionNext: !isLast && conflicts[names[index + 1]] != nil)
    }
    return writer.bytes
  }

  /// A member as the document spells it, or would.
  private func spelled(_ name: String, _ value: JSONValue, _ range: Range<Int>) -> [UInt8] {
    if document.value[name] == value { return Array(document.bytes[range]) }
    let changed = document.setting(name, to: value)
    let names = changed.value.objectValue?.names ?? []
    guard let place = names.firstIndex(where: { $0.utf8.elementsEqual(name.utf8) }) else { return [] }
    let ranges = changed.memberRanges[place]
    return Array(changed.bytes[ranges.name.lowerBound..<ranges.value.upperBound])
  }

  private var lineEnd: [UInt8] {
    guard let feed = document.bytes.firstIndex(of: UInt8(ascii: "\n")), feed > 0,
      document.bytes[feed - 1] == UInt8(ascii: "\r")
    else { return [UInt8(ascii: "\n")] }
    return Array("\r\n".utf8)
  }
}

/// Puts whole lines between the members of a text that may stand on one line.
private struct MarkerWriter {
  let lineEnd: [UInt8]
  private(set) var bytes: [UInt8] = []
  /// What stands before a member on its line.
  private(set) var indent: [UInt8] = []
  private var isBehindRegion = false

  init(lineEnd: [UInt8]) { self.lineEnd = lineEnd }

  mutating func text(_ text: ArraySlice<UInt8>) {
    bytes += text
    isBehindRegion = false
  }

  mutating func region(_ region: [UInt8]) {
    bytes += region
    isBehindRegion = true
  }

  /// Writes what stands between two members, or before the first or behind the last.
  mutating func space(_ space: ArraySlice<UInt8>, isRegionNext: Bool) {
    var space = space
    if isBehindRegion {  // The region has ended its line.
      let blanks = space.prefix { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
      if space.dropFirst(blanks.count).first == UInt8(ascii: "\n") { space = space.dropFirst(blanks.count + 1) }
    }
    guard isRegionNext else {
      bytes += space
      isBehindRegion = false
      return
    }
    if let feed = space.lastIndex(of: UInt8(ascii: "\n")),
      space[(feed + 1)...].allSatisfy({ $0 == 0x20 || $0 == 0x09 })
    {
      bytes += space[...feed]
      indent = Array(space[(feed + 1)...])
    } else if isBehindRegion {
      indent = Array(space)
    } else {
      var text = Array(space)
      while text.last == 0x20 || text.last == 0x09 { text.removeLast() }
      bytes += text + lineEnd
      indent = Array("  ".utf8)
    }
  }
}
