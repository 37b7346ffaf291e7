import LosslessJSON

/// Comma-separated values (RFC 4180) as PostgREST reads them: the first line names the columns, `NULL` is null.
enum CSVText {
  static func rows(_ text: String) throws(RestError) -> [JSONObject] {
    var lines = try records(text)
    guard !lines.isEmpty else { return [] }
    let names = lines.removeFirst()
    var rows: [JSONObject] = []
    for line in lines {
      guard line.count == names.count else {
        throw RestError(400, "PGRST102", "All lines must have same number of fields")
      }
      rows.append(JSONObject(zip(names, line).map { (name: $0, value: $1 == "NULL" ? .null : .string($1)) }))
    }
    return rows
  }

  private static func records(_ text: String) throws(RestError) -> [[String]] {
    var records: [[String]] = []
    var record: [String] = []
    var field = String.UnicodeScalarView()
    var isQuoted = false
    var hasContent = false
    var scalars = text.unicodeScalars[...]
    func finishField() {
      record.append(String(field))
      field = String.UnicodeScalarView()
    }
    while let scalar = scalars.popFirst() {
      hasContent = true
      switch scalar {
      case "\"" where isQuoted:
        if scalars.first == "\"" {
          field.append(scalar)
          scalars.removeFirst()
        } else {
          isQuoted = false
        }
      case "\"" where field.isEmpty: isQuoted = true
      case _ where isQuoted: field.append(scalar)
      case ",": finishField()
      case "\r" where scalars.first == "\n": continue
      case "\n":
        finishField()
        records.append(record)
        record = []
        hasContent = false
      default: field.append(scalar)
      }
    }
    guard !isQuoted else { throw RestError(400, "PGRST102", "parse error (not enough input)") }
    if hasContent {
      finishField()
      records.append(record)
    }
    return records
  }
}
