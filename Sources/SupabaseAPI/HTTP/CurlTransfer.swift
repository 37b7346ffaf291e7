import CCurl

/// One request on its way, on the thread of its loop alone.
///
/// libcurl holds an unowned pointer to this object: the loop keeps it until the handle has left the multi handle.
final class CurlTransfer {
  /// libcurl's handle.
  let easy: UnsafeMutableRawPointer

  private let start: CurlLoop.Start
  private let wholeLimit: Duration?
  private let errorText: UnsafeMutablePointer<CChar>
  private var headerLines: UnsafeMutablePointer<curl_slist>?
  private var fields = HTTPFields()
  private var fieldBytes = 0
  private var isHeadWhole = false
  private var body: [UInt8] = []
  private var sends = 0
  private var overflow: Overflow?
  /// How much of the source was read.
  private var sourcePosition: Int64 = 0
  /// Whether the body goes into the sink; nil before its first byte.
  private var goesToSink: Bool?
  private var receivedBytes = 0
  private var bodyFailure: String?

  private enum Overflow {
    case fields
    case body
  }

  /// More header bytes than any honest server sends.
  private static let fieldBytesMax = 256 << 10

  /// Prepares the handle; nil when libcurl has no memory left or was built without something that is needed here.
  init?(_ start: CurlLoop.Start, settings: CurlSettings) {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    self.start = start
    wholeLimit = settings.wholeLimit
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    guard setLimits(settings), setRoute(settings), setRequest(), setCallbacks() else { return nil }
  }

  deinit {
    curl_easy_cleanup(easy)
    curl_slist_free_all(headerLines)
    errorText.deallocate()
  }

  // MARK: Options

  private func set(_ option: CURLoption, _ value: Int) -> Bool { tm_setopt_long(easy, option, value) == CURLE_OK }

  private func set(_ option: CURLoption, _ text: String) -> Bool { tm_setopt_text(easy, option, text) == CURLE_OK }

  private func setLimits(_ settings: CurlSettings) -> Bool {
    set(CURLOPT_LOW_SPEED_LIMIT, 1)
      && set(CURLOPT_LOW_SPEED_TIME, settings.stallSeconds)
      && (settings.wholeLimit.map { set(CURLOPT_TIMEOUT_MS, max(1, $0.wholeMilliseconds)) } ?? true)
  }

  private func setRoute(_ settings: CurlSettings) -> Bool {
    settings.setRoute(of: easy, url: start.request.url, to: start.address)
      && set(CURLOPT_FOLLOWLOCATION, 0)
      && set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
      // Wait a moment for a connection that can carry several requests, rather than open one for each.
      && set(CURLOPT_PIPEWAIT, 1)
      && set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      && set(CURLOPT_USERAGENT, settings.userAgent)
      // A part of a packed file could not be unpacked.
      && (start.bodies.sink != nil || set(CURLOPT_ACCEPT_ENCODING, "gzip"))
  }

  private func setRequest() -> Bool {
    let request = start.request
    for field in request.fields.fields {
      // libcurl reads `Name:` as "leave it out"; a semicolon asks for the empty value.
      add(line: field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
    }
    // Lines that libcurl would add by itself.
    for name in ["Accept", "Content-Type"] where request.fields[name] == nil { add(line: "\(name):") }
    add(line: "Expect:")
    guard tm_setopt_list(easy, CURLOPT_HTTPHEADER, headerLines) == CURLE_OK else { return false }
    if let source = start.bodies.source {
      return set(CURLOPT_POST, 1) && set(CURLOPT_CUSTOMREQUEST, request.method)
        && tm_setopt_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(source.count)) == CURLE_OK
    }
    switch (request.method, request.body) {
    case ("HEAD", nil): return set(CURLOPT_NOBODY, 1)
    case ("GET", nil): return set(CURLOPT_HTTPGET, 1)
    case (let method, nil) where !["POST", "PUT", "PATCH"].contains(method):
      return set(CURLOPT_CUSTOMREQUEST, method)
    case (let method, let body):
      return set(CURLOPT_POST, 1) && set(CURLOPT_CUSTOMREQUEST, method) && setBody(body ?? [])
    }
  }

