import CCrypto

/// The SHA-256 of bytes that come in pieces.
package final class SHA256 {
  private let context: OpaquePointer?

  /// Begins with no bytes.
  package init() {
    context = EVP_MD_CTX_new()
    EVP_DigestInit_ex(context, EVP_sha256(), nil)
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Takes the next bytes.
  package func update(_ bytes: UnsafeRawBufferPointer) {
    EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  /// The digest of all bytes in hexadecimal; called once, at the end.
  package func finish() -> String {
    var digest = [UInt8](repeating: 0, count: 32)
    EVP_DigestFinal_ex(context, &digest, nil)
    return String(decoding: digest.flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  private static let digits = Array("0123456789abcdef".utf8)
}
