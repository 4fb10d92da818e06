import CLinux
import FoundationEssentials
import Glibc

/// A server that goes on in the background: the command starts itself again in a session of its own and
/// ends when that one listens, so that "it returned" means "it can be used".
enum Daemon {
  private static let variable = "OTCHAT_DAEMON"

  static let isChild = ProcessInfo.processInfo.environment[variable] != nil

  /// Returns when the child listens.
  static func start() throws {
    var pipe: [Int32] = [-1, -1]
    guard otchat_pipe(&pipe) else { throw Failure(.internalError, "no descriptor left for a pipe") }
    defer { close(pipe[0]) }
    for end in pipe { otchat_set_nonblocking(end, false) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, 0x80)  // POSIX_SPAWN_SETSID, a macro that Glibc does not import

    setenv(variable, "1", 1)
    var words = CommandLine.arguments.map { strdup($0) } + [nil]
    defer { words.forEach { free($0) } }
    var child = pid_t()
    let status = posix_spawn(&child, "/proc/self/exe", &actions, &attributes, &words, environ)
    close(pipe[1])
    guard status == 0 else {
      throw Failure(
        .internalError, "cannot start the background process: \(String(cString: strerror(status)))")
    }
    var buffer = [UInt8](repeating: 0, count: 1024)
    let count = read(pipe[0], &buffer, buffer.count)
    if count > 0 { return Output.write(String(decoding: buffer[..<count], as: UTF8.self)) }
    // It ended before it listened, and has said why on stderr.
    var ending: Int32 = 0
    waitpid(child, &ending, 0)
    exit(ending & 0x7F == 0 ? (ending >> 8) & 0xFF : ExitCode.internalError.rawValue)
  }

  /// Called by the child once its parent knows: nothing holds on to the terminal any more.
  static func detach(keepingErrors: Bool) {
    let null = open("/dev/null", O_RDWR)
    guard null >= 0 else { return }
    dup2(null, STDIN_FILENO)
    dup2(null, STDOUT_FILENO)
    if !keepingErrors { dup2(null, STDERR_FILENO) }
    close(null)
  }
}
