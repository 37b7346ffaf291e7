/// One message of the kernel's routing socket.
///
/// The layouts are those of netlink(7) and rtnetlink(7), in the machine's own byte order.
struct NetlinkMessage {
  /// `nlmsg_type`, such as `NetlinkMessage.newLink`.
  var kind: UInt16
  /// `nlmsg_flags`.
  var flags: UInt16
  /// What follows the header.
  var body: [UInt8]

  // linux/netlink.h and linux/rtnetlink.h
  static let error: UInt16 = 2
  static let done: UInt16 = 3
  static let newLink: UInt16 = 16
  static let goneLink: UInt16 = 17
  static let getLink: UInt16 = 18
  static let newAddress: UInt16 = 20
  static let goneAddress: UInt16 = 21
  static let getAddress: UInt16 = 22
  static let newRoute: UInt16 = 24
  static let goneRoute: UInt16 = 25
  static let getRoute: UInt16 = 26
  /// `NLM_F_DUMP_INTR`: something changed while a dump was read, so that it may be inconsistent.
  static let interrupted: UInt16 = 0x10
  static let headerSize = 16

  /// The messages of one datagram; `nil` where it is not whole or no messages at all.
  static func all(in bytes: [UInt8]) -> [NetlinkMessage]? {
    var messages: [NetlinkMessage] = []
    var start = 0
    while start < bytes.count {
      guard let length = bytes.number(UInt32.self, at: start), length >= headerSize, Int(length) <= bytes.count - start,
        let kind = bytes.number(UInt16.self, at: start + 4), let flags = bytes.number(UInt16.self, at: start + 6)
      else { return nil }
      let end = start + Int(length)
      messages.append(NetlinkMessage(kind: kind, flags: flags, body: Array(bytes[(start + headerSize)..<end])))
      start += (Int(length) + 3) & ~3  // Messages begin at multiples of four.
    }
    return messages
  }

  /// A number among the attributes behind the message's own header.
  func attribute(_ kind: UInt16, behind header: Int) -> UInt32? {
    var start = header
    while let length = body.number(UInt16.self, at: start), let found = body.number(UInt16.self, at: start + 2) {
      guard length >= 4 else { return nil }
      if found == kind { return body.number(UInt32.self, at: start + 4) }
      start += (Int(length) + 3) & ~3
    }
    return nil
  }
}

/// Links, addresses and default routes, as far as they tell whether there is a network.
struct NetworkPicture {
  /// Links that are up and have a carrier, without the loopback.
  private var running: Set<UInt32> = []
  /// Links with an address that is good beyond the link.
  private var addressed: Set<UInt32> = []
  /// The links that default routes lead to; `nil` for one over several links.
  private var defaultRoutes: [UInt32?] = []

  /// Whether a link that is up has a global address, or a default route leads somewhere.
  var availability: NetworkAvailability {
    let leads = defaultRoutes.contains { link in link.map(running.contains) ?? true }
    return leads || !running.isDisjoint(with: addressed) ? .online : .offline
  }

  /// Adds what a message of a dump says; others are passed over.
  mutating func add(_ message: NetlinkMessage) {
    switch message.kind {
    case NetlinkMessage.newLink: addLink(message)
    case NetlinkMessage.newAddress: addAddress(message)
    case NetlinkMessage.newRoute: addRoute(message)
    default: break
    }
  }

  /// Whether a message says that something changed here, so that it is time to look again.
  ///
  /// A machine may have very many routes, of which only the default ones count.
  static func isTouched(by message: NetlinkMessage) -> Bool {
    switch message.kind {
    case NetlinkMessage.newLink, NetlinkMessage.goneLink, NetlinkMessage.newAddress, NetlinkMessage.goneAddress: true
    case NetlinkMessage.newRoute, NetlinkMessage.goneRoute: message.body.number(UInt8.self, at: 1) == 0
    default: false
    }
  }

  /// `struct ifinfomsg`: family, padding, type (2), index (4), flags (4), change (4).
  private mutating func addLink(_ message: NetlinkMessage) {
    let (up, loopback, hasCarrier): (UInt32, UInt32, UInt32) = (0x1, 0x8, 0x40)  // IFF_UP, IFF_LOOPBACK, IFF_RUNNING
    guard let index = message.body.number(UInt32.self, at: 4), let flags = message.body.number(UInt32.self, at: 8)
    else { return }
    if flags & (up | hasCarrier | loopback) == up | hasCarrier { running.insert(index) }
  }

  /// `struct ifaddrmsg`: family, prefix length, flags, scope, index (4).
  private mutating func addAddress(_ message: NetlinkMessage) {
    guard let family = message.body.first, Self.families.contains(family),
      let scope = message.body.number(UInt8.self, at: 3), let index = message.body.number(UInt32.self, at: 4)
    else { return }
    let flags = message.attribute(8, behind: 8) ?? UInt32(message.body[2])  // IFA_FLAGS has more bits than the header.
    let (failed, tentative): (UInt32, UInt32) = (0x08, 0x40)  // IFA_F_DADFAILED, IFA_F_TENTATIVE
    if scope == 0, flags & (failed | tentative) == 0 { addressed.insert(index) }  // RT_SCOPE_UNIVERSE
  }

  /// `struct rtmsg`: family, destination and source lengths, TOS, table, protocol, scope, type, flags (4).
  private mutating func addRoute(_ message: NetlinkMessage) {
    guard let family = message.body.first, Self.families.contains(family),
      message.body.number(UInt8.self, at: 1) == 0,
      message.body.number(UInt8.self, at: 7) == 1,  // RTN_UNICAST: the kernel has unreachable default routes, too.
      let flags = message.body.number(UInt32.self, at: 8), flags & 0x11 == 0  // RTNH_F_DEAD, RTNH_F_LINKDOWN
    else { return }
    defaultRoutes.append(message.attribute(4, behind: 12))  // RTA_OIF
  }

  private static let families: Set<UInt8> = [2, 10]  // AF_INET, AF_INET6
}

extension [UInt8] {
  /// The number at an offset in the machine's byte order; `nil` where the bytes end before.
  fileprivate func number<Number: FixedWidthInteger>(_: Number.Type, at offset: Int) -> Number? {
    guard offset >= 0, count - offset >= MemoryLayout<Number>.size else { return nil }
    return withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) }
  }
}
