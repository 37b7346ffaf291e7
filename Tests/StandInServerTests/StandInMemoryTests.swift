import LosslessJSON
import StandInServer
import Testing

@Suite("A memory that stand-ins use one after another")
struct StandInMemoryTests {
  private func ask(_ server: StandIn, _ method: String, _ query: String, _ body: String = "") -> (Int, String) {
    let answer = server.answer(
      StandInRequest(
        method: method, target: "/rest/v1/tasks\(query)",
        fields: [
          ("Host", "127.0.0.1"), ("apikey", server.serviceKey), ("Content-Type", "application/json"),
          ("Prefer", "return=representation"),
        ], body: Array(body.utf8)))
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  @Test("is empty for the next, whatever the one before wrote, and undoes what is refused as any other does")
  func isEmptyAgain() throws {
    let memory = try StandInMemory()
    let row = """
      {"id": "00000000-0000-4000-8000-000000000001", "user_id": "00000000-0000-4000-8000-000000000009", "title": "Milk"}
      """
    for _ in 0..<2 {
      var configuration = StandInConfiguration()
      configuration.memory = memory
      let server = try StandIn(configuration)
      #expect(ask(server, "GET", "?select=title") == (200, "[]"))
      #expect(ask(server, "POST", "?select=title", row) == (201, #"[{"title":"Milk"}]"#))
      #expect(ask(server, "POST", "?select=title", "[\(row)]").0 == 409)
      #expect(ask(server, "GET", "?select=title") == (200, #"[{"title":"Milk"}]"#))
      try memory.clear()
    }
  }
}
