import CommandLineKit

/// `otchat completions SHELL`.
enum CompletionsCommand {
  static func run(_ arguments: Arguments) throws {
    guard let shell = arguments.operands.first.flatMap(Shell.init(rawValue:)) else {
      throw Failure(.usage, "which shell? bash, zsh or fish")
    }
    Output.write(Commands.program.completions(for: shell))
  }
}
