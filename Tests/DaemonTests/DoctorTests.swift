import SupabaseAPI
import Testing

@testable import Daemon
@testable import OfflineEngine

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

  @Test(
    "photos in step are said to be so only where all of them were asked for",
    arguments: [
      (Doctor.Found(), Doctor.Found(), DoctorCheck.Level.ok, "7 rows, each with its object"),
      (Doctor.Found(names: ["a"]), Doctor.Found(), .trouble, "1 of 7 ('a')"),
      (Doctor.Found(), Doctor.Found(names: ["k"]), .note, "objects without a row: 1 ('k')"),
      (Doctor.Found(unasked: 3), Doctor.Found(unasked: 4), .note, "7 more"),
    ])
  func photos(missing: Doctor.Found, strays: Doctor.Found, level: DoctorCheck.Level, said: String) {
    let check = Doctor.check("photos", count: 7, missing: missing, strays: strays)
    #expect(check.level == level && check.text.contains(said), "\(check.text)")
  }

  @Test("every policy that can have forbidden a write is named; other refusals are none of its business")
  func policies() {
    let key = RowKey("k")
    let time = WallTime(seconds: 1)
    let refused = { (write: Write, code: String?) in
      RejectedMutation(
        id: 1, write: write, createdAt: time, rejectedAt: time,
        serverError: code.map { ServerError(status: 403, code: $0, message: "m") }, message: "m")
    }
    let insert = Write.insert(into: "tasks", key: key, values: ["title": "secret"])
    let update = Write.update("tasks", key: key, values: ["title": "secret"], base: nil)
    let delete = Write.delete(from: "tasks", key: key, base: nil)
    #expect(Doctor.policies([refused(insert, "23514")], table: "tasks") == nil)
    #expect(Doctor.policies([refused(insert, "42501")], table: "notes") == nil)
    let cases: [(RejectedMutation, [String])] = [
      (refused(insert, "42501"), ["1 insert", "insert policy (with check)", "select policy"]),
      (refused(update, nil), ["1 update", "update policy (using, with check)", "select policy"]),
      (refused(delete, nil), ["1 delete", "delete policy (using)", "select policy"]),
    ]
    for (one, said) in cases {
      let check = Doctor.policies([one, refused(insert, "23514")], table: "tasks")
      #expect(check?.level == .trouble)
      for words in said { #expect(check?.text.contains(words) == true, "\(check?.text ?? "")") }
      #expect(check?.text.contains("secret") == false)
    }
  }
}
