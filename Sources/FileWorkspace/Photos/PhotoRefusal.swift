import SupabaseAPI

/// What the server's refusals mean for one photo.
enum PhotoRefusal {
  /// Whether the same request will be refused again.
  static func isFinal(_ refusal: ServerError) -> Bool {
    // What an upload in pieces is refused in passing, such as a place that another connection holds, has no name of its own.
    (400...499).contains(refusal.status) && ![408, 409, 423, 425, 429].contains(refusal.status)
      && refusal.code != "Resumable"
  }

  /// Why a photo was not taken, and what to do.
  static func reason(_ refusal: ServerError, _ upload: PhotoUpload) -> String {
    let bucket = upload.bucket
    switch refusal.code {
    case "EntityTooLarge":
      return "too large for the bucket '\(bucket)': the photo has \(upload.content.size) bytes (\(refusal.message))"
    case "InvalidMimeType":
      return "the bucket '\(bucket)' does not take \(upload.content.contentType) (\(refusal.message))"
    case "NoSuchBucket":
      return "there is no bucket '\(bucket)' in the project; make it, or name another one in tidemark.json"
    case "AccessDenied":
      return
        "the policies of the bucket '\(bucket)' forbid it: sending takes an insert and a select policy, and removing "
        + "what was replaced takes select and delete (\(refusal.message))"
    default: return "the server refused the upload: \(refusal)"
    }
  }
}
