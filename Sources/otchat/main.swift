import CLinux
import CommandLineKit
import FoundationEssentials
import Glibc

/// Hands over to one file a command.
func run(_ arguments: Arguments) async throws {
  switch arguments.command.name {
  case "connect": try await ConnectCommand(arguments).run()
  case "doctor": try await DoctorCommand(arguments).run()
  case "load": try await LoadCommand(arguments).run()
  case "run": try await RunCommand(arguments).run()
  case "devices": try await DevicesCommand(arguments).run()
  case "serve": try await ServeCommand(arguments).run()
  case "archive start", "archive stop", "archive list", "archive view", "archive delete":
    try await ArchiveCommand(arguments).run()
  default: throw Failure(.internalError, "no code for '\(arguments.command.name)'")
  }
}

// The number of a closed one would be that of the next file or socket, which then got what is said here.
for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 { _ = open("/dev/null", O_RDWR) }
_ = ProcessClock.start
otchat_return_large_blocks()
// Writing into a pipe that nobody reads is an error to handle, not a reason to die half way.
signal(SIGPIPE, SIG_IGN)
do {
  // On the first thread up to `run`, which takes one of the runtime's.
  switch try Commands.program.parse(Array(CommandLine.arguments.dropFirst())) {
  case .help(let path): Output.write(Commands.program.help(path, width: Output.width))
  case .version: Output.write("otchat \(Commands.version)\n")
  case .run(var arguments):
    try arguments.merge(environment: ProcessInfo.processInfo.environment)
    switch arguments.command.name {
    case "token create": try TokenCommand.create(arguments)
    case "token inspect": try TokenCommand.inspect(arguments)
    case "completions": try CompletionsCommand.run(arguments)
    case "man": Output.write(Commands.program.manPage(date: "2026-11-30"))
    default:
      try ProcessNeeds.check()
      try await run(arguments)
    }
  }
  try Output.checkWritten()
  try LogOutput.checkWritten()
} catch {
  let failure = Failure(error)
  failure.report()
  exit(failure.code.rawValue)
}
