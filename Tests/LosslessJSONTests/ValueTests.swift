import Foundation
import LosslessJSON
import Testing

@Suite("Values and objects") struct ValueTests {
  @Test("strings compare by their bytes, not by canonical equivalence")
  func bytes() {
    #expect("é" == "e\u{301}")
    #expect(JSONValue.string("é") != JSONValue.string("e\u{301}"))
    let object: JSONObject = ["é": 1, "e\u{301}": 2]
    #expect(object.count == 2)
    #expect(object["é"] == 1)
    #expect(object["e\u{301}"] == 2)
  }

  @Test("objects are equal whatever the order of their members")
  func order() {
    let left: JSONValue = ["a": 1, "b": [1, ["c": nil, "d": "x"]]]
    let right: JSONValue = ["b": [1.0, ["d": "x", "c": nil]], "a": 1]
    #expect(left == right)
    #expect(left.hashValue == right.hashValue)
    #expect(left != ["a": 1, "b": [1, ["c": nil, "d": "y"]]])
    #expect(JSONValue.array([1, 2]) != [2, 1])
    #expect(JSONValue.object([:]) != .array([]))
    #expect(JSONValue.object(["a": 1, "b": 2]) != ["a": 1, "c": 2])
  }

  @Test("setting keeps a member's place, a new one goes to the end, nil removes")
  func editing() {
    var object: JSONObject = ["a": 1, "b": 2]
    object["a"] = 3
    object["c"] = .null
    #expect(object.names == ["a", "b", "c"])
    #expect(object["c"] == .some(.null))
    object["b"] = nil
    #expect(object.names == ["a", "c"])
    #expect(object["b"] == nil)
    object.insert(true, named: "c", at: 0)
    #expect(object.names == ["c", "a"])
    #expect(JSONObject([("x", 1), ("y", 2), ("x", 3)]).serializedForTest == #"{"x":3,"y":2}"#)
  }

  @Test("a large object is edited like a small one")
  func large() {
    var object = JSONObject((0..<100).map { ("n\($0)", .integer(Int64($0))) })
    object["n50"] = nil
    object["n7"] = "seven"
    object["new"] = true
    #expect(object.count == 100)
    #expect(object["n51"] == 51)
    #expect(object["n7"] == "seven")
    #expect(object["new"] == true)
    #expect(object.names.last == "new")
  }

  @Test("compact and pretty text")
  func styles() {
    let value: JSONValue = ["a": [1, "é\n\u{1}"], "b": [:], "c": [], "d": ["e": false]]
    #expect(value.serialized() == #"{"a":[1,"é\n\u0001"],"b":{},"c":[],"d":{"e":false}}"#)
    #expect(value.serialized(.oneLine) == #"{"a": [1, "é\n\u0001"], "b": {}, "c": [], "d": {"e": false}}"#)
    #expect(
      value.serialized(.pretty) == """
        {
          "a": [
            1,
            "é\\n\\u0001"
          ],
          "b": {},
          "c": [],
          "d": {
            "e": false
          }
        }
        """)
  }

  @Test("what kind a value is, in words and as an optional")
  func kinds() {
    #expect(JSONValue.string("x").kindName == "a string")
    #expect(JSONValue.null.isNull)
    #expect(JSONValue.bool(true).boolValue == true)
    #expect(JSONValue.array([1]).arrayValue == [1])
    #expect(JSONValue.integer(5).int64Value == 5)
    #expect(JSONValue.string("x").objectValue == nil)
    #expect((["a": ["b": 1]] as JSONValue)["a"]?["b"] == 1)
  }

  @Test("a value of 512 levels is compared, hashed, written and let go on a small stack")
  func smallStack() async {
    let answer = await withCheckedContinuation { continuation in
      let thread = Thread {
        let open = String(repeating: "[{\"a\":", count: 256)
        let text = open + "1" + String(repeating: "}]", count: 256)
        let left = try? JSONValue(parsing: text)
        let right = try? JSONValue(parsing: text)
        let document = try? JSONDocument(parsing: "{\"a\": " + String(text.dropFirst().dropLast()) + "}")
        continuation.resume(
          returning: left != nil && left == right && left.hashValue == right.hashValue
            && left?.serialized() == text && document?.value["a"] != nil)
      }
      thread.stackSize = 256 << 10
      thread.start()
    }
    #expect(answer)
  }
}

extension JSONObject {
  fileprivate var serializedForTest: String { JSONValue.object(self).serialized() }
}
