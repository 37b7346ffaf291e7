import Foundation
import Testing

@testable import StandInServer

@Suite("What the documentation says of the stand-in is true") struct DocumentationTests {
  private func text() throws -> String {
    try String(contentsOf: testFolder.appending(path: "../../Documentation/StandIn.md"), encoding: .utf8)
  }

  @Test("every fault and every setting stands there as it is described, and nothing else does")
  func tables() throws {
    let lines = try text().split(separator: "\n").filter { $0.hasPrefix("| `") }
    let faults = StandInFault.catalogue.map { fault in
      "| `\([fault.name, fault.members].filter { !$0.isEmpty }.joined(separator: " "))` | \(fault.summary) |"
    }
    let settings = AuthSettings.catalogue.map { "| `\($0.name)` | \($0.summary) |" }
    let shared = ["times=", "skipping=", "probability=", "lasts=", "method=", "path="]
    let others = lines.filter { line in !shared.contains { line.hasPrefix("| `\($0)") } }.map(String.init)
    #expect(others == settings + faults)
    #expect(lines.count - others.count == shared.count)
  }

  @Test("every command line there can be read")
  func commands() throws {
    var rest = try text()[...]
    var count = 0
    while let option = rest.firstRange(of: /--(auth|misbehave) '/) {
      let isFault = rest[option].hasPrefix("--misbehave")
      let words = String(rest[option.upperBound...].prefix { $0 != "'" })
      rest = rest[option.upperBound...]
      count += 1
      if isFault {
        #expect(throws: Never.self) { try StandInFault.faults(parsing: words) }
      } else {
        #expect(throws: Never.self) { try AuthSettings(parsing: words) }
      }
    }
    #expect(count >= 4)
  }
}
