import Foundation
import Randomness
import Testing

@testable import StandInServer

@Suite("Time zones") struct TimeZoneTests {
  static let offsets: [(zone: String, time: String, text: String)] = [
    ("America/New_York", "2026-01-01T08:00:00Z", "2026-01-01T03:00:00-05:00"),
    ("America/New_York", "2026-03-08T06:59:59Z", "2026-03-08T01:59:59-05:00"),
    ("America/New_York", "2026-03-08T07:00:00Z", "2026-03-08T03:00:00-04:00"),
    ("America/New_York", "2100-07-01T00:00:00Z", "2100-06-30T20:00:00-04:00"),
    ("Asia/Kolkata", "2026-01-01T08:00:00.5Z", "2026-01-01T13:30:00.5+05:30"),
    ("Australia/Sydney", "2099-01-01T00:00:00Z", "2099-01-01T11:00:00+11:00"),
    ("Australia/Sydney", "2099-07-01T00:00:00Z", "2099-07-01T10:00:00+10:00"),
    ("Europe/Amsterdam", "2050-10-30T01:00:00Z", "2050-10-30T02:00:00+01:00"),
    ("UTC", "2026-01-01T08:00:00Z", "2026-01-01T08:00:00+00:00"),
  ]

  @Test("a time is written in the zone, within its table and beyond", arguments: offsets)
  func written(_ name: String, time: String, text: String) throws {
    let zone = try #require(TimeZoneRules.named(name))
    let moment = try TimeReader.timestamp(time, now: Timestamp(microseconds: 0))
    #expect(TimeZoneRules.$current.withValue(zone) { moment.jsonText } == text)
    // And read back without its offset.
    let local = String(text.dropLast(6))
    let isTwice = local.hasPrefix("2050-10-30T02")
    let read = try TimeZoneRules.$current.withValue(zone) {
      try TimeReader.timestamp(local, now: Timestamp(microseconds: 0))
    }
    #expect(read == moment || isTwice, "\(local)")
  }

  @Test("names that are none are no zones")
  func unknown() {
    for name in ["", "Nowhere/City", "../passwd", "/etc/passwd", "Europe", "America/", "a\0b", "tzdata.zi"] {
      #expect(TimeZoneRules.named(name) == nil, "\(name)")
    }
  }

  @Test("damaged zone files are no zones")
  func damaged() throws {
    let good = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "/usr/share/zoneinfo/America/New_York")))
    #expect(TimeZoneRules("x", good) != nil)
    for length in stride(from: 0, to: good.count - 30, by: 7) {
      #expect(TimeZoneRules("x", Array(good[..<length])) == nil)
    }
    var generator = SeededRandom(seed: 5)
    for _ in 0..<500 {
      var bytes = good
      for _ in 0..<4 {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      if let zone = TimeZoneRules("x", bytes) {
        _ = (zone.offset(at: 4_000_000_000), zone.offset(atLocal: -4_000_000_000))
      }
    }
  }

  @Test("a text may name its zone, and a time too late for 64 bits is refused")
  func named() throws {
    let now = Timestamp(microseconds: 0)
    #expect(try TimeReader.timestamp("2026-07-01 08:00 Europe/Paris", now: now).jsonText == "2026-07-01T06:00:00+00:00")
    #expect(throws: TimeFault.range) { try TimeReader.timestamp("294276-12-31", now: now) }
    #expect(throws: TimeFault.syntax) { try TimeReader.timestamp("2026-07-01 08:00 Nowhere", now: now) }
    #expect(try TimeReader.timestamp("tomorrow", now: now).jsonText == "1970-01-02T00:00:00+00:00")
  }
}
