import OfflineEngine
import Testing

@testable import Daemon

@Suite("What a doctor judges") struct DoctorTests {
  @Test(
    "a clock that is off is told by how much",
    arguments: [
      (0, DoctorCheck.Level.ok, "agrees"), (2, .ok, "agrees"), (-30, .note, "30 s behind"), (60, .note, "60 s ahead"),
      (3_600, .trouble, "3600 s ahead"), (-86_400, .trouble, "86400 s behind"),
    ])
  func clock(difference: Int64, level: DoctorCheck.Level, said: String) {
    let check = Doctor.clock(server: 1_000_000, device: 1_000_000 + difference)
    #expect(check.level == level)
    #expect(check.text.contains(said), "\(check.text)")
  }

  @Test(
    "queued writes say what they wait for: the switch, a login, the server, or the next pass",
    arguments: [
      (true, true, nil, "tidemark online"), (false, false, nil, "tidemark login"),
      (false, true, "no route", "no route"),
      (false, true, nil, "next pass"),
    ] as [(Bool, Bool, String?, String)])
  func sending(isDisabled: Bool, isSignedIn: Bool, lastError: String?, said: String) {
    let account = WorkspaceAccount(user: "u", server: "http://server", isSignedIn: isSignedIn)
    let text = WhyReport.sendingWait(account, isNetworkDisabled: isDisabled, lastError: lastError)
    #expect(text.contains(said), "\(text)")
  }
}
