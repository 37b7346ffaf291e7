import LosslessJSON
import SQLite

extension FunctionArguments {
  /// The values of a function's arguments, read by their types.
  func values(for function: StoredFunction, now: Timestamp) throws -> [String: SQLiteValue] {
    var found: [String: SQLiteValue] = [:]
    for argument in function.arguments {
      if argument.name.isEmpty {
        found["1"] = try whole(argument.type, now: now)
      } else if let value = try value(of: argument, now: now) {
        found[argument.name] = value
      } else {
        switch argument.defaultValue {
        case .literal(let text): found[argument.name] = try argument.type.stored(text, now: now)
        case .null, nil: found[argument.name] = .null
        }
      }
    }
    return found
  }

  private func whole(_ type: ColumnType, now: Timestamp) throws -> SQLiteValue {
    switch values {
    case .text(let text): return try type.stored(text, now: now)
    case .object(_, let document): return try type.stored(document.serialized(), now: now)
    case .texts: return .null
    }
  }

  private func value(of argument: StoredFunction.Argument, now: Timestamp) throws -> SQLiteValue? {
    guard names.contains(argument.name) else { return nil }
    switch values {
    case .text: return nil
    case .object(let object, _): return try argument.type.stored(object[argument.name] ?? .null, now: now)
    case .texts(let given):
      let texts = given.filter { $0.name == argument.name }.map(\.value)
      guard let last = texts.last else { return .null }
      guard argument.isVariadic else { return try argument.type.stored(last, now: now) }
      return try argument.type.stored(JSONValue.array(texts.map(JSONValue.string)), now: now)
    }
  }
}
