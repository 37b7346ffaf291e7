/// A way into a JSON value, one name or place in an array a step: `["collections", 0, "folder"]`.
public struct JSONPath: Sendable, Hashable, ExpressibleByArrayLiteral {
  /// One step.
  public enum Step: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    /// To the value of a member.
    case name(String)
    /// To an element, counted from 0.
    case index(Int)

    /// Makes a step to a member's value.
    public init(stringLiteral value: String) { self = .name(value) }

    /// Makes a step to an element.
    public init(integerLiteral value: Int) { self = .index(value) }
  }

  /// The steps from the top-level value.
  public var steps: [Step]

  /// Makes a path of steps.
  public init(_ steps: [Step] = []) { self.steps = steps }

  /// Makes a path of steps.
  public init(arrayLiteral elements: Step...) { steps = elements }

  /// Returns the path one member further.
  public func appending(_ name: String) -> JSONPath { JSONPath(steps + [.name(name)]) }

  /// Returns the path one element further.
  public func appending(_ index: Int) -> JSONPath { JSONPath(steps + [.index(index)]) }
}

extension JSONDocument {
  /// Which part of a member a position means.
  public enum Part: Sendable {
    /// The name's opening quote; the value where the last step is into an array.
    case name
    /// The beginning of the value.
    case value
  }

  /// Returns where a value (or the name of the last member on the path) stands, or nil where the path leads nowhere.
  ///
  /// Walks over the text again, since places are asked for only to report a mistake.
  public func position(at path: JSONPath, _ part: Part = .value) -> JSONPosition? {
    bytes.withUnsafeBufferPointer { buffer in
      var walker = JSONWalker(buffer)
      var current = value
      var target = walker.offset
      for (number, step) in path.steps.enumerated() {
        switch (step, current) {
        case (.name(let name), .object(let object)):
          guard let place = object.members.firstIndex(where: { sameBytes($0.name, name) }) else { return nil }
          let span = walker.members()[place]
          let wantsName = part == .name && number == path.steps.count - 1
          target = wantsName ? span.name.lowerBound : span.value.lowerBound
          walker = JSONWalker(buffer, at: target)
          current = object.members[place].value
        case (.index(let index), .array(let elements)):
          guard elements.indices.contains(index), walker.enterElement(index) else { return nil }
          target = walker.offset
          current = elements[index]
        default:
          return nil
        }
      }
      var finder = PositionFinder(buffer)
      return finder.position(of: target)
    }
  }

  /// Makes an error of one's own about a place in this text, with its line.
  ///
  /// - Parameters:
  ///   - message: What was found and what was expected.
  ///   - path: The value that the error is about; the whole text where the path leads nowhere.
  ///   - part: The member's name, or its value.
  /// - Returns: An error of the kind `unexpected`.
  public func error(_ message: String, at path: JSONPath, _ part: Part = .value) -> JSONError {
    JSONError(.unexpected, message, at: position(at: path, part)?.offset ?? body.lowerBound, in: bytes)
  }
}