  private func setBody(_ body: [UInt8]) -> Bool {
    guard tm_setopt_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)) == CURLE_OK else { return false }
    guard !body.isEmpty else { return set(CURLOPT_COPYPOSTFIELDS, "") }
    return body.withUnsafeBytes { bytes in
      tm_setopt_pointer(easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress)) == CURLE_OK
    }
  }

  private func add(line: String) {
    // The list's head moves only with its first line; a nil for want of memory leaves the lines that are there.
    headerLines = curl_slist_append(headerLines, line) ?? headerLines
  }

  private func setCallbacks() -> Bool {
    let this = Unmanaged.passUnretained(self).toOpaque()
    return tm_setopt_pointer(easy, CURLOPT_ERRORBUFFER, errorText) == CURLE_OK
      && tm_setopt_pointer(easy, CURLOPT_WRITEDATA, this) == CURLE_OK
      && tm_setopt_pointer(easy, CURLOPT_HEADERDATA, this) == CURLE_OK
      && tm_setopt_pointer(easy, CURLOPT_PREREQDATA, this) == CURLE_OK
      && tm_setopt_data_callback(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, this in
        CurlTransfer.from(this)?.take(bodyBytes: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
      } == CURLE_OK
      && tm_setopt_data_callback(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, this in
        CurlTransfer.from(this)?.take(headerLine: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
      } == CURLE_OK
      && setBodyCallbacks(this)
      // Called when the connection stands and before the first byte of the request, again for each resend.
      && tm_setopt_prereq_callback(easy) { this, _, _, _, _ in
        CurlTransfer.from(this)?.sends += 1
        return CURL_PREREQFUNC_OK
      } == CURLE_OK
  }

  private func setBodyCallbacks(_ this: UnsafeMutableRawPointer) -> Bool {
    if start.bodies.source != nil {
      let isSet =
        tm_setopt_pointer(easy, CURLOPT_READDATA, this) == CURLE_OK
        && tm_setopt_pointer(easy, CURLOPT_SEEKDATA, this) == CURLE_OK
        && tm_setopt_data_callback(easy, CURLOPT_READFUNCTION) { buffer, size, count, this in
          CurlTransfer.from(this)?.give(UnsafeMutableRawBufferPointer(start: buffer, count: size * count)) ?? 0
        } == CURLE_OK
        && tm_setopt_seek_callback(easy) { this, position, origin in
          guard origin == SEEK_SET, let transfer = CurlTransfer.from(this) else { return CURL_SEEKFUNC_CANTSEEK }
          transfer.sourcePosition = Int64(position)
          return CURL_SEEKFUNC_OK
        } == CURLE_OK
      guard isSet else { return false }
    }
    guard start.bodies.progress != nil else { return true }
    return set(CURLOPT_NOPROGRESS, 0) && tm_setopt_pointer(easy, CURLOPT_XFERINFODATA, this) == CURLE_OK
      && tm_setopt_progress_callback(easy) { this, total, received, _, sent in
        let known = total > 0 ? Int64(total) : nil
        CurlTransfer.from(this)?.start.bodies.progress?(
          HTTPProgress(sent: Int64(sent), received: Int64(received), receivedTotal: known))
        return 0
      } == CURLE_OK
  }

  // MARK: What is sent

  private func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let source = start.bodies.source, sourcePosition < source.count else { return 0 }
    do {
      let room = UnsafeMutableRawBufferPointer(
        rebasing: buffer.prefix(Int(min(Int64(buffer.count), source.count - sourcePosition))))
      let count = try source.read(at: sourcePosition, into: room)
      // Less than was promised: the file was cut meanwhile.
      guard count > 0 else { throw SourceIsShort() }
      sourcePosition += Int64(count)
      return count
    } catch {
      bodyFailure = "\(error)"
      return Int(CURL_READFUNC_ABORT)
    }
  }

  private struct SourceIsShort: Error, CustomStringConvertible {
    var description: String { "it became shorter while it was sent" }
  }

  // MARK: What comes back

  private var head: HTTPResponse {
    HTTPResponse(status: number(CURLINFO_RESPONSE_CODE), fields: fields, sends: max(1, sends))
  }

  private func take(bodyBytes bytes: UnsafeRawBufferPointer) -> Int {
    receivedBytes += bytes.count
    if let sink = start.bodies.sink {
      let goesToSink = goesToSink ?? sink.takes(head)
      self.goesToSink = goesToSink
      if goesToSink {
        do {
          try sink.write(bytes)
          return bytes.count
        } catch {
          bodyFailure = "\(error)"
          return 0
        }
      }
    }
    guard body.count + bytes.count <= start.request.bodyBytesMax else {
      overflow = .body
      return 0
    }
    body.append(contentsOf: bytes)
    return bytes.count
  }

  private func take(headerLine bytes: UnsafeRawBufferPointer) -> Int {
    guard receivedBytes == 0 else { return bytes.count }  // A trailer must not change what the head has said.
    let line = String(decoding: bytes, as: UTF8.self)
    if line.hasPrefix("HTTP/") {
      fields = HTTPFields()  // An interim answer came before this one.
      fieldBytes = 0
      isHeadWhole = false
      return bytes.count
    }
    fieldBytes += bytes.count
    guard fieldBytes <= Self.fieldBytesMax else {
      overflow = .fields
      return 0
    }
    if ASCII.trimmed(line).isEmpty {
      isHeadWhole = true
    } else if let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) {
      fields.add(String(line[..<colon]), ASCII.trimmed(line[line.index(after: colon)...]))
    }
    return bytes.count
  }

  // MARK: The end

  /// Hands the outcome to the caller.
  func finish(_ code: CURLcode) {
    guard code == CURLE_OK else { return start.continuation.resume(returning: .failure(failure(code))) }
    // libcurl takes a head that ends with the connection for a whole answer without a body.
    guard isHeadWhole else { return start.continuation.resume(returning: .failure(cut("its header is not whole"))) }
    var response = head
    response.body = body
    // An empty body goes somewhere, too.
    if goesToSink == nil { _ = start.bodies.sink?.takes(response) }
    start.continuation.resume(returning: .success(response))
  }

  /// Tells the caller that the connection is given up.
  func cutOff() {
    start.continuation.resume(returning: .failure(cut("the network changed")))
  }

  /// Tells the caller that the transfer was cancelled.
  func abandon() {
    start.continuation.resume(returning: .failure(.cancelled(mayHaveReachedServer: mayHaveReachedServer)))
  }

  /// Whether a byte of the request may have left.
  ///
  /// The count of sent bytes lives through libcurl's own resend, so a first send is not forgotten when the second finds
  /// no server. It also counts the words to a proxy, hence the question whether the request itself was begun.
  private var mayHaveReachedServer: Bool { sends > 0 && number(CURLINFO_REQUEST_SIZE) > 0 }

  private func number(_ info: CURLINFO) -> Int {
    var value = 0
    return tm_getinfo_long(easy, info, &value) == CURLE_OK ? value : 0
  }

  private func failure(_ code: CURLcode) -> HTTPError {
    let origin = start.address.origin
    let reached = mayHaveReachedServer
    let reason = reasonText(code)
    if let bodyFailure { return .body(reason: bodyFailure) }
    switch overflow {
    case .body: return .bodyTooLarge(origin: origin, bytesMax: start.request.bodyBytesMax)
    case .fields: return cut("its header is too long")
    case nil: break
    }
    switch code {
    case CURLE_OPERATION_TIMEDOUT:
      return .timedOut(origin: origin, phase: phaseOfTimeOut, mayHaveReachedServer: reached)
    case CURLE_OUT_OF_MEMORY where !reached: return .closed
    case _ where reached: return cut(reason)
    case CURLE_URL_MALFORMAT: return .badRequest(reason: "the URL is not one")
    case CURLE_COULDNT_RESOLVE_HOST: return .cannotResolve(host: start.address.host)
    case _ where Self.isAboutTLS(code): return .tls(origin: origin, reason: reason)
    case _ where sends == 0: return .cannotConnect(origin: origin, reason: reason)
    default: return cut(reason)
    }
  }

  /// Whether libcurl says that TLS or the certificate was not accepted.
  static func isAboutTLS(_ code: CURLcode) -> Bool {
    switch code {
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_USE_SSL_FAILED:
      true
    default: false
    }
  }

  private func cut(_ reason: String) -> HTTPError {
    .cut(origin: start.address.origin, reason: reason, mayHaveReachedServer: mayHaveReachedServer)
  }

  private var phaseOfTimeOut: HTTPError.Phase {
    var microseconds: curl_off_t = 0
    if let wholeLimit, tm_getinfo_offset(easy, CURLINFO_TOTAL_TIME_T, &microseconds) == CURLE_OK,
      .microseconds(Int64(microseconds)) >= wholeLimit
    {
      return .whole
    }
    return sends == 0 ? .connecting : .stalled
  }

  /// libcurl's own sentence, which names hosts and ports but never the query; a proxy's password is not in it either.
  ///
  /// The milliseconds that it took are left out: the same failure must read the same each time.
  private func reasonText(_ code: CURLcode) -> String {
    let detail = String(cString: errorText).replacing(#/ after \d+ (?:ms|milliseconds)/#, with: "")
    return detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
  }

  private static func from(_ pointer: UnsafeMutableRawPointer?) -> CurlTransfer? {
    pointer.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
  }
}

extension Duration {
  /// Whole milliseconds, rounded down.
  var wholeMilliseconds: Int { Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000) }
}
