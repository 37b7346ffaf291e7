import LosslessJSON
import OfflineEngine
import Testing

@testable import FileWorkspace

@Suite("Keys in texts that cannot be read")
struct RowFileKeyTests {
  @Test(
    "a key is shown where its column's name and value stand together",
    arguments: [
      (#"{"id": "a1", "title": "#, true), (#"{"title": "x" "id" : "a1"}"#, true), (#"<<<<<<< {"id":"a1""#, true),
      (#"{"id": "a12", "title": "#, false), (#"{"id": "b1", "parent": "a1"#, false), (#"{"id" "a1"}"#, false),
      ("", false), (#"{"title": "id", "id": "#, false),
    ])
  func text(_ text: String, _ isShown: Bool) {
    let tasks = CollectionSettings(
      folder: "tasks", table: "tasks", key: ["id"], columns: [CollectionColumn("id", .text)])
    #expect(RowFile.shows(RowKey("a1"), in: Array(text.utf8), tasks) == isShown)
  }

  @Test(
    "a number is the whole number, and of several columns each must be shown",
    arguments: [(#"{"list": 7, "place": 1, "#, true), (#"{"list": 71, "place": 1"#, false), (#"{"list": 7, "#, false)])
  func severalNumbers(_ text: String, _ isShown: Bool) {
    let places = CollectionSettings(
      folder: "places", table: "places", key: ["list", "place"],
      columns: [CollectionColumn("list", .integer), CollectionColumn("place", .integer)])
    #expect(RowFile.shows(RowKey([7, 1]), in: Array(text.utf8), places) == isShown)
  }
}
