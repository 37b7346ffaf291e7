import Foundation
import Testing

@Suite("The list of scenarios") struct ScenarioListTests {
  @Test("every id of the list has a test, and every test's id is on the list")
  func complete() throws {
    let folder = "\(Tidemark.packageRoot)/Tests"
    let list = try String(contentsOfFile: "\(folder)/Scenarios.txt", encoding: .utf8)
    let ids = Set(
      list.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap {
        $0.split(separator: " ").first.map(String.init)
      })
    var tested: Set<String> = []
    let names = try #require(FileManager.default.enumerator(atPath: folder))
    for case let name as String in names where name.hasSuffix(".swift") {
      let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      for match in text.matches(of: #/@Test\(\s*"([A-Z]+-[0-9]+): /#) { tested.insert(String(match.output.1)) }
    }
    #expect(ids.subtracting(tested).isEmpty && !ids.isEmpty, "without a test: \(ids.subtracting(tested).sorted())")
    // Other suites name their tests by ids of kinds that are not played here.
    let kinds = Set(ids.map { $0.prefix { $0 != "-" } })
    let unlisted = tested.filter { kinds.contains($0.prefix { $0 != "-" }) }.subtracting(ids)
    #expect(unlisted.isEmpty, "not on the list: \(unlisted.sorted())")
  }
}
