import CCrypto

/// A pair of keys on the curve P-256 that signs as ES256 does (RFC 7518, section 3.4).
package final class SigningKeyPair: @unchecked Sendable {
  // Proof: the key is never changed once it is made, and libcrypto lets every thread read it.
  private let key: OpaquePointer

  private init(_ key: OpaquePointer) { self.key = key }

  deinit { EVP_PKEY_free(key) }

  /// A new pair; its randomness is the operating system's.
  package static func random() -> SigningKeyPair {
    var made: OpaquePointer?
    let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
    defer { EVP_PKEY_CTX_free(context) }
    EVP_PKEY_keygen_init(context)
    EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
    EVP_PKEY_keygen(context, &made)
    guard let made else { preconditionFailure("libcrypto has no P-256") }
    return SigningKeyPair(made)
  }

  /// Reads a pair as `pem` writes it; `nil` for a text that is none.
  package convenience init?(pem: String) {
    let bytes = Array(pem.utf8)
    let buffer = BIO_new_mem_buf(bytes, Int32(bytes.count))
    defer { BIO_free(buffer) }
    guard let read = PEM_read_bio_PrivateKey(buffer, nil, nil, nil) else { return nil }
    self.init(read)
    guard EVP_PKEY_get_bits(read) == 256, point != nil else { return nil }
  }

  /// The private key (PKCS #8, in PEM): a secret.
  package var pem: String {
    let buffer = BIO_new(BIO_s_mem())
    defer { BIO_free(buffer) }
    PEM_write_bio_PKCS8PrivateKey(buffer, key, nil, nil, 0, nil, nil)
    var bytes = [UInt8](repeating: 0, count: Int(BIO_ctrl_pending(buffer)))
    let count = BIO_read(buffer, &bytes, Int32(bytes.count))
    return String(decoding: bytes.prefix(Int(max(count, 0))), as: UTF8.self)
  }

  /// The coordinates of the public key, 32 bytes each.
  package var publicPoint: (x: [UInt8], y: [UInt8]) {
    guard let point else { preconditionFailure("a pair has a point on its curve") }
    return point
  }

  private var point: (x: [UInt8], y: [UInt8])? {
    // The form without compression: 4, then x, then y.
    var bytes = [UInt8](repeating: 0, count: 65)
    var count = 0
    guard EVP_PKEY_get_octet_string_param(key, "encoded-pub-key", &bytes, bytes.count, &count) == 1, count == 65,
      bytes[0] == 4
    else { return nil }
    return (Array(bytes[1...32]), Array(bytes[33...]))
  }

  /// The signature of `message`, 64 bytes: r, then s.
  package func sign(_ message: [UInt8]) -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var der = [UInt8](repeating: 0, count: 80)
    var count = der.count
    EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key)
    precondition(
      EVP_DigestSign(context, &der, &count, message, message.count) == 1, "libcrypto cannot sign with P-256")
    let signature = der.withUnsafeBufferPointer { bytes in
      var place = bytes.baseAddress
      return d2i_ECDSA_SIG(nil, &place, count)
    }
    defer { ECDSA_SIG_free(signature) }
    var raw = [UInt8](repeating: 0, count: 64)
    raw.withUnsafeMutableBufferPointer { raw in
      _ = BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw.baseAddress, 32)
      _ = BN_bn2binpad(ECDSA_SIG_get0_s(signature), raw.baseAddress?.advanced(by: 32), 32)
    }
    return raw
  }

  /// Whether a signature is this pair's of `message`.
  package func isSignature(_ raw: [UInt8], of message: [UInt8]) -> Bool {
    guard raw.count == 64, let signature = ECDSA_SIG_new() else { return false }
    defer { ECDSA_SIG_free(signature) }
    let (r, s) = raw.withUnsafeBufferPointer { raw in
      (BN_bin2bn(raw.baseAddress, 32, nil), BN_bin2bn(raw.baseAddress?.advanced(by: 32), 32, nil))
    }
    // The signature takes over both numbers.
    guard ECDSA_SIG_set0(signature, r, s) == 1 else { return false }
    var der: UnsafeMutablePointer<UInt8>?
    let count = i2d_ECDSA_SIG(signature, &der)
    defer { CRYPTO_free(der, #file, #line) }
    guard count > 0, let der else { return false }
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
    return EVP_DigestVerify(context, der, Int(count), message, message.count) == 1
  }
}
