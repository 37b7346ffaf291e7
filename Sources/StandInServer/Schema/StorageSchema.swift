import LosslessJSON

/// The buckets that a stand-in begins with, and what users may do with the objects in buckets.
///
/// ```json
/// "storage": {
///   "buckets": {"photos": {"fileSizeLimit": 52428800, "allowedMimeTypes": ["image/*"], "isShown": true}},
///   "policies": [{"bucket": "photos", "actions": ["select", "insert"], "condition": "ownerFolder"}]
/// }
/// ```
struct StorageSchema: Sendable, Hashable {
  var buckets: [DeclaredBucket] = []
  /// As on a real project, what no policy allows is the service key's alone.
  var policies: [ObjectPolicy] = []
}

/// A bucket that is made when the data has none of its id.
struct DeclaredBucket: Sendable, Hashable {
  /// Its id and its name.
  let id: String
  let isPublic: Bool
  /// In bytes.
  let fileSizeLimit: Int64?
  /// Types such as `image/png` or `image/*`.
  let allowedMimeTypes: [String]?
  /// Whether a policy on `storage.buckets` lets signed-in users select its row.
  let isShown: Bool
}

/// A policy on the rows of `storage.objects`: any one that holds is enough.
struct ObjectPolicy: Sendable, Hashable {
  enum Action: String, Sendable, CaseIterable {
    case select, insert, update, delete
  }

  /// What must hold for an object.
  enum Condition: String, Sendable, CaseIterable {
    /// The first folder of the key is the caller's id: `(storage.foldername(name))[1] = auth.uid()::text`.
    case ownerFolder
    /// The caller uploaded it: `owner_id = auth.uid()::text`.
    case owner
    /// Nothing.
    case always
  }

  /// The bucket, or `nil` for all.
  let bucket: String?
  let actions: Set<Action>
  let condition: Condition
  let roles: Set<Role>
}

extension SchemaParser {
  static func storage(_ top: Members) throws(Mistake) -> StorageSchema {
    guard let value = top["storage"] else { return StorageSchema() }
    let path: JSONPath = ["storage"]
    let members = try Members(value, at: path, known: ["buckets", "policies"])
    var storage = StorageSchema()
    if members["buckets"] != nil {
      for (id, value) in try members.object("buckets") {
        storage.buckets.append(try bucket(id, value, at: path.appending("buckets").appending(id)))
      }
    }
    for (index, value) in try members.optionalArray("policies").enumerated() {
      storage.policies.append(try policy(value, at: path.appending("policies").appending(index)))
    }
    return storage
  }

  private static func bucket(
    _ id: String, _ value: JSONValue, at path: JSONPath
  ) throws(Mistake) -> DeclaredBucket {
    guard ObjectKey.isBucketName(id) else { throw Mistake(path: path, reason: "'\(id)' cannot name a bucket") }
    let members = try Members(value, at: path, known: ["public", "fileSizeLimit", "allowedMimeTypes", "isShown"])
    var types: [String]?
    if members["allowedMimeTypes"] != nil {
      types = []
      for (index, value) in try members.array("allowedMimeTypes").enumerated() {
        guard let type = value.stringValue else {
          throw Mistake(path: path.appending("allowedMimeTypes").appending(index), reason: "expected a string")
        }
        types?.append(type)
      }
    }
    let limit = try members.integer("fileSizeLimit")
    if let limit, limit < 1 { throw members.wrong("fileSizeLimit", "expected a positive number of bytes") }
    return DeclaredBucket(
      id: id, isPublic: try members.flag("public") ?? false, fileSizeLimit: limit, allowedMimeTypes: types,
      isShown: try members.flag("isShown") ?? false)
  }

  private static func policy(_ value: JSONValue, at path: JSONPath) throws(Mistake) -> ObjectPolicy {
    let members = try Members(value, at: path, known: ["bucket", "actions", "condition", "roles"])
    var actions: Set<ObjectPolicy.Action> = []
    for (index, value) in try members.array("actions").enumerated() {
      guard let action = value.stringValue.flatMap(ObjectPolicy.Action.init(rawValue:)) else {
        throw Mistake(
          path: path.appending("actions").appending(index), reason: "expected one of select, insert, update, delete")
      }
      actions.insert(action)
    }
    let word = try members.string("condition")
    guard let condition = ObjectPolicy.Condition(rawValue: word) else {
      throw members.wrong("condition", "unknown '\(word)'; it is one of ownerFolder, owner, always")
    }
    return ObjectPolicy(
      bucket: try members.optionalString("bucket"), actions: actions, condition: condition,
      roles: members["roles"] == nil ? [.authenticated] : try roles("roles", of: members, at: path))
  }
}
