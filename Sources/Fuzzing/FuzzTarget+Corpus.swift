extension FuzzTarget {
  /// Bytes that mean something, to begin with.
  var corpus: [[UInt8]] {
    switch self {
    case .json: Self.jsonTexts.map { Array($0.utf8) }
    case .rows: Self.rowTexts.map { Array($0.utf8) }
    case .merges: Self.rowTexts.indices.dropLast(2).map { Self.parts(Array(Self.rowTexts[$0..<$0 + 3])) }
    case .names: Self.titles.map { Array($0.utf8) }
    case .settings: Self.settingsTexts.map { Array($0.utf8) }
    case .git: Self.repositories.map(Self.parts)
    case .photos: Self.pictures
    case .frames: Self.connections
    case .realtime: Self.conversations.map { Array($0.utf8) }
    case .answers: Self.serverAnswers.map { Array($0.utf8) }
    case .query: Self.queries.map { Array($0.utf8) }
    case .requests: Self.serverRequests.map { Array($0.utf8) }
    }
  }

  /// Texts with a byte between them that no text has.
  private static func parts(_ texts: [String]) -> [UInt8] {
    Array(texts.map { Array($0.utf8) }.joined(separator: [0xFF]))
  }

  static let jsonTexts = [
    #"{"id": "8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10", "title": "Buy oat milk", "notes": null, "done": false}"#,
    #"[1, -0, 1e5, 1.50, 123456789012345678901234567890, true, null, [[]], {"a": {"b": []}}]"#,
    "\u{FEFF}{\r\n  \"é\" : \"\\u00e9\\ud83d\\ude00\\n\"\r\n}\r\n", #""\"\\\/\b\f\n\r\t""#, "[[[[[[[[1]]]]]]]]",
    #"{"a":1,"a":2}"#, "NaN", "[1,]", "// no\n1", "\"\\ud800\"", "01", "", "  ", "{\"a\"",
  ]

  static let queries = [
    "tasks?select=id,title,done&order=updated_at.desc.nullslast,id&limit=2&offset=1",
    "tasks?id=eq.8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10&or=(title.like.*milk*,and(done.is.true,notes.not.is.null))",
    "tasks?title=in.(%22a%2Cb%22,c)&select=t:title,notes::text&done=neq.true",
    "tasks?or=(updated_at.gt.2026-01-01T00:00:00Z,and(updated_at.eq.2026-01-01,id.gt.1))", "tasks?select=count()",
    "tasks?title=fts(english).x&notes=match.%5Ea", "rpc/none?a=1", "nope?select=*", "?", "tasks?select=*,other(*)",
  ]

  /// Frames as clients and servers send them: a text, one in three pieces with a ping between, a close, a masked one.
  static let connections: [[UInt8]] = [
    [0x81, 0x05] + Array("hello".utf8), [0x01, 0x02, 0x68, 0x65, 0x89, 0x01, 0x78, 0x00, 0x01, 0x6C, 0x80, 0x01, 0x6F],
    [0x88, 0x02, 0x03, 0xE8], [0x81, 0x85, 1, 2, 3, 4, 0x69, 0x67, 0x6F, 0x68, 0x6E],
    [0x82, 0x7E, 0x01, 0x00] + Array(repeating: 9, count: 256), [0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0, 1, 5],
    [0x8A, 0x80, 0, 0, 0, 0], [0xC1, 0x00], [0x83, 0x00], [0x81, 0x02, 0xC3, 0x28],
  ]

  static let settingsTexts = [
    """
    {"server": {"url": "http://127.0.0.1:54321", "key": "k"}, "pullEvery": 30, "conflicts": "hold", "live": true,
     "collections": [{"folder": "tasks", "table": "tasks", "key": "id", "version": "updated_at", "cursor": "updated_at",
       "name": "title", "columns": ["id uuid", "title text required", "notes text", "done boolean"]}]}
    """,
    #"{"collections": [{"folder": "../out", "table": "t", "columns": ["id uuid"]}]}"#,
    #"{"server": {"url": "https://x.supabase.co"}, "collections": [{"folder": "a/b", "table": "b", "key": ["a", "b"], "where": {"a": 1}}]}"#,
    "{}", "[]", "",
  ]

  static let rowTexts = [
    #"{"id": "8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10", "title": "Buy oat milk", "notes": "one\ntwo\nthree", "done": false}"#,
    #"{"id": "8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10", "title": "Buy soy milk", "notes": "one\ntwo\nthree\nfour"}"#,
    "{\r\n  \"$schema\": \"x\",\r\n  \"title\" : \"Buy oat milk\",\r\n  \"notes\": \"zero\\none\\ntwo\"\r\n}\r\n",
    #"{"title": "x", "done": true, "title2": 1}"#, "\u{FEFF}{\"title\": \"\"}", "", "one\ntwo\n", "one\nTWO\n", "one\n",
    #"{"title": null}"#,
  ]

  static let titles = [
    "Buy oat milk", "  ../../.ssh/authorized_keys", "CON", "aux.json", "a\u{301}É👩‍👩‍👧ß", ".hidden", "x.mine",
    "x.mine.json",
    "x.problem.txt", String(repeating: "long ", count: 60), "tab\tand\nline", "~$x.json", "#x#", "8c1f0f0e-6a55-4a0c",
  ]

  static let repositories = [
    [
      "ref: refs/heads/main\n", "# pack-refs with: peeled\n0123456789abcdef refs/heads/main\n^01\n",
      "0 1 A <a@b> 1 +0\tcommit: x\n",
    ],
    ["0123456789abcdef0123456789abcdef01234567\n", "", "a\tcheckout: moving\n", "89ab\n", "../..\n", "0x1-0x2.ref\n"],
  ]

  static let conversations = [
    """
    {"topic":"realtime:tidemark","event":"phx_reply","ref":"1","payload":{"status":"ok","response":{"postgres_changes":[{"id":1}]}}}
    {"topic":"realtime:tidemark","event":"system","ref":null,"payload":{"extension":"postgres_changes","status":"ok","message":"Subscribed"}}
    {"topic":"realtime:tidemark","event":"postgres_changes","ref":null,"payload":{"ids":[1],"data":{"type":"UPDATE","table":"tasks","schema":"public","record":{"id":"1"},"old_record":{"id":"1"},"errors":null}}}
    {"topic":"phoenix","event":"phx_reply","ref":"2","payload":{"status":"ok"}}
    """,
    """
    {"topic":"realtime:a","event":"phx_join","ref":"1","join_ref":"1","payload":{"config":{"broadcast":{"ack":true,"self":true},"presence":{"key":"k","enabled":true},"postgres_changes":[{"event":"*","schema":"public","table":"tasks","filter":"title=eq.x"},{"event":"INSERT","schema":"public"}]}}}
    {"topic":"realtime:a","event":"broadcast","ref":"2","payload":{"event":"x","payload":{}}}
    {"topic":"realtime:a","event":"presence","ref":"3","payload":{"event":"track","payload":{"a":1}}}
    {"topic":"phoenix","event":"heartbeat","ref":"4","payload":{}}
    {"topic":"realtime:a","event":"access_token","ref":"5","payload":{"access_token":"x"}}
    {"topic":"realtime:a","event":"phx_leave","ref":"6","payload":{}}
    """,
    """
    ["1","1","realtime:a","phx_join",{"config":{"postgres_changes":[{"event":"UPDATE","schema":"public","table":"tasks","filter":"done=in.(true,false)"}]}}]
    ["1","2","realtime:a","broadcast",{"type":"broadcast","event":"x"}]
    [null,"3","phoenix","heartbeat",{}]
    """,
    #"{"topic":"realtime:tidemark","event":"phx_close","ref":"1","payload":{}}"#, "[]", "[1,2,3,4,5]", "{}",
  ]

  static let serverAnswers = [
    "200\nContent-Range: 0-0/1\nDate: Sun, 18 Oct 2026 13:00:27 GMT\n\n[{\"id\":\"1\"}]",
    "206\nContent-Range: */99999999999999999999\n\n[]", "200\nContent-Range: 5-1/-3\n\n[]",
    "503\nRetry-After: Sun, 18 Oct 2026 13:00:27 GMT\nDate: Sun, 06 Nov 1994 08:49:37 GMT\n\n{\"code\":\"PGRST002\"}",
    "429\nRetry-After: 99999999999999999999\n\n{}", "401\n\n{\"message\":\"Invalid API key\"}",
    "404\nProxy-Status: PostgREST; error=PGRST205\n\n", "200\n\n<html>", "413\n\n",
    "200\n\n{\"access_token\":\"a.e30.b\",\"refresh_token\":\"r\",\"expires_in\":9223372036854775807,\"user\":{\"id\":\"u\"}}",
    "200\n\neyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1IiwiZXhwIjoxZTQwMH0.x",
  ]

  static let serverRequests = [
    "POST /rest/v1/tasks?columns=id,title\nContent-Type: application/json\nPrefer: return=representation,missing=default\n\n[{\"title\":\"x\"}]",
    "PATCH /rest/v1/tasks?id=eq.1&updated_at=eq.2026-01-01\nContent-Type: application/json\n\n{\"title\":\"y\"}",
    "DELETE /rest/v1/tasks?id=in.(1,2)\nPrefer: count=exact\n\n",
    "GET /rest/v1/tasks\nRange: 0-9\nRange-Unit: items\nAccept: text/csv\n\n",
    "POST /rest/v1/tasks\nContent-Type: text/csv\n\nid,title\n1,\"a\"\"b\"\n", "POST /rest/v1/rpc/none\n\n{}",
    "POST /auth/v1/signup\nContent-Type: application/json\n\n{\"email\":\"a@b.c\",\"password\":\"secret\",\"data\":{}}",
    "POST /auth/v1/token?grant_type=refresh_token\n\n{\"refresh_token\":\"x\"}",
    "GET /auth/v1/user\nAuthorization: Bearer a.b.c\n\n",
    "POST /storage/v1/object/photos/a/b.png\nContent-Type: image/png\nx-upsert: true\n\nPNG",
    "POST /storage/v1/object/photos/c\nContent-Type: multipart/form-data; boundary=\"x\"\n\n--x\r\nContent-Disposition: form-data; name=\"\"; filename=\"c\"\r\nContent-Type: image/png\r\n\r\nbytes\r\n--x--\r\n",
    "POST /storage/v1/upload/resumable\nTus-Resumable: 1.0.0\nUpload-Length: 9223372036854775807\nUpload-Metadata: bucketName cGhvdG9z,objectName YQ==,contentType aW1hZ2UvcG5n\n\n",
    "POST /storage/v1/upload/resumable\nTus-Resumable: 1.0.0\nUpload-Length: 4\nUpload-Metadata: bucketName cGhvdG9z,objectName YQ==\nContent-Type: application/offset+octet-stream\n\nabcd",
    "PATCH /storage/v1/upload/resumable/cGhvdG9zL2EvMQ\nTus-Resumable: 1.0.0\nUpload-Offset: -1\nContent-Type: application/offset+octet-stream\n\nab",
    "GET /storage/v1/object/photos/a/b.png\nRange: bytes=-9223372036854775808,5-\nIf-None-Match: \"x\"\n\n",
    "POST /storage/v1/object/list/photos\n\n{\"prefix\":\"a\",\"limit\":-1,\"offset\":9223372036854775807,\"sortBy\":{\"column\":\"name\"}}",
    "POST /storage/v1/object/sign/photos\n\n{\"expiresIn\":9223372036854775807,\"paths\":[\"a/b.png\"]}",
    "POST /storage/v1/object/sign/photos/a/b.png\n\n{\"expiresIn\":9223372036854775807}",
    "GET /storage/v1/render/image/public/photos/a/b.png?width=99999999999&quality=-1\n\n",
    "OPTIONS /storage/v1/upload/resumable\n\n",
    "POST /storage/v1/bucket\n\n{\"name\":\"x\",\"file_size_limit\":\"9999999999GB\",\"public\":true}",
  ]

  /// A picture of one pixel in each of three formats, and what only begins as one.
  static let pictures: [[UInt8]] = [
    Array("GIF89a".utf8) + [
      1, 0, 1, 0, 0x80, 0, 0, 255, 255, 255, 0, 0, 0, 0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B,
    ],
    [
      0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 0x0D, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0, 0, 1, 8,
      6, 0, 0, 0,
      0x1F, 0x15, 0xC4, 0x89, 0, 0, 0, 0x0D, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9C, 0x63, 0xF8, 0xCF, 0xC0, 0xF0, 0x1F, 0,
      5, 0, 1,
      0xFF, 0x89, 0x99, 0x3D, 0x1D, 0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82,
    ],
    [0xFF, 0xD8, 0xFF, 0xE1, 0, 0x22] + Array("Exif\0\0MM\0*".utf8) + [
      0, 0, 0, 8, 0, 1, 0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 0, 8,
    ]
      + [0, 0, 0, 0, 0xFF, 0xDA, 0, 2, 0, 0xFF, 0xD9],
    Array("RIFF".utf8) + [0x1A, 0, 0, 0] + Array("WEBPVP8L".utf8) + [
      0x0D, 0, 0, 0, 0x2F, 0, 0, 0, 0x10, 7, 0x10, 0x11, 0x11, 0x88, 0x88, 0xFE, 7, 0,
    ],
    [0, 0, 0, 0x18] + Array("ftypheic".utf8) + [0, 0, 0, 0] + Array("mif1heic".utf8) + [0, 0, 0, 8] + Array("meta".utf8)
      + [0, 0, 0, 0] + Array("mdat".utf8),
  ]
}
