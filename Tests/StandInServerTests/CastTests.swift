import SQLite
import Testing

@testable import StandInServer

@Suite("Casts and arrays, as PostgreSQL has them") struct CastTests {
  static let casts: [(from: ColumnType, value: SQLiteValue, to: ColumnType, result: SQLiteValue)] = [
    (.numeric, "2.5", .int4, 3), (.numeric, "-2.5", .int4, -3), (.numeric, "0.4", .int8, 0),
    (.numeric, "99.5", .int2, 100),
    (.numeric, "0.05", .int4, 0), (.float8, .real(2.5), .int4, 2), (.float8, .real(3.5), .int8, 4),
    (.int4, 7, .float8, .real(7)),
    (.int4, 7, .numeric, "7"), (.int8, 7, .int2, 7), (.boolean, 1, .int4, 1), (.int4, 5, .boolean, 1),
    (.boolean, 1, .text, "true"), (.text, "yes", .boolean, 1), (.text, "12", .int4, 12), (.jsonb, "2.5", .int4, 3),
    (.jsonb, "true", .boolean, 1), (.jsonb, #"{"a": 1}"#, .text, #"{"a": 1}"#),
    (.int4Array, "[1,null]", .textArray, #"["1",null]"#),
    (.textArray, #"["1"]"#, .int4Array, "[1]"), (.uuid, .null, .text, .null),
    (.text, #"{"b":1,"a":2}"#, .jsonb, #"{"a": 2, "b": 1}"#),
  ]

  @Test("values are cast", arguments: casts)
  func cast(_ from: ColumnType, value: SQLiteValue, to other: ColumnType, result: SQLiteValue) throws {
    #expect(try from.cast(value, to: other, now: Timestamp(microseconds: 0)) == result)
  }

  static let refused: [(from: ColumnType, value: SQLiteValue, to: ColumnType, code: String)] = [
    (.int4, 1, .uuid, "42846"), (.boolean, 1, .int8, "42846"), (.int4, 1, .jsonb, "42846"),
    (.uuid, .null, .date, "42846"),
    (.text, "x", .int4, "22P02"), (.numeric, "99999999999", .int4, "22003"), (.numeric, "NaN", .int4, "22023"),
    (.jsonb, #""1""#, .int4, "22023"), (.jsonb, "1", .boolean, "22023"), (.int8, 70_000, .int2, "22003"),
  ]

  @Test("what cannot be cast is refused", arguments: refused)
  func refusal(_ from: ColumnType, value: SQLiteValue, to other: ColumnType, code: String) {
    #expect {
      try from.cast(value, to: other, now: Timestamp(microseconds: 0))
    } throws: {
      ($0 as? DatabaseFault)?.code == code
    }
  }

  @Test("arrays are in the order of their elements")
  func arrays() {
    let ascending = [#"[]"#, #"[""]"#, #"["a"]"#, #"["a","b"]"#, #"["a",null]"#, #"["ab"]"#, #"["b"]"#, "[null]"]
    let keys = ascending.map { ColumnType.textArray.arrayKey(of: $0) }
    #expect(zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
    let numbers = ["[-5]", "[1]", "[1,2]", "[1,2,3]", "[2]", "[10]"].map { ColumnType.int4Array.arrayKey(of: $0) }
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
  }
}
