extension FuzzTarget {
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
}
