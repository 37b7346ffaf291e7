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
    // First this: a journal that holds the plans of one batch alone forgets them all at once.
    let ended = naming.map { ($0.work, writeBack.completed($0.underway.result())) }
    (making, naming) = (next, making.map(record))
    return ended.map { [$0] } ?? []
  }

  private func record(_ batch: Batch) -> Batch {
    let writeBack = writeBack
    var prepared = batch.underway.result()
    writeBack.record(&prepared)
    let recorded = prepared
    let underway = writeBack.files.begin {
      var batch = recorded
      writeBack.files.withFoldersOpen { writeBack.swap(&batch) }
      return batch
    }
    return Batch(work: batch.work, underway: underway)
  }
}
