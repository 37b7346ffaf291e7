import CCrypto

/// The few functions of libcrypto that tokens, codes and handshakes need: this module alone imports it.
package enum Crypto {
  /// The HMAC-SHA-256 of `message`, 32 bytes.
  package static func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &digest, &length)
    return digest
  }

  /// The SHA-256 of `message`, 32 bytes.
  package static func sha256(_ message: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    EVP_Digest(message, message.count, &digest, nil, EVP_sha256(), nil)
    return digest
  }

  /// The SHA-1 of `message`, 20 bytes: for the handshake of WebSocket (RFC 6455), where it protects nothing.
  package static func sha1(_ message: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 20)
    EVP_Digest(message, message.count, &digest, nil, EVP_sha1(), nil)
    return digest
  }

  /// The bytes in Base64 with padding (RFC 4648, section 4).
  package static func base64(_ bytes: [UInt8]) -> String {
    var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
    let length = EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
    return String(decoding: text.prefix(Int(length)), as: UTF8.self)
  }

  /// Compares without letting the time tell where the first difference is.
  package static func isEqualInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
  }

  /// Random bytes from the operating system, fit for keys.
  package static func randomBytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    // OpenSSL fails only when the kernel gives no randomness at all; a key of zeros must never leave then.
    precondition(RAND_bytes(&bytes, Int32(count)) == 1, "the operating system gives no random bytes")
    return bytes
  }
}
