import Foundation

/// How much work the random and exhaustive tests do: 1 by default, more with `TIDEMARK_TEST_EFFORT` for a long search.
let testEffort = max(1, ProcessInfo.processInfo.environment["TIDEMARK_TEST_EFFORT"].flatMap { Int($0) } ?? 1)
