import Foundation
import Testing

@Suite("The map from the specification to the tests")
struct SpecificationTests {
  @Test("names suites that are there")
  func suites() throws {
    let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
    let article = try String(
      contentsOf: package.appending(path: "Sources/OfflineEngine/OfflineEngine.docc/SpecificationTests.md"),
      encoding: .utf8)
    var code = ""
    let files = FileManager.default.enumerator(at: package.appending(path: "Tests"), includingPropertiesForKeys: nil)
    while let file = files?.nextObject() as? URL {
      if file.pathExtension == "swift" { code += try String(contentsOf: file, encoding: .utf8) }
    }
    let names = article.split(separator: "`").filter { $0.hasSuffix("Tests") && !$0.contains(" ") }
    #expect(names.count > 20)
    for name in Set(names) { #expect(code.contains("struct \(name)"), "no suite \(name)") }
  }
}
