import CMicrohttpd

/// The least that a server over libmicrohttpd can do: every request gets the same bytes, with nothing looked at.
///
/// What the stand-in's speed is measured beside.
package final class BareFront {
  private let daemon: OpaquePointer
  /// The port that it listens on.
  package let port: Int

  /// Begins to listen on a free port; `nil` when that fails.
  package init?() {
    let daemon = tm_mhd_start(
      0, 256, 120, 80 << 10, { _, _, _ in nil },
      { _, connection, _, _, _, _, size, place in
        guard let connection, let place, let size else { return .NO }
        // The first call brings the head, the last one no more of the body.
        if place.pointee == nil {
          place.pointee = UnsafeMutableRawPointer(bitPattern: 1)
          return .YES
        }
        if size.pointee > 0 {
          size.pointee = 0
          return .YES
        }
        let body: StaticString = #"[{"id":"8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10","title":"Buy oat milk","done":false}]"#
        let response = MHD_create_response_from_buffer(
          body.utf8CodeUnitCount, UnsafeMutableRawPointer(mutating: body.utf8Start), .RESPMEM_PERSISTENT)
        guard let response else { return .NO }
        defer { MHD_destroy_response(response) }
        MHD_add_response_header(response, "Content-Type", "application/json; charset=utf-8")
        return MHD_queue_response(connection, 200, response)
      }, { _, _, _, _ in }, { _, _, _, _ in }, nil)
    guard let daemon else { return nil }
    self.daemon = daemon
    port = Int(tm_mhd_port(daemon))
  }

  deinit { MHD_stop_daemon(daemon) }
}
