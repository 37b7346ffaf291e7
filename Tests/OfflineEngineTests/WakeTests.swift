import Testing

@testable import OfflineEngine

@Suite("A bell")
struct WakeTests {
  @Test("ends the waits of all who wait for it", arguments: [true, false])
  func many(isFinished: Bool) async {
    let wake = Wake()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<3 { group.addTask { await wake.wait(upTo: nil, clock: LiveClock()) } }
      while wake.waiterCount < 3 { await Task.yield() }
      if isFinished { wake.finish() } else { wake.ring() }
    }
    #expect(wake.waiterCount == 0)
  }

  @Test("that was rung while nobody waited ends one wait")
  func early() async {
    let wake = Wake()
    wake.ring()
    wake.ring()
    await wake.wait(upTo: nil, clock: LiveClock())
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await wake.wait(upTo: nil, clock: LiveClock()) }
      while wake.waiterCount < 1 { await Task.yield() }
      group.cancelAll()
    }
    #expect(wake.waiterCount == 0)
  }
}
