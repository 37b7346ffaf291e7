import Testing

@testable import OfflineEngine

@Suite("What the kernel says of the network")
struct NetworkPictureTests {
  private typealias Recorded = RecordedNetlink

  private static func picture(_ dumps: [UInt8]...) throws -> NetworkPicture {
    var picture = NetworkPicture()
    for dump in dumps { for message in try #require(NetlinkMessage.all(in: dump)) { picture.add(message) } }
    return picture
  }

  static let pictures: [(String, [[UInt8]], NetworkAvailability)] = [
    ("nothing at all", [], .offline),
    ("the loopback alone", [Recorded.loopbackLink, Recorded.loopbackAddresses, Recorded.noRoutes], .offline),
    (
      "a card with an address of its link alone",
      [Recorded.linksUp, Recorded.linkLocalAddresses, Recorded.linkLocalRoutes], .offline
    ),
    ("a card with a global address", [Recorded.linksUp, Recorded.globalAddresses, Recorded.noRoutes], .online),
    ("a default route over a card that is up", [Recorded.linksUp, Recorded.noRoutes, Recorded.defaultRoutes], .online),
    (
      "a card whose cable was pulled, its address and route still there",
      [Recorded.linksUnplugged, Recorded.globalAddresses, Recorded.routesUnplugged], .offline
    ),
    (
      "a default route that does not know yet that its card is down",
      [Recorded.linksUnplugged, Recorded.noRoutes, Recorded.defaultRoutes], .offline
    ),
    ("addresses and routes of cards that nobody knows", [Recorded.globalAddresses, Recorded.defaultRoutes], .offline),
  ]

  @Test(
    "a link that is up with a global address, or a default route that leads somewhere, is a network",
    arguments: pictures.map(\.0))
  func availability(_ name: String) throws {
    let (_, dumps, expected) = try #require(Self.pictures.first { $0.0 == name })
    var picture = NetworkPicture()
    for dump in dumps { for message in try #require(NetlinkMessage.all(in: dump)) { picture.add(message) } }
    #expect(picture.availability == expected)
  }

  /// A default route of a family, a type and flags, over a link or several.
  private static func route(
    family: UInt8 = 2, length: UInt8 = 0, type: UInt8 = 1, flags: UInt8 = 0, over link: UInt8?
  ) -> NetlinkMessage {
    var body: [UInt8] = [family, length, 0, 0, 254, 3, 0, type] + number(flags)
    if let link { body += half(8) + half(4) + number(link) }
    return NetlinkMessage(kind: NetlinkMessage.newRoute, flags: 2, body: body)
  }

  private static func number(_ value: UInt8) -> [UInt8] { withUnsafeBytes(of: UInt32(value), Array.init) }
  private static func half(_ value: UInt16) -> [UInt8] { withUnsafeBytes(of: value, Array.init) }

  static let routes: [(String, NetlinkMessage, NetworkAvailability)] = [
    ("over a card", route(over: 2), .online), ("of IPv6", route(family: 10, over: 2), .online),
    ("over several cards", route(over: nil), .online), ("over the loopback", route(over: 1), .offline),
    ("unreachable", route(family: 10, type: 7, over: 2), .offline), ("dead", route(flags: 1, over: 2), .offline),
    ("over a card without carrier", route(flags: 16, over: 2), .offline),
    ("of another family", route(family: 28, over: 2), .offline),
    ("to one network", route(length: 8, over: 2), .offline),
  ]

  @Test("a default route leads somewhere", arguments: routes.map(\.0))
  func route(_ name: String) throws {
    let (_, route, expected) = try #require(Self.routes.first { $0.0 == name })
    var picture = try Self.picture(Recorded.linksUp)
    picture.add(route)
    #expect(picture.availability == expected)
  }

  /// An address in the flags of its header, or those behind it.
  private static func address(family: UInt8 = 2, scope: UInt8 = 0, header: UInt8 = 0, flags: UInt8? = nil)
    -> NetlinkMessage
  {
    var body: [UInt8] = [family, 24, header, scope] + number(2)
    if let flags { body += half(8) + half(8) + number(flags) }
    return NetlinkMessage(kind: NetlinkMessage.newAddress, flags: 2, body: body)
  }

  static let addresses: [(String, NetlinkMessage, NetworkAvailability)] = [
    ("global", address(), .online), ("of IPv6", address(family: 10, flags: 0x80), .online),
    ("of the link", address(scope: 253), .offline), ("of the machine", address(scope: 254), .offline),
    ("not checked yet", address(family: 10, flags: 0x40), .offline),
    ("somebody else's", address(family: 10, header: 0x08), .offline),
    ("of another family", address(family: 16), .offline),
  ]

  @Test("an address is good for a network", arguments: addresses.map(\.0))
  func address(_ name: String) throws {
    let (_, address, expected) = try #require(Self.addresses.first { $0.0 == name })
    var picture = try Self.picture(Recorded.linksUp)
    picture.add(address)
    #expect(picture.availability == expected)
  }

  static let events: [(String, [UInt8], Bool)] = [
    ("a new address", Recorded.addressEvent, true), ("a new default route", Recorded.defaultRouteEvent, true),
    ("a pulled cable", Recorded.unpluggedEvent, true), ("a card that is gone", Recorded.removedEvent, true),
    ("a route to some network", Recorded.otherRouteEvent, false), ("the end of a dump", Recorded.noRoutes, false),
  ]

  @Test("it is time to look again", arguments: events.map(\.0))
  func touched(_ name: String) throws {
    let (_, bytes, expected) = try #require(Self.events.first { $0.0 == name })
    let messages = try #require(NetlinkMessage.all(in: bytes))
    #expect(messages.contains(where: NetworkPicture.isTouched) == expected)
  }

  @Test("bytes that end early or say a wrong length are no messages, and nothing is read beyond them")
  func malformed() {
    for whole in [Recorded.globalAddresses, Recorded.defaultRoutes, Recorded.linksUp] {
      for length in 0..<whole.count {
        let cut = Array(whole[..<length])
        guard let messages = NetlinkMessage.all(in: cut) else { continue }
        var picture = NetworkPicture()
        for message in messages {
          picture.add(message)
          for end in message.body.indices {
            var message = message
            message.body = Array(message.body[..<end])
            picture.add(message)
            _ = NetworkPicture.isTouched(by: message)
          }
        }
      }
    }
    for length in [UInt32(0), 15, 21, .max] {
      let header = withUnsafeBytes(of: length, Array.init) + [UInt8](repeating: 0, count: 16)
      #expect(NetlinkMessage.all(in: header) == nil)
    }
    #expect(Self.address(flags: 0).attribute(9, behind: 8) == nil)
    var endless = Self.address(flags: 0)
    endless.body[8] = 0  // An attribute of no length.
    #expect(endless.attribute(9, behind: 8) == nil)
  }
}

@Suite("News of the network")
struct ConnectivityTests {
  @Test("the system's monitor says at once how it is, and ends with the loop")
  func live() async {
    var first: NetworkAvailability?
    for await state in NetlinkMonitor().states() {
      first = state
      break
    }
    #expect(first == .online || first == .offline)
  }

  @Test("a cancelled task ends the monitor's loop")
  func cancelled() async {
    let begun = Gate()
    let reading = Task {
      for await _ in NetlinkMonitor().states() { begun.open() }
      return true
    }
    await begun.opened()
    reading.cancel()
    #expect(await reading.value)
  }

  private struct Broken: Error {}

  /// A caller's sequence that fails at its end.
  private static func failing(_ states: [NetworkAvailability]) -> AsyncThrowingStream<NetworkAvailability, any Error> {
    AsyncThrowingStream { continuation in
      for state in states { continuation.yield(state) }
      continuation.finish(throwing: Broken())
    }
  }

  private static func ending(_ states: [NetworkAvailability]) -> AsyncStream<NetworkAvailability> {
    AsyncStream { continuation in
      for state in states { continuation.yield(state) }
      continuation.finish()
    }
  }

  @Test(
    "a caller's own sequence stands in for the monitor; when it fails or ends, nothing is known",
    arguments: [true, false])
  func sequence(fails: Bool) async {
    let said: [NetworkAvailability] = [.offline, .online, .offline]
    let states =
      fails
      ? SequenceConnectivity(Self.failing(said)).states() : SequenceConnectivity(Self.ending(said)).states()
    var heard: [NetworkAvailability] = []
    for await state in states { heard.append(state) }
    #expect(heard == said + [.unknown])
  }
}
