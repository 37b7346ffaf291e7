import CCrypt

/// How passwords are kept: by bcrypt with a salt of their own, as Supabase Auth keeps them.
///
/// libxcrypt does it, the library that hashes the log-in passwords of Linux itself.
struct Passwords: Sendable {
  /// The logarithm of the number of rounds: 4 takes a millisecond, 10 some 60, each more the double.
  let cost: Int
  let effects: StandInEffects

  /// The costs that bcrypt has.
  static let costs = 4...31
  /// bcrypt takes no notice of what follows.
  static let bytesMax = 72

  func hash(_ password: String) -> String {
    let random = effects.randomBytes(16)
    var setting = [CChar](repeating: 0, count: Int(CRYPT_GENSALT_OUTPUT_SIZE))
    let made = random.withUnsafeBytes { random in
      crypt_gensalt_rn(
        "$2b$", UInt(cost), random.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(random.count), &setting,
        Int32(setting.count))
    }
    guard made != nil, let hash = Self.crypt(password, setting: setting) else {
      preconditionFailure("libxcrypt has no bcrypt of cost \(cost)")
    }
    return hash
  }

  func isCorrect(_ password: String, for hash: String) -> Bool {
    guard let found = Self.crypt(password, setting: hash.utf8CString.map { $0 }) else { return false }
    // Hashes of unequal passwords tell nothing of one another, so their comparison may take what time it takes.
    return found == hash
  }

  /// The hash of a password in the way that `setting`, a hash or the beginning of one, says; `nil` where it says nothing.
  private static func crypt(_ password: String, setting: [CChar]) -> String? {
    let size = MemoryLayout<crypt_data>.size
    let data = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: MemoryLayout<crypt_data>.alignment)
    data.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    defer { data.deallocate() }
    return crypt_rn(password, setting, data, Int32(size)).map { String(cString: $0) }
  }
}
