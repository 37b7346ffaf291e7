import LosslessJSON

extension OfflineClient {
  /// Puts a row that the server has into the current user's cached lists: one that Realtime reported, or one that an
  /// online-only write gave back.
  ///
  /// Every list that holds the row shows it, and every list that it belongs to now takes it in. Queued writes keep the
  /// base they were made against, so that a change made elsewhere still shows as one.
  ///
  /// - Parameters:
  ///   - table: The table, as `schema.table` outside of the client's own schema.
  ///   - record: The row, with its key.
  public func applyServerRecord(table: String, record: some Encodable & Sendable) throws {
    try applyServerRecord(table: table, record: try object(record))
  }

  /// Puts a row that the server has, written as JSON values, into the current user's cached lists.
  public func applyServerRecord(table: String, record: [String: OfflineJSON]) throws {
    try applyServerRecord(table: table, record: object(record))
  }

  /// Takes a row that is gone from the server out of the current user's cached lists.
  ///
  /// - Parameters:
  ///   - table: The table, as `schema.table` outside of the client's own schema.
  ///   - record: The row, or its key columns alone.
  public func applyServerDelete(table: String, record: some Encodable & Sendable) throws {
    try applyServerDelete(table: table, record: try object(record))
  }

  /// Takes a row that is gone, written as JSON values, out of the current user's cached lists.
  public func applyServerDelete(table: String, record: [String: OfflineJSON]) throws {
    try applyServerDelete(table: table, record: object(record))
  }

  private func applyServerRecord(table: String, record: JSONObject) throws {
    let description = configuration.description(of: table)
    try changing(engine) { try $0.applyReported(description, record) }
  }

  private func applyServerDelete(table: String, record: JSONObject) throws {
    let description = configuration.description(of: table)
    try changing(engine) { try $0.applyReportedDelete(description, record) }
  }

  private func object(_ record: some Encodable) throws(OfflineError) -> JSONObject {
    guard let object = try RowCoding.json(record).objectValue else {
      throw .invalidRequest(reason: "the record is not an object")
    }
    return object
  }

  private func object(_ record: [String: OfflineJSON]) -> JSONObject {
    JSONObject(record.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) })
  }
}
