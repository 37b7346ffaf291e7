import CCrypto

/// The few functions of libcrypto that tokens and passwords need.
enum Crypto {
  /// The HMAC-SHA-256 of `message`, 32 bytes.
  static func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &digest, &length)
    return digest
  }

  /// Derives 32 bytes from a password (PBKDF2 with HMAC-SHA-256), slow on purpose: 100,000 rounds take some 30 ms.
  static func pbkdf2(password: [UInt8], salt: [UInt8], rounds: Int) -> [UInt8] {
    var derived = [UInt8](repeating: 0, count: 32)
    let characters = password.map { CChar(bitPattern: $0) }
    PKCS5_PBKDF2_HMAC(
      characters, Int32(characters.count), salt, Int32(salt.count), Int32(rounds), EVP_sha256(), Int32(derived.count),
      &derived)
    return derived
  }

  /// Compares without letting the time tell where the first difference is.
  static func isEqualInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
  }

  /// Random bytes from the operating system, fit for keys.
  static func randomBytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    // OpenSSL fails only when the kernel gives no randomness at all; a key of zeros must never leave then.
    precondition(RAND_bytes(&bytes, Int32(count)) == 1, "the operating system gives no random bytes")
    return bytes
  }
}
