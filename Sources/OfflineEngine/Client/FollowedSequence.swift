/// A value of a client as it changes: the first at once, then each that differs from the one before.
///
/// A slow reader gets the newest and misses what lay between. Ending the loop ends the following; the sequence ends when
/// the client is closed.
public struct FollowedSequence<Element: Sendable & Equatable>: AsyncSequence, Sendable {
  let signal: ChangeSignal
  /// The value now; `nil` when it cannot be read, which is tried again at the next change.
  let look: @Sendable () -> Element?

  /// Follows the value.
  public func makeAsyncIterator() -> Iterator { Iterator(rings: signal.rings().makeAsyncIterator(), look: look) }

  /// The loop over the value.
  public struct Iterator: AsyncIteratorProtocol {
    var rings: AsyncStream<Void>.AsyncIterator
    let look: @Sendable () -> Element?
    var last: Element?

    /// The next value that differs from the last; `nil` at the end.
    public mutating func next() async -> Element? {
      while await rings.next() != nil {
        guard let value = look(), value != last else { continue }
        last = value
        return value
      }
      return nil
    }
  }
}
