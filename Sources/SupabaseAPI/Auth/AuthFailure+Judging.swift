import LosslessJSON

extension AuthFailure {
  /// Which call failed; one code means different things to different calls.
  enum Call: Sendable, Hashable {
    case signUp
    case password
    case refresh
    case other
  }

  /// Judges an answer that is not a success.
  ///
  /// Accepts the three shapes of errors in any mix: a text `code` with `message`; a number `code` with `error_code` and
  /// `msg`; `error` with `error_description`. Without any code the gateway has spoken, or something else altogether.
  init(judging answer: RawAnswer, to call: Call) {
    let status = answer.status
    let error = ServerError(auth: answer)
    let wait = answer.response.retryAfter
    switch (status, error) {
    case (429, let error):
      let code = ServerError(status: status, code: "429", message: answer.text("message", "msg") ?? "")
      self = .rateLimited(error ?? code, retryAfter: wait)
    case (408, let error), (425, let error), (500..., let error):
      self = .unavailable(status: status, retryAfter: wait, error)
    case (409, let error?) where error.code == "conflict":
      self = .unavailable(status: status, retryAfter: wait, error)  // Another refresh of the same token is at work.
    case (400...499, let error?):
      self = Self.refusal(error, answer, call)
    case (401, nil), (403, nil):
      guard let message = answer.text("message", "msg") else { fallthrough }
      self = .gatewayRefused(status: status, message: PrintableText.of(message))
    default:
      self = .notAnAnswer(status: status, reason: answer.oddity, retryAfter: wait)
    }
  }

  private static func refusal(_ error: ServerError, _ answer: RawAnswer, _ call: Call) -> AuthFailure {
    switch error.code {
    case "invalid_grant" where call == .refresh:
      return .sessionEnded(error)  // The old word for a refresh token that is not known.
    case "invalid_credentials" where call == .password, "invalid_grant" where call == .password:
      return .invalidCredentials(error)
    case "refresh_token_not_found", "refresh_token_already_used", "session_not_found", "session_expired",
      "user_banned", "user_not_found":
      return .sessionEnded(error)
    case "validation_failed" where call == .refresh:
      return .sessionEnded(error)  // A refresh token that never was one; no later try can turn it into one.
    case "user_already_exists", "email_exists":
      return .userExists(error)
    case "weak_password":
      let reasons = answer.json?["weak_password"]?["reasons"]?.arrayValue ?? []
      return .weakPassword(error, reasons: reasons.compactMap(\.stringValue))
    case "email_not_confirmed":
      return .confirmationNeeded
    case "over_request_rate_limit", "over_email_send_rate_limit", "over_sms_send_rate_limit":
      return .rateLimited(error, retryAfter: answer.response.retryAfter)
    case "bad_jwt", "no_authorization":
      return .tokenRefused(error)
    default:
      return .refused(error)
    }
  }
}

extension ServerError {
  /// The Auth service's own error, or nil where the answer names no code.
  init?(auth answer: RawAnswer) {
    // A gateway has an `error` too, but it is a sentence and has no description beside it.
    let code =
      answer.text("error_code", "code") ?? answer.response.fields["x-sb-error-code"]
      ?? (answer.text("error_description") == nil ? nil : answer.text("error"))
    guard let code, !code.isEmpty else { return nil }
    self.init(
      status: answer.status, code: code,
      message: answer.text("msg", "message", "error_description", "error") ?? "",
      details: answer.details("detail"), hint: answer.details("hint"))
  }
}
