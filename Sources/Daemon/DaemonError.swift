/// Why a workspace cannot be opened, made or reached.
public enum DaemonError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Neither the folder nor one above it is a workspace.
  case noWorkspace(folder: String)
  /// The folder is a workspace already.
  case alreadyWorkspace(folder: String)
  /// Another process has the workspace.
  case locked(path: String, processID: Int32?)
  /// A file of the workspace cannot be read or written.
  case file(path: String, reason: String)
  /// The settings are wrong; the text names the place.
  case settings(String)
  /// The workspace belongs to no user yet.
  case noUser(folder: String)
  /// The workspace's state is gone; who is signed in is still known.
  case stateLost(folder: String)
  /// The running watcher did not answer as it should.
  case control(reason: String)
  /// The running watcher says nothing.
  case silentWatcher(seconds: Int)
  /// The running watcher did not do what was asked; its sentence says why.
  case refused(String)
  /// The server's word about signing in.
  case signIn(reason: String)

  /// What happened, where, and what to do.
  public var description: String {
    switch self {
    case .noWorkspace(let folder):
      "'\(folder)' is not a Tidemark workspace, and no folder above it is; 'tidemark init' makes one"
    case .alreadyWorkspace(let folder):
      "'\(folder)' is a workspace already (it has a .tidemark folder); nothing was changed"
    case .locked(let path, let processID?):
      "process \(processID) is working on this workspace (it holds '\(path)'); stop it, or wait until it has finished"
    case .locked(let path, nil):
      "another process is working on this workspace (it holds '\(path)'); stop it, or wait until it has finished"
    case .file(let path, let reason): "'\(path)': \(reason)"
    case .settings(let text): text
    case .noUser(let folder):
      "the workspace '\(folder)' belongs to no user yet; its set-up did not finish. Remove its .tidemark folder and run "
        + "'tidemark init' again: your files stay as they are"
    case .stateLost(let folder):
      "the state of the workspace '\(folder)' is lost; 'tidemark sync' or 'tidemark watch' builds it anew from the files "
        + "and the server's rows"
    case .control(let reason): "the running watcher did not answer: \(reason)"
    case .silentWatcher(let seconds):
      "the watcher of this workspace has said nothing for \(seconds) seconds: it is hung, or stopped by a signal. Nothing is "
        + "known to be done. Let it go on, or end it and start it again; .tidemark/lock holds its process number"
    case .refused(let sentence): sentence
    case .signIn(let reason): reason
    }
  }
}
