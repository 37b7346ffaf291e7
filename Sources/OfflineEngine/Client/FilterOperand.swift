import FoundationEssentials
import LosslessJSON

/// A value that a column can be compared with.
public protocol FilterOperand: Sendable {
  /// The value as it is sent.
  var filterValue: OfflineJSON { get }
}

extension String: FilterOperand {
  /// The text.
  public var filterValue: OfflineJSON { .string(self) }
}

extension Bool: FilterOperand {
  /// The truth value.
  public var filterValue: OfflineJSON { .bool(self) }
}

extension Int: FilterOperand {
  /// The number.
  public var filterValue: OfflineJSON { .integer(Int64(self)) }
}

extension Int64: FilterOperand {
  /// The number.
  public var filterValue: OfflineJSON { .integer(self) }
}

extension Double: FilterOperand {
  /// The number; a text for what is no number in JSON.
  public var filterValue: OfflineJSON {
    JSONNumber(self).map { .number($0) } ?? .string(isNaN ? "NaN" : self < 0 ? "-Infinity" : "Infinity")
  }
}

extension UUID: FilterOperand {
  /// The identifier in lower case, as PostgreSQL writes it.
  public var filterValue: OfflineJSON { .string(uuidString.lowercased()) }
}

extension Date: FilterOperand {
  /// The time in UTC with its microseconds.
  public var filterValue: OfflineJSON { .string(RowCoding.text(self)) }
}

extension OfflineJSON: FilterOperand {
  /// The value itself.
  public var filterValue: OfflineJSON { self }
}
