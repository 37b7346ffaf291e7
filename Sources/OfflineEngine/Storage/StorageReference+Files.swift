import SupabaseAPI

extension StorageReference {
  /// Reads an object into a file, which is there only when it is whole; one that is there is replaced.
  ///
  /// What has come when the connection breaks or the program dies stays in a hidden file beside it, and the next call
  /// for the same object and file goes on from there, unless the object has another content by then. While network
  /// access is off the copy on this device is taken.
  @discardableResult
  public func download(
    _ path: String, to file: String, transform: ImageTransformation? = nil
  ) async throws -> DownloadedObject {
    try await download(path, to: file, transform: transform) { _ in }
  }

  /// The same as the events of the transfer.
  public func downloading(
    _ path: String, to file: String, transform: ImageTransformation? = nil
  ) -> Transfer<DownloadedObject> {
    client.transfer { try await download(path, to: file, transform: transform, report: $0) }
  }

  private func download(
    _ path: String, to file: String, transform: ImageTransformation?,
    report: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> DownloadedObject {
    let place = try objectPath(path)
    if try isAnsweredFromCopy(transform) { return try writeCopy(place, to: file) }
    let form = try authenticatedURL(path, transform: transform)
    let received: ResumedFile
    do { received = try ResumedFile(file, of: "\(client.currentUser)\n\(form)") } catch {
      throw OfflineError.file(reason: "\(error)")
    }
    do {
      let response = try await receive(place, transform, received, Monotonic(total: nil, report))
      try received.finish()
      return DownloadedObject(response)
    } catch let trouble as FileTrouble {
      received.discard()
      throw OfflineError.file(reason: "\(trouble)")
    } catch {
      // Only of a connection that broke, or a call that was given up, is there something to go on with.
      if let error = error as? OfflineError, !error.isConnectivity { received.discard() }
      throw error
    }
  }

  private func receive(
    _ place: ObjectPath, _ transform: ImageTransformation?, _ received: ResumedFile, _ progress: Monotonic
  ) async throws -> HTTPResponse {
    let rest = received.rest
    do {
      let response = try await send(place, transform, rest, received, progress)
      if response.status == 200 || received.isGoingOn { return response }
    } catch OfflineError.refused(let refusal) where refusal.status == 416 && rest != nil {
      // There is no more than what is here, of whatever content.
    }
    received.discard()
    let response = try await send(place, transform, nil, received, progress)
    guard response.status == 200 else {
      throw OfflineError.notAnAnswer(
        .notAnAnswer(status: response.status, reason: "a part that was not asked for", retryAfter: nil))
    }
    return response
  }

  private func send(
    _ place: ObjectPath, _ transform: ImageTransformation?, _ rest: DownloadRest?, _ received: ResumedFile,
    _ progress: Monotonic
  ) async throws -> HTTPResponse {
    try await call { storage, token throws(SupabaseError) in
      let bodies = HTTPBodies(sink: received) {
        // Before that it is not known where it begins.
        guard received.isReceiving else { return }
        let here = received.isGoingOn ? rest?.offset ?? 0 : 0
        progress.note(here + $0.received, of: $0.receivedTotal.map { here + $0 })
      }
      return try await storage.download(
        place, transform: transform, fields: rest?.fields ?? [:], accessToken: token, bodies)
    }
  }
}
