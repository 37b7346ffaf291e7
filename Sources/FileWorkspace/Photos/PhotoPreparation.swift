import Images

/// A copy of a photo that is sent in its place, as the settings want it.
struct PreparedPhoto {
  /// Where it lies until it is sent.
  var path: String
  /// The same, open.
  var file: any ReadableFile
  /// What it says.
  var content: PhotoContent
}

extension PhotoTransfers {
  /// Makes the copy that the settings ask for; nil where the file itself can be sent.
  ///
  /// The file is never altered. Where no copy can be made, nothing is sent: a person who wants the place left out does not
  /// want it sent by mistake.
  func prepared(_ upload: PhotoUpload, _ photo: any ReadableFile) async throws(PhotoEnd) -> PreparedPhoto? {
    let settings = upload.prepare
    guard !settings.isNothing else { return nil }
    let way = UploadCopy(
      stripsLocation: settings.stripLocation, longestEdge: settings.longestEdge, convertsHEIC: settings.heicToJPEG)
    let written = try makePassing()
    do throws(PhotoEnd) {
      let copy = try onDisk { () throws(FileSystemError) in try files.open(written.path) }
      guard let source = photo.systemPath, let target = copy.systemPath else {
        throw .fault(PhotoFault("photos cannot be prepared for sending here"))
      }
      guard let info = try Self.made(way, from: source, to: target) else {
        try? files.unlink(written.path)
        return nil
      }
      let size = try onDisk { () throws(FileSystemError) in try copy.currentStatus() }.size
      var content = upload.content
      (content.sha256, content.size) = (try await hash(copy), size)
      (content.contentType, content.width, content.height) = (info.format.mimeType, info.width, info.height)
      return PreparedPhoto(path: written.path, file: copy, content: content)
    } catch {
      try? files.unlink(written.path)
      throw error
    }
  }

  private static func made(
    _ way: UploadCopy, from source: String, to target: String
  ) throws(PhotoEnd) -> ImageInfo? {
    do throws(PhotoProblem) {
      let info = try ImageInfo(photo: source)
      guard try way.make(from: source, info: info, to: target) != nil else { return nil }
      return try ImageInfo(photo: target)
    } catch {
      throw .fault(PhotoFault(error.description))
    }
  }
}
