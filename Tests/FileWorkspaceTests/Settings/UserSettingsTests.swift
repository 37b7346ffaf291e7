import LosslessJSON
import Testing

@testable import FileWorkspace

@Suite("The settings of one person")
struct UserSettingsTests {
  @Test("a merge tool is a program with its words, and files in the places of their names")
  func mergeTool() throws {
    let text = #"{"$note": 1, "mergeTool": ["meld", "$MINE", "--base=$BASE", "$THEIRS", "-o", "$MERGED", "5$", "a$b"]}"#
    let settings = try UserSettings(parsing: Array(text.utf8))
    let words = settings.mergeToolWords(["MINE": "/m $BASE", "BASE": "/b", "THEIRS": "/t", "MERGED": "/r"])
    #expect(words == ["meld", "/m $BASE", "--base=/b", "/t", "-o", "/r", "5$", "a$b"])
    #expect(try UserSettings(parsing: Array("{}".utf8)).mergeToolWords([:]) == nil)
  }

  @Test(
    "a mistake is told with its place",
    arguments: [
      ("{\"mergetool\": []}", "1:2: unknown member 'mergetool'; expected one of mergeTool"),
      ("{\n  \"mergeTool\": \"meld\"\n}", "2:16: found a string; expected a program and its words"),
      ("{\"mergeTool\": []}", "1:15: no words"),
      ("{\"mergeTool\": [\"meld\", 3]}", "1:24: found a number"),
      ("{\"mergeTool\": [\"meld\"]}", "1:15: the tool is not told where the result goes"),
      ("{\"mergeTool\": [\"meld\", \"$MERGED\", \"$LOCAL\"]}", "1:35: unknown file '$LOCAL'; expected one of $BASE"),
      ("{\"mergeTool\": [", "1:16: "),
    ])
  func mistakes(text: String, sentence: String) {
    let error = #expect(throws: SettingsError.self) { try UserSettings(parsing: Array(text.utf8)) }
    #expect(error?.description(in: "s.json").hasPrefix("s.json:" + sentence) ?? false, "\(String(describing: error))")
  }

  @Test("tidemark.json, which comes with a clone, cannot name a program")
  func notShared() {
    let text = "{\n  \"mergeTool\": [\"rm\", \"$MERGED\"]\n}"
    let error = #expect(throws: SettingsError.self) { try WorkspaceSettings(parsing: Array(text.utf8)) }
    #expect(error?.description.hasPrefix("tidemark.json:2:3: a merge tool cannot be named here") ?? false)
    #expect(error?.description.contains("TIDEMARK_MERGETOOL") ?? false)
  }
}
