import CCrypto

/// The digest of bytes that come in pieces.
package final class Digest {
  /// How a digest is made.
  package enum Algorithm {
    /// What object stores make their ETags of, where it protects nothing.
    case md5
    case sha256
  }

  private let context: OpaquePointer?

  /// Begins with no bytes.
  package init(_ algorithm: Algorithm) {
    context = EVP_MD_CTX_new()
    let type =
      switch algorithm {
      case .md5: EVP_md5()
      case .sha256: EVP_sha256()
      }
    EVP_DigestInit_ex(context, type, nil)
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Takes the next bytes.
  package func update(_ bytes: UnsafeRawBufferPointer) {
    EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  /// The digest of all bytes in hexadecimal; called once, at the end.
  package func finish() -> String {
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    EVP_DigestFinal_ex(context, &digest, &count)
    return String(
      decoding: digest.prefix(Int(count)).flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 15)]] },
      as: UTF8.self)
  }

  private static let digits = Array("0123456789abcdef".utf8)
}
