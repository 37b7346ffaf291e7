/// Takes the body of one request piece by piece, so that a large one is never whole in memory.
///
/// Used by one thread at a time, the connection's own.
protocol BodyReceiver: AnyObject {
  /// Whether the rest of the body is of use; where it is not, it is thrown away.
  var wantsMore: Bool { get }

  /// Takes the next piece.
  func take(_ piece: UnsafeRawBufferPointer)

  /// The request is over: it was answered, or the client is gone in the middle of the body.
  func end()
}

/// How the body of a request is taken, chosen when its head is in.
enum BodyPlan {
  /// Into `StandInRequest.body`, up to a size.
  case memory(bytesMax: Int)
  /// Into a receiver, which the request carries to the handler.
  case pieces(any BodyReceiver)
}
