import LosslessJSON
import OfflineEngine

/// A path as it was read just now.
struct PathReading: Sendable {
  var path: String
  /// What it says.
  var file: FileReading
  /// The bytes and status, where a file could be read.
  var content: FileContent?
  /// The parsed file, where it could be parsed.
  var row: RowFile?
  /// Why it could not be taken.
  var problem: Problem?
  /// Whether the file holds nothing: a new one takes its title from its name, a known one is in trouble.
  var isEmpty = false
  /// Whether the file moved while it was read.
  var isUnsteady = false
  /// The row for which the path was chosen just now, since nothing is known to have it.
  var newRow: OverlaidRow?
}

extension Workspace {
  /// Whether a file says what it said when it was last read or written: a time alone makes no other file of it.
  private func isKnown(_ hash: ContentHash, at path: String) -> Bool {
    let seen = try? client.read { try Mirror($0).entry(path: path)?.seen }
    return seen.flatMap { $0 }?.hash == hash
  }

  func read(_ path: String, _ collection: Collection) -> PathReading {
    var reading = PathReading(path: path, file: .absent)
    func fail(_ message: String, line: Int? = nil, column: Int? = nil) -> PathReading {
      reading.file = .unreadable
      reading.problem = Problem(path: path, line: line, column: column, message: message, since: now)
      return reading
    }
    let content: FileContent
    do throws(FileSystemError) {
      guard let status = try files.status(path) else { return reading }
      guard status.kind == .file else {
        return fail("this is \(status.kind.phrase), not a regular file; it is left alone")
      }
      content = try files.read(path, bytesMax: RowFile.bytesMax)
    } catch .absent {
      return reading
    } catch .changedWhileReading {
      reading.file = .unreadable
      reading.isUnsteady = true
      return reading
    } catch {
      return fail("\(error)")
    }
    guard !content.status.isMarkedUnfinished || isKnown(content.hash, at: path) else {
      return fail(
        "this file is still being copied, or its copy was interrupted: its time is 1970, by which copy tools mark a file "
          + "that is not whole. Copy it again, or 'touch' it to take it as it is")
    }
    reading.content = content
    do throws(RowFileProblem) {
      let row = try RowFile.read(content.bytes, collection.settings)
      reading.row = row
      reading.isEmpty = row.isEmpty
      reading.file = .row(FileRow(values: row.values, key: row.key.map(RowKey.init)))
    } catch {
      return fail(error.message, line: error.position.line, column: error.position.column)
    }
    return reading
  }
}
