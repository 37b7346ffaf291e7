import CCurl

extension CurlSettings {
  /// Sets where a handle goes and how: the URL, the proxy, the certificates, the limit on connecting.
  ///
  /// - Returns: Whether libcurl took every option.
  func setRoute(of easy: UnsafeMutableRawPointer, url: String, to address: HTTPAddress) -> Bool {
    func set(_ option: CURLoption, _ value: Int) -> Bool { tm_setopt_long(easy, option, value) == CURLE_OK }
    func set(_ option: CURLoption, _ text: String) -> Bool { tm_setopt_text(easy, option, text) == CURLE_OK }
    let proxy = address.scheme == "https" ? httpsProxy : httpProxy
    return set(CURLOPT_NOSIGNAL, 1)
      // Without this, cancelling during a name look-up would block every other transfer until the look-up ends.
      && set(CURLOPT_QUICK_EXIT, 1)
      && set(CURLOPT_CONNECTTIMEOUT_MS, max(1, connectLimit.wholeMilliseconds))
      && set(CURLOPT_URL, url)
      && set(CURLOPT_PROTOCOLS_STR, "http,https")
      && set(CURLOPT_TCP_KEEPALIVE, 1)
      // An empty text means none; leaving the option out would make libcurl read the environment.
      && set(CURLOPT_PROXY, address.isLoopback ? "" : proxy ?? "")
      && set(CURLOPT_NOPROXY, hostsWithoutProxy)
      && (authoritiesFile.map { set(CURLOPT_CAINFO, $0) } ?? true)
  }
}
