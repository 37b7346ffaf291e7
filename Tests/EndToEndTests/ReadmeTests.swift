import Foundation
import Testing

@Suite("What the README says is true", .timeLimit(.minutes(2))) struct ReadmeTests {
  @Test("the five minutes can be typed as they stand")
  func fiveMinutes() async throws {
    let site = try await Site()
    let readme = try String(contentsOfFile: "\(Tidemark.packageRoot)/README.md", encoding: .utf8)
    let blocks = readme.components(separatedBy: "```sh\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    try #require(blocks.count >= 4)
    let script = """
      set -eu
      PATH="\(URL(fileURLWithPath: Tidemark.path).deletingLastPathComponent().path):$PATH"
      KEY="\(site.key)"
      mkdir readme && cd readme
      HOME=$PWD
      mkdir Pictures && cp "\(Picture.turned.path)" Pictures/front.jpg
      \(blocks.joined(separator: "\n").replacingOccurrences(of: "http://127.0.0.1:54321", with: site.url))
      """
    let done = try await Program(shell: script, in: site.path).finished()
    #expect(done.status == 0, "\(done.output)\n\(done.errors)")
    #expect(done.output.contains("\"title\": \"Buy soy milk\""))
    #expect(done.output.contains("\nin step\n"))
    #expect(done.output.contains("\n-  photos/milk/front.jpg  1 kB\n"))
    #expect(done.output.contains("/storage/v1/render/image/sign/photos/"))
  }

  @Test("every command of the program stands in the table")
  func commands() async throws {
    let readme = try String(contentsOfFile: "\(Tidemark.packageRoot)/README.md", encoding: .utf8)
    let overview = try await Tidemark.run(["help"]).output
    let names = overview.split(separator: "\n").filter { $0.hasPrefix("  ") }
      .compactMap { $0.split(separator: " ").first.map(String.init) }
    try #require(names.count >= 10)
    for name in names { #expect(readme.contains("`\(name)"), "\(name) is missing") }
  }
}
