import OfflineEngine

extension Doctor {
  /// What to look at where a table's row-level policies forbade writes; `nil` where none did.
  ///
  /// The server says neither which policy it was nor, of an update or delete that matched no row, that it was one at all
  /// (it answers 200 and no rows), so every policy that can be meant is named.
  static func policies(_ rejected: [RejectedMutation], table: String) -> DoctorCheck? {
    let forbidden = rejected.filter {
      $0.write.table == table && $0.isRetryable && ($0.serverError.map { $0.code == "42501" } ?? true)
    }
    let meant = MutationOperation.allCases.compactMap { operation -> String? in
      let count = forbidden.count { $0.write.operation == operation }
      return count == 0 ? nil : "\(count) \(operation.rawValue.lowercased()): \(policies(for: operation))"
    }
    guard !meant.isEmpty else { return nil }
    return DoctorCheck(
      "policies of \(table)", .trouble,
      "they forbid what was tried with \(meant.joined(separator: "; ")). 'tidemark rejected' lists the writes; once the "
        + "policies are mended, 'tidemark retry' sends them again")
  }

  private static func policies(for operation: MutationOperation) -> String {
    switch operation {
    case .insert: "look at the insert policy (with check), and at the select policy, which must show the new row"
    case .upsert: "look at the insert and update policies (using, with check), and at the select policy"
    case .update:
      "look at the update policy (using, with check), and at the select policy, which must show the row after it"
    case .delete: "look at the delete policy (using), and at the select policy"
    }
  }
}
