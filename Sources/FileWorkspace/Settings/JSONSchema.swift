import LosslessJSON

/// The dialect that all common editors know.
private let dialect: JSONValue = "http://json-schema.org/draft-07/schema#"

/// Members that are a person's own.
private let notes: JSONValue = ["^\\$": true]

extension CollectionSettings {
  /// The JSON Schema of the collection's files.
  ///
  /// What it refuses, the codec refuses too; the codec alone knows a leap year or a row that exists already.
  public var fileSchema: JSONValue {
    var properties = JSONObject()
    for column in columns { properties[column.name] = .object(column.schema(isKey: isKey(column.name))) }
    var schema: JSONObject = [
      "$schema": dialect, "title": .string(folder), "description": .string("A row of the table \(table)."),
      "type": "object", "properties": .object(properties), "patternProperties": notes, "additionalProperties": false,
    ]
    let required = editableColumns.filter(\.isRequired).map { JSONValue.string($0.name) }
    if !required.isEmpty {
      // In the file of a row that exists an absent member says nothing.
      schema["anyOf"] = [
        ["required": .array(key.map(JSONValue.string))], ["required": .array(required)],
      ]
    }
    return .object(schema)
  }
}

extension CollectionColumn {
  fileprivate func schema(isKey: Bool) -> JSONObject {
    var schema: JSONObject = [:]
    if let name = type.schemaTypeName {
      schema["type"] = isRequired && !isKey && !isReadOnly ? .string(name) : [.string(name), "null"]
    } else if isRequired, !isKey, !isReadOnly {
      schema["not"] = ["type": "null"]
    }
    for (name, value) in type.schemaBounds { schema[name] = value }
    var sentences: [String] = []
    if isKey { sentences.append("The key. Leave it out in a new file: it is made by itself.") }
    if isReadOnly {
      sentences.append("Only shown; the server sets it.")
      schema["readOnly"] = true
    }
    sentences.append("Expected: \(RowFile.expectation(of: type)).")
    schema["description"] = .string(sentences.joined(separator: " "))
    return schema
  }
}

extension ColumnType {
  fileprivate var schemaTypeName: String? {
    switch self {
    case .uuid, .text, .date, .timestamp: "string"
    case .boolean: "boolean"
    case .integer: "integer"
    case .number: "number"
    case .json: nil
    }
  }

  fileprivate var schemaBounds: JSONObject {
    switch self {
    case .uuid: ["pattern": "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"]
    case .date: ["pattern": "^([0-9]{4,6}-[0-9]{2}-[0-9]{2}( BC)?|-?infinity)$"]
    case .timestamp:
      ["pattern": "^([0-9]{4,6}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}[0-9:.+Zz-]*( BC)?|-?infinity)$"]
    case .integer: ["minimum": .integer(.min), "maximum": .integer(.max)]
    case .text, .boolean, .number, .json: [:]
    }
  }
}

extension WorkspaceSettings {
  /// The JSON Schema of tidemark.json.
  public static let schema: JSONValue = [
    "$schema": dialect, "title": "tidemark.json", "description": "The settings of a Tidemark workspace.",
    "type": "object",
    "properties": [
      "server": serverSchema,
      "collections": [
        "description": "The tables that are mirrored, and their folders.", "type": "array", "minItems": 1,
        "items": collectionSchema,
      ],
      "live": [
        "type": "boolean", "description": "Whether the server tells changes as they are made.", "default": true,
      ],
      "git": [
        "description": "Whether a watcher commits rows' files and photos to git, and after how many quiet seconds.",
        "type": "object",
        "properties": [
          "autocommit": ["type": "boolean", "default": false],
          "quiet": number("Seconds without a change before a commit.", quietBounds, standard: 10),
        ],
        "required": ["autocommit"], "patternProperties": notes, "additionalProperties": false,
      ],
      "pullEvery": number("Seconds between two pulls of a watcher.", pullEveryBounds, standard: 2),
      "settle": number(
        "Milliseconds that a file must be left alone before it counts as saved.", settleBounds, standard: 50),
      "deleteAfter": number(
        "Seconds that a file must be gone before its row is deleted while watching.", deleteAfterBounds, standard: 10),
      "conflicts": policies(ConflictPolicy.general, "What happens where two people changed the same thing.", "hold"),
    ],
    "required": ["server", "collections"], "patternProperties": notes, "additionalProperties": false,
  ]

