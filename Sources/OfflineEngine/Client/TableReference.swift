import LosslessJSON
import SupabaseAPI

/// A table of the project, as the start of a request.
public struct TableReference: Sendable {
  let client: OfflineClient
  let schema: String
  let table: String

  // MARK: Writing

  /// Inserts a row, or a list of rows in one write.
  ///
  /// - Parameters:
  ///   - row: The row, or an array of rows; columns the type leaves out take their defaults.
  ///   - mutationStrategy: Whether the write may wait for a connection.
  ///   - defaultToNull: Whether a column that some rows of a list leave out becomes null there, rather than its default.
  public func insert(
    _ row: some Encodable & Sendable, mutationStrategy: MutationStrategy = .queueIfOffline, defaultToNull: Bool = true
  ) -> WriteBuilder {
    writing(.insert, encoding(row), mutationStrategy) { $0.takesDefaults = !defaultToNull }
  }

  /// Inserts a row written as JSON, or a list of rows.
  public func insert(
    _ row: OfflineJSON, mutationStrategy: MutationStrategy = .queueIfOffline, defaultToNull: Bool = true
  ) -> WriteBuilder {
    writing(.insert, .success(row), mutationStrategy) { $0.takesDefaults = !defaultToNull }
  }

  /// Inserts a row, or sets the columns of the row that is there already; or a list of rows.
  ///
  /// - Parameters:
  ///   - row: The row, or an array of rows.
  ///   - onConflict: The unique columns, by commas, that decide which row is there already; `nil` for the primary key.
  ///   - ignoreDuplicates: Whether a row that is there already is left as it is.
  ///   - defaultToNull: Whether a column that some rows of a list leave out becomes null there, rather than its default.
  ///   - mutationStrategy: Whether the write may wait for a connection.
  public func upsert(
    _ row: some Encodable & Sendable, onConflict: String? = nil, ignoreDuplicates: Bool = false,
    defaultToNull: Bool = true, mutationStrategy: MutationStrategy = .queueIfOffline
  ) -> WriteBuilder {
    upserting(encoding(row), onConflict, ignoreDuplicates, defaultToNull, mutationStrategy)
  }

  /// Inserts or updates a row written as JSON, or a list of rows.
  public func upsert(
    _ row: OfflineJSON, onConflict: String? = nil, ignoreDuplicates: Bool = false, defaultToNull: Bool = true,
    mutationStrategy: MutationStrategy = .queueIfOffline
  ) -> WriteBuilder {
    upserting(.success(row), onConflict, ignoreDuplicates, defaultToNull, mutationStrategy)
  }

  /// Sets columns of the rows that the conditions behind it choose; what the type encodes as null is cleared.
  public func update(
    _ values: some Encodable & Sendable, mutationStrategy: MutationStrategy = .queueIfOffline
  ) -> WriteBuilder {
    writing(.update, encoding(values), mutationStrategy)
  }

  /// Sets columns, written as JSON values, of the rows that the conditions behind it choose.
  public func update(
    _ values: [String: OfflineJSON], mutationStrategy: MutationStrategy = .queueIfOffline
  ) -> WriteBuilder {
    let members = values.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    return writing(.update, .success(.object(JSONObject(members))), mutationStrategy)
  }

  /// Deletes the rows that the conditions behind it choose.
  public func delete(mutationStrategy: MutationStrategy = .queueIfOffline) -> WriteBuilder {
    writing(.delete, nil, mutationStrategy)
  }

  private func upserting(
    _ body: Result<OfflineJSON, OfflineError>, _ onConflict: String?, _ ignoreDuplicates: Bool, _ defaultToNull: Bool,
    _ strategy: MutationStrategy
  ) -> WriteBuilder {
    writing(.upsert, body, strategy) { builder in
      builder.conflictColumns = onConflict?.withoutBlanks.split(separator: ",").map(String.init) ?? []
      builder.ignoresDuplicates = ignoreDuplicates
      builder.takesDefaults = !defaultToNull
    }
  }

  private func writing(
    _ operation: MutationOperation, _ body: Result<OfflineJSON, OfflineError>?, _ strategy: MutationStrategy,
    _ change: (inout WriteBuilder) -> Void = { _ in }
  ) -> WriteBuilder {
    var builder = WriteBuilder(
      client: client, schema: schema, table: table, operation: operation, body: body, strategy: strategy)
    change(&builder)
    return builder
  }

  private func encoding(_ value: some Encodable) -> Result<OfflineJSON, OfflineError> {
    Result { () throws(OfflineError) in try RowCoding.json(value) }
  }
}
