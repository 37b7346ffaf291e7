import LosslessJSON

/// A JSON value as a caller writes and reads it: a literal, or one of its cases.
public typealias OfflineJSON = JSONValue