  private static let serverSchema: JSONValue = {
    let address = "^[hH][tT][tT][pP][sS]?://"
    var members: JSONObject = [
      "url": text("The project's address.", pattern: address),
      "key": text("The publishable (or anon) key; secret keys are refused.", pattern: "^(?!sb_secret_)[!-~]+$"),
      "rest": text("The tables' address where it is not the project's; alone for a PostgREST alone.", pattern: address),
    ]
    for service in ServerSettings.Service.allCases where service != .rest {
      members[service.rawValue] = [
        "description": "The service's address where it is not the project's; null where there is none.",
        "type": ["string", "null"], "pattern": .string(address),
      ]
    }
    guard case .object(var schema) = object("The Supabase project.", members, required: []) else { return .null }
    schema["required"] = nil
    schema["anyOf"] = [["required": ["url", "key"]], ["required": ["rest"], "not": ["required": ["url"]]]]
    return .object(schema)
  }()

  private static let collectionSchema = object(
    "A table and the folder it is mirrored into.",
    [
      "folder": text("The folder, directly in the workspace.", pattern: folderPattern),
      "table": text("The table.", pattern: blankless),
      "key": [
        "description": "The key's column, or several.",
        "anyOf": [
          ["type": "string", "pattern": .string(blankless)],
          [
            "type": "array", "items": ["type": "string", "pattern": .string(blankless)], "minItems": 1,
            "uniqueItems": true,
          ],
        ],
      ],
      "keyMadeBy": [
        "description": "Who makes the key of a new row; with \"server\" its file must say it.",
        "enum": words(CollectionSettings.KeyMaker.allCases.map(\.rawValue)),
        "default": "device",
      ],
      "version": optionalText("A column that every update moves; without one the last write wins."),
      "cursor": optionalText("A column of a server time, by which changes are fetched."),
      "name": optionalText("The column that names the files."),
      "columns": [
        "description": "What the files show, in order.", "type": "array", "minItems": 1, "items": columnSchema,
      ],
      "where": [
        "description": "Conditions that rows must meet, such as {\"archived\": false}.", "type": "object",
        "patternProperties": notes, "additionalProperties": ["anyOf": [scalar, comparisons]],
      ],
      "photos": photosSchema,
      "conflicts": policies(
        ConflictPolicy.general, "What happens in this collection where two people changed the same thing.", nil),
    ], required: ["folder", "table", "key", "columns"])

  private static let photosSchema: JSONValue = {
    let only = { (name: String, schema: JSONValue) in object("A bound.", [name: schema], required: [name]) }
    let schema = object(
      "Where the rows' photos lie: those of tasks/a.json in the subfolder a, which follows a file that is renamed.",
      [
        "folder": text("A folder, directly in the workspace.", pattern: folderPattern),
        "table": text("The table with a row for each photo; without one nothing is sent.", pattern: blankless),
        "bucket": text("The bucket of the photos' bytes.", pattern: "^[^/]*[^/ ][^/]*$"),
        "row": text("The column of that table with the key of a photo's row.", pattern: blankless),
        "download": [
          "description": "Which photos come down by themselves.",
          "anyOf": [
            ["enum": ["all", "none"]],
            only("newest", wholeNumber("So many of the newest of each row.", PhotosSettings.newestBounds)),
            only("upTo", wholeNumber("Those of at most so many bytes.", PhotosSettings.upToBounds)),
          ],
        ],
        "newFolders": [
          "description": "What a folder without a row means: 'hold' waits, 'add' makes a row of that name.",
          "enum": words(PhotosSettings.NewFolders.allCases.map(\.rawValue)), "default": "hold",
        ],
        "prepare": object(
          "What is done to a copy before it is sent; the file itself is never altered.",
          [
            "stripLocation": ["description": "Leave out the place.", "type": "boolean", "default": false],
            "longestEdge": wholeNumber("Make larger images smaller, in pixels.", PhotosSettings.longestEdgeBounds),
            "heicToJPEG": ["description": "Send HEIC as JPEG.", "type": "boolean", "default": false],
          ], required: []),
        "ignore": [
          "description": "Names that are no photos, with * for any characters and ? for one.", "type": "array",
          "items": ["type": "string", "pattern": .string(blankless)],
        ],
      ], required: ["folder"])
    guard case .object(var members) = schema else { return schema }
    members["dependencies"] = .object(
      JSONObject(PhotosSettings.names.dropFirst(2).map { (name: $0, value: ["table"]) }))
    return .object(members)
  }()

