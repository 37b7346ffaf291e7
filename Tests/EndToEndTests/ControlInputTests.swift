import Foundation
import Testing

@Suite("What comes over the control socket", .timeLimit(.minutes(5)))
struct ControlInputTests {
  /// Sends requests of every command with arguments of every kind, and bytes that are no requests.
  private static let script = #"""
    import json, random, socket, sys
    draw = random.Random(int(sys.argv[2]))
    commands = ["status", "sync", "confirm", "live", "add", "done", "discard", "retry", "dismiss", "resolve", "resolve-merged",
      "restore", "undo", "photos-get", "photos-retry", "photos-info", "photos-share", "login", "verify", "none", ""]
    names = ["path", "paths", "entry", "key", "title", "folder", "done", "mine", "merged", "name", "entries", "added",
      "seconds", "width", "session", "on"]
    values = ["tasks/a.json", "../../out", "/etc/passwd", "", "\0", "a" * 5000, 0, -1, 2**63 - 1, -2**63, 1e308, 2**70, True,
      None, [], {}, ["tasks/a.json"], [1], "x\ny",
      {"access_token": "a", "refresh_token": "b", "expires_at": 2**63 - 1, "user": {"id": "x"}}]
    for number in range(int(sys.argv[3])):
      line = bytes(draw.randrange(256) for _ in range(draw.randrange(60)))
      if draw.random() < 0.85:
        arguments = {name: draw.choice(values) for name in draw.sample(names, draw.randrange(5))}
        line = json.dumps({"version": draw.choice([1, 1, 1, 1, 2, None]), "command": draw.choice(commands),
          "arguments": arguments if draw.random() < 0.95 else draw.choice(values)}).encode()
      with socket.socket(socket.AF_UNIX) as client:
        client.connect(sys.argv[1] + "/.tidemark/control")
        client.sendall(line + b"\n")
        while draw.random() > 0.1 and client.recv(65536): pass
    """#

  @Test("never ends a watcher, and reaches nothing outside of the workspace")
  func strange() async throws {
    let site = try await Site()
    let a = try await site.workspace("a", isFirst: true)
    try a.write("tasks/a.json", #"{"title": "a"}"#)
    let watcher = try await a.watch()
    try a.write("strange.py", Self.script)
    let client = try Program(shell: "exec /usr/bin/python3 strange.py '\(a.path)' 7 150", in: a.path)
    let done = await client.finished()
    #expect(done.status == 0, "\(done.errors)")
    #expect(try await a.run("status").errors == "")
    #expect(try FileManager.default.contentsOfDirectory(atPath: site.path).sorted() == ["a", "password", "server"])
    #expect(await watcher.stop().status == 0)
  }
}
