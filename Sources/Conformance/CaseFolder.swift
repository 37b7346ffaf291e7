import Foundation
import LosslessJSON

/// A folder of recorded cases: `*.jsonl` with a case a line, `tokens.json`, and perhaps `gaps.json`.
struct CaseFolder {
  /// Why a folder cannot be used.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  let path: String
  /// The names of its files without their endings, sorted.
  let topics: [String]
  /// Why cases cannot be met, by their names.
  let gaps: [String: String]
  private let tokens: JSONValue

  /// The secret of every recorded server.
  static let secret = Array("super-secret-jwt-token-with-at-least-32-characters-long".utf8)

  init(_ path: String) throws {
    self.path = path
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
      throw Failure(description: "the folder '\(path)' cannot be read")
    }
    topics = names.filter { $0.hasSuffix(".jsonl") }.map { String($0.dropLast(6)) }.sorted()
    guard !topics.isEmpty else { throw Failure(description: "the folder '\(path)' holds no .jsonl file") }
    tokens = names.contains("tokens.json") ? try Self.json("\(path)/tokens.json") : .object([:])
    var gaps: [String: String] = [:]
    if names.contains("gaps.json") {
      for (name, reason) in try Self.json("\(path)/gaps.json").objectValue ?? [:] { gaps[name] = reason.stringValue }
    }
    self.gaps = gaps
  }

  /// The cases of a topic.
  func cases(of topic: String) throws -> [RecordedCase] {
    let file = "\(path)/\(topic).jsonl"
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
      throw Failure(description: "'\(file)' cannot be read")
    }
    var cases: [RecordedCase] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    where !line.allSatisfy(\.isWhitespace) {
      do {
        cases.append(
          RecordedCase(value: try JSONValue(parsing: String(line)), tokens: tokens, secret: Self.secret))
      } catch {
        throw Failure(description: "\(file):\(index + 1): \(error.message)")
      }
    }
    return cases
  }

  /// The database that the folder was recorded on, if it says so.
  var databaseSchema: String? { try? String(contentsOfFile: "\(path)/schema.sql", encoding: .utf8) }

  private static func json(_ path: String) throws -> JSONValue {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw Failure(description: "'\(path)' cannot be read")
    }
    do {
      return try JSONValue(parsing: text)
    } catch {
      throw Failure(description: "\(path): \(error.message)")
    }
  }
}
