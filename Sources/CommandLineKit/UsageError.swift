/// Where a setting came from; later cases are stronger.
package enum Origin: Int, Comparable, Sendable {
  case defaultValue, file, environment, argument

  package static func < (left: Origin, right: Origin) -> Bool { left.rawValue < right.rawValue }
}

/// Where a value stands, for errors.
package enum Place: Sendable, Equatable {
  /// Position on the command line; the program's name is 0.
  case argument(Int)
  case environment(String)
  /// Path of a configuration file.
  case file(String)

  package var origin: Origin {
    switch self {
    case .argument: .argument
    case .environment: .environment
    case .file: .file
    }
  }
}

/// What is wrong with a command line, an environment variable or a configuration file.
package enum UsageError: Error, Equatable, Sendable {
  /// No command, or only the first word of one (`token`).
  case missingCommand(after: [String], candidates: [String])
  case unknownCommand(String, suggestion: String?)
  case unknownFlag(String, command: String, suggestion: String?, otherCommand: String?, place: Place)
  case missingValue(flag: String, placeholder: String, next: String?, place: Place)
  /// A value for a flag that takes none.
  case unexpectedValue(flag: String, place: Place)
  /// - Parameter value: nil if the flag's values are secret.
  case invalidValue(flag: String, value: String?, expected: String, suggestion: String?, place: Place)
  case unexpectedOperand(String, command: String, place: Place)
  case missingOperand(String, command: String, choices: [String])
  /// Declared, and not in this version: a flag, a command, or one word of a flag's values.
  case notYet(String, place: Place)
  case unknownKey(String, suggestion: String?, place: Place)
  /// A key of a configuration file that holds a list, or an object, or null, where one value is wanted.
  case wrongKind(key: String, expected: String, place: Place)

  /// One line: what and where.
  package var message: String {
    switch self {
    case .missingCommand(let prefix, _):
      prefix.isEmpty ? "no command given" : "'\(prefix.joined(separator: " "))' needs one more word"
    case .unknownCommand(let name, _): "unknown command '\(printable(name))'"
    case .unknownFlag(let flag, let command, _, _, let place):
      "unknown flag '\(printable(flag))' for '\(command)'\(text(of: place))"
    case .missingValue(let flag, let placeholder, _, let place):
      "\(flag) needs a value: \(flag) \(placeholder)\(text(of: place))"
    case .unexpectedValue(let flag, let place): "\(flag) takes no value\(text(of: place))"
    case .invalidValue(let flag, let value, let expected, _, let place):
      "\(flag): \(value.map { "'\(printable($0))' is not" } ?? "the value is not") \(expected)\(text(of: place))"
    case .unexpectedOperand(let operand, let command, let place):
      "'\(command)' does not take '\(printable(operand))'\(text(of: place))"
    case .missingOperand(let placeholder, let command, _): "'\(command)' needs \(placeholder)"
    case .notYet(let what, let place): "\(what) is not in this version yet\(text(of: place))"
    case .unknownKey(let key, _, let place): "unknown key '\(printable(key))'\(text(of: place))"
    case .wrongKind(let key, let expected, let place): "\(key) should be \(expected)\(text(of: place))"
    }
  }

  /// What the user can do, if there is something.
  package var hint: String? {
    switch self {
    case .missingCommand(_, let candidates): "one of: " + candidates.joined(separator: ", ")
    case .missingOperand(_, _, let choices):
      choices.isEmpty ? nil : "one of: " + choices.joined(separator: ", ")
    case .unknownCommand(_, let suggestion), .unknownKey(_, let suggestion, _),
      .invalidValue(_, _, _, let suggestion, _):
      suggestion.map { "did you mean '\($0)'?" }
    case .unknownFlag(_, _, let suggestion, let otherCommand, _):
      if let suggestion {
        "did you mean \(suggestion)?"
      } else if let otherCommand {
        "it is a flag of '\(otherCommand)'"
      } else {
        nil
      }
    case .missingValue(let flag, _, let next, _):
      next.map { "a value that begins with a dash is written \(flag)=\(printable($0))" }
    case .unexpectedOperand("help", _, _): "did you mean '--help'?"
    default: nil
    }
  }

  /// Whether a configuration file or the environment is at fault rather than the command line.
  package var isConfiguration: Bool {
    switch self {
    case .unknownFlag(_, _, _, _, let place), .missingValue(_, _, _, let place),
      .unexpectedValue(_, let place), .invalidValue(_, _, _, _, let place),
      .unexpectedOperand(_, _, let place), .notYet(_, let place), .unknownKey(_, _, let place),
      .wrongKind(_, _, let place):
      place.origin != .argument
    case .missingCommand, .unknownCommand, .missingOperand: false
    }
  }

  private func text(of place: Place) -> String {
    switch place {
    case .argument: ""
    case .environment(let name): " (environment variable \(name))"
    case .file(let path): " (in \(path))"
    }
  }

  /// User text on its way to a terminal: no control characters, not endless, and no token that stands in
  /// the wrong place.
  private func printable(_ text: String) -> String {
    if text.contains("T1==") || text.contains("eyJ") { return "a token, not shown" }
    let visible = text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : String($0) }
    return visible.count > 120 ? visible.prefix(119).joined() + "…" : visible.joined()
  }
}