  private static func wholeNumber(_ description: String, _ bounds: ClosedRange<Int64>) -> JSONValue {
    [
      "description": .string(description), "type": "integer", "minimum": .integer(bounds.lowerBound),
      "maximum": .integer(bounds.upperBound),
    ]
  }

  private static let folderPattern = "^[^./\\\\#][^/\\\\]*$"

  private static let columnSchema: JSONValue = {
    let types = ColumnType.allCases.map(\.rawValue)
    let pattern = "^ *[^$ ][^ ]* +(\(types.joined(separator: "|")))( +required| +read-only)* *$"
    let completions = types.map { JSONValue.string("name \($0)") }
    return [
      "anyOf": [
        ["type": "string", "pattern": .string(pattern), "examples": .array(completions)],
        columnObject([ColumnType.text.rawValue], ConflictPolicy.allCases),
        columnObject(types.filter { $0 != ColumnType.text.rawValue }, ConflictPolicy.general),
      ]
    ]
  }()

  private static func columnObject(_ types: [String], _ conflicts: [ConflictPolicy]) -> JSONValue {
    object(
      "A column.",
      [
        "name": text("The column's name.", pattern: "^[^$]"),
        "type": ["enum": words(types)],
        "required": ["description": "Whether a new row needs it.", "type": "boolean"],
        "readOnly": ["description": "Whether it is only shown.", "type": "boolean"],
        "conflicts": policies(conflicts, "What happens where two people changed this column.", nil),
      ], required: ["name", "type"])
  }

  private static let scalar: JSONValue = ["type": ["string", "number", "boolean", "null"]]

  private static let comparisons: JSONValue = {
    var properties = JSONObject()
    for comparison in RowCondition.Comparison.allCases {
      switch comparison {
      case .eq, .neq: properties[comparison.rawValue] = scalar
      case .lt, .lte, .gt, .gte: properties[comparison.rawValue] = ["type": ["string", "number", "boolean"]]
      case .in:
        properties[comparison.rawValue] = [
          "type": "array", "items": ["type": ["string", "number", "boolean"]], "minItems": 1,
        ]
      }
    }
    return [
      "type": "object", "properties": .object(properties), "patternProperties": notes, "additionalProperties": false,
      "minProperties": 1,
    ]
  }()

  // MARK: Parts

  private static let blankless = "\\S"

  private static func object(_ description: String, _ properties: JSONObject, required: [String]) -> JSONValue {
    [
      "description": .string(description), "type": "object", "properties": .object(properties),
      "required": words(required), "patternProperties": notes, "additionalProperties": false,
    ]
  }

  private static func text(_ description: String, pattern: String) -> JSONValue {
    ["description": .string(description), "type": "string", "pattern": .string(pattern)]
  }

  private static func optionalText(_ description: String) -> JSONValue {
    ["description": .string(description), "type": ["string", "null"], "pattern": .string(blankless)]
  }

  private static func number(_ description: String, _ bounds: ClosedRange<Double>, standard: Int64) -> JSONValue {
    let value = { (bound: Double) in JSONNumber(bound).map(JSONValue.number) ?? .null }
    return [
      "description": .string(description), "type": "number", "minimum": value(bounds.lowerBound),
      "maximum": value(bounds.upperBound), "default": .integer(standard),
    ]
  }

  private static func policies(_ policies: [ConflictPolicy], _ description: String, _ standard: String?) -> JSONValue {
    let meanings = policies.map { policy in
      switch policy {
      case .hold: "'hold' keeps both side by side"
      case .mine: "'mine' sends this replica's"
      case .theirs: "'theirs' keeps the server's"
      case .merge: "'merge' merges the lines of both"
      }
    }
    var schema: JSONObject = [
      "description": .string("\(description) \(meanings.joined(separator: ", "))."),
      "enum": words(policies.map(\.rawValue)),
    ]
    if let standard { schema["default"] = .string(standard) }
    return .object(schema)
  }

  private static func words(_ words: [String]) -> JSONValue { .array(words.map(JSONValue.string)) }
}
