/// The shells that completions are written for.
package enum Shell: String, CaseIterable, Sendable {
  case bash, zsh, fish
}

extension Program {
  /// A script that makes the shell complete this program's command line. What is not in this version is
  /// left out.
  package func completions(for shell: Shell) -> String {
    switch shell {
    case .bash: bashCompletions()
    case .zsh: zshCompletions()
    case .fish: fishCompletions()
    }
  }

  var completedCommands: [Command] { visibleCommands.filter { $0.availability == .available } }

  /// The words that may follow `path` on the way to a command, with what they are.
  func completedWords(after path: [String]) -> [(word: String, documentation: String)] {
    var words: [(word: String, documentation: String)] = []
    for command in completedCommands
    where command.path.count > path.count && Array(command.path.prefix(path.count)) == path {
      let word = command.path[path.count]
      if words.contains(where: { $0.word == word }) { continue }
      let whole = command.path.count == path.count + 1
      let below = completedCommands.filter {
        $0.path.prefix(path.count + 1) == command.path.prefix(path.count + 1)
      }
      words.append(
        (word, whole ? command.summary : below.map { $0.path[path.count + 1] }.joined(separator: ", ")))
    }
    if path.isEmpty { words.append(("help", "tell about a command")) }
    return words
  }

  /// Every path that is a command's or leads to one, shortest first.
  var completedPaths: [[String]] {
    var paths: [[String]] = [[]]
    for command in completedCommands {
      for length in 1...command.path.count where !paths.contains(Array(command.path.prefix(length))) {
        paths.append(Array(command.path.prefix(length)))
      }
    }
    return paths
  }
}

extension Command {
  var completedFlags: [Flag] { flags.filter { $0.availability == .available } }
}

extension Flag {
  /// What the shell offers for the value.
  enum CompletedValue: Equatable {
    case nothing, files, directories
    case words([String])
  }

  var completedValue: CompletedValue {
    switch value {
    case .file: .files
    case .directory: .directories
    case .choice(_, let choices): .words(choices.filter { $0.availability == .available }.map(\.completed))
    default: .nothing
    }
  }
}

extension Choice {
  /// The word up to where the user has to go on.
  var completed: String {
    if case .required = parameter { "\(name):" } else { name }
  }
}
