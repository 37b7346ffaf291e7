/// New files on their way, several batches at once: while one is decided, the texts of the one before are made and made
/// durable, and those of the one before that get their names.
///
/// Each batch takes the same steps in the same order as any write-back. Only the files' own steps run beside the caller;
/// what is planned and what happened it records itself, batch after batch. Only for files that come new: they take no
/// other's place, so that nothing of one batch can be another one's newer save.
struct NewFileLine {
  /// A batch whose steps on the disk are under way.
  private struct Batch {
    var work: [FileWork]
    var underway: WorkUnderway<WriteBackBatch>
  }

  /// A batch that has come to its end.
  typealias Ended = (work: [FileWork], outcomes: [WriteBackOutcome])

  private let writeBack: WriteBack
  /// The batch whose texts are being made.
  private var making: Batch?
  /// The batch that is recorded, and whose texts get their names.
  private var naming: Batch?

  init(_ writeBack: WriteBack) { self.writeBack = writeBack }

  /// Sends a batch on its way, and those before it on.
  mutating func begin(_ work: [FileWork]) -> [Ended] {
    let (writeBack, items) = (writeBack, work.map(\.item))
    let underway = writeBack.files.begin {
      writeBack.files.withFoldersOpen { writeBack.prepared(items) }
    }
    return moveOn(Batch(work: work, underway: underway))
  }

  /// Waits for the end of all batches.
  mutating func finish() -> [Ended] { moveOn(nil) + moveOn(nil) }

  private mutating func moveOn(_ next: Batch?) -> [Ended] {
    let (named, made) = (naming, making)
    var recorded = made?.underway.result() ?? WriteBackBatch(count: 0)
    let outcomes = writeBack.completed(named?.underway.result() ?? WriteBackBatch(count: 0), recording: &recorded)
    (making, naming) = (next, made.map { Batch(work: $0.work, underway: swap(recorded)) })
    return named.map { [($0.work, outcomes)] } ?? []
  }

  private func swap(_ recorded: WriteBackBatch) -> WorkUnderway<WriteBackBatch> {
    let writeBack = writeBack
    return writeBack.files.begin {
      var batch = recorded
      writeBack.files.withFoldersOpen { writeBack.swap(&batch) }
      return batch
    }
  }
}
