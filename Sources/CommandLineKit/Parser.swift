/// What a command line asks for.
package enum Invocation: Sendable {
  case run(Arguments)
  /// Help about a command; about the program if the path is empty, about a group if it is one's first word.
  case help([String])
  case version
}

extension Program {
  /// Reads a command line.
  ///
  /// `--flag value`, `--flag=value`, `-v`, clusters as `-vvq`, `-fVALUE`, `--` before operands. The last of
  /// several values wins unless the flag is repeatable. `help`, `--help`, `-h`, `--version` are built in.
  ///
  /// - Parameter words: without the program's name.
  package func parse(_ words: [String]) throws(UsageError) -> Invocation {
    guard let first = words.first else {
      throw .missingCommand(after: [], candidates: visibleCommands.map(\.name))
    }
    switch first {
    case "--help", "-h": return .help([])
    case "--version", "-V": return .version
    case "help": return .help(try path(in: Array(words.dropFirst())).path)
    default: break
    }
    if first.hasPrefix("-"), first.count > 1 {
      let names = ["--help", "--version"]
      throw .unknownFlag(
        first, command: name, suggestion: Suggestion.nearest(to: first, among: names),
        otherCommand: owner(of: first, besides: nil), place: .argument(1))
    }
    let (path, length) = try path(in: words)
    let rest = Array(words.dropFirst(length))
    guard let command = command(path) else {
      if rest.contains("--help") || rest.contains("-h") { return .help(path) }
      throw .missingCommand(after: path, candidates: commands(below: path).map(\.name))
    }
    var parser = Parser(program: self, command: command, words: rest, offset: length + 1)
    return try parser.run()
  }

  /// The longest run of words that names a command or a group of them.
  private func path(in words: [String]) throws(UsageError) -> (path: [String], length: Int) {
    var path: [String] = []
    for word in words {
      let longer = path + [word]
      guard command(longer) != nil || !commands(below: longer).isEmpty else {
        let below = commands(below: path)
        if below.isEmpty || word.hasPrefix("-") || command(path) != nil { break }
        let candidates = below.filter { !$0.isHidden }.map { $0.path[path.count] }
        let suggestion =
          path.isEmpty && word == "version" ? "--version" : Suggestion.nearest(to: word, among: candidates)
        throw .unknownCommand(longer.joined(separator: " "), suggestion: suggestion)
      }
      path = longer
    }
    return (path, path.count)
  }

  /// Another command that has the flag.
  fileprivate func owner(of flag: String, besides command: Command?) -> String? {
    visibleCommands.first { other in
      other.path != command?.path && other.flags.contains { $0.longNames.contains(flag) }
    }?.name
  }
}

private struct Parser {
  let program: Program
  let words: [String]
  /// Position of `words[0]` on the command line.
  let offset: Int
  var arguments: Arguments
  var index = 0
  /// The first fault, reported only if no `--help` follows.
  var command: Command { arguments.command }

  init(program: Program, command: Command, words: [String], offset: Int) {
    self.program = program
    self.words = words
    self.offset = offset
    arguments = Arguments(command: command)
  }

  mutating func run() throws(UsageError) -> Invocation {
    let flags = words.prefix { $0 != "--" }
    if flags.contains("--help") || flags.contains("-h") { return .help(command.path) }
    if command.availability == .notYet {
      throw .notYet("'\(program.name) \(command.name)'", place: .argument(1))
    }
    var operandsOnly = false
    while index < words.count {
      let word = words[index]
      index += 1
      if operandsOnly || word == "-" || !word.hasPrefix("-") {
        try addOperand(word)
      } else if word == "--" {
        operandsOnly = true
      } else if word.hasPrefix("--") {
        try parseLong(word)
      } else {
        try parseCluster(word)
      }
    }
    if let missing = command.operands.dropFirst(arguments.operands.count).first(where: \.isRequired) {
      throw .missingOperand(missing.placeholder, command: command.name, choices: missing.choices)
    }
    return .run(arguments)
  }

  private var place: Place { .argument(offset + index - 1) }

  private mutating func addOperand(_ word: String) throws(UsageError) {
    guard arguments.operands.count < command.operands.count else {
      throw .unexpectedOperand(word, command: command.name, place: place)
    }
    let operand = command.operands[arguments.operands.count]
    if !operand.choices.isEmpty, !operand.choices.contains(word) {
      throw .invalidValue(
        flag: operand.placeholder, value: word, expected: "one of " + operand.choices.joined(separator: ", "),
        suggestion: Suggestion.nearest(to: word, among: operand.choices), place: place)
    }
    arguments.operands.append(word)
  }

  private mutating func parseLong(_ word: String) throws(UsageError) {
    let equals = word.firstIndex(of: "=")
    let name = String(word[..<(equals ?? word.endIndex)])
    let attached = equals.map { String(word[word.index(after: $0)...]) }
    guard let flag = command.flags.first(where: { $0.longNames.contains(name) }) else {
      throw unknown(name)
    }
    let isNegated = flag.isNegatable && name == "--no-\(flag.name)"
    try apply(flag, spelt: name, isNegated: isNegated, attached: attached)
  }

  private mutating func parseCluster(_ word: String) throws(UsageError) {
    var letters = word.dropFirst()
    while let letter = letters.popFirst() {
      guard let flag = command.flags.first(where: { $0.short == letter }) else { throw unknown("-\(letter)") }
      if flag.value == .none {
        try apply(flag, spelt: "-\(letter)", isNegated: false, attached: nil)
      } else {
        let attached = letters.isEmpty ? nil : String(letters.first == "=" ? letters.dropFirst() : letters)
        return try apply(flag, spelt: "-\(letter)", isNegated: false, attached: attached)
      }
    }
  }

  private mutating func apply(_ flag: Flag, spelt: String, isNegated: Bool, attached: String?)
    throws(UsageError)
  {
    let place = place
    if flag.availability == .notYet { throw .notYet(spelt, place: place) }
    if flag.value == .none {
      if attached != nil { throw .unexpectedValue(flag: spelt, place: place) }
      arguments.add(.boolean(!isNegated), to: flag, from: .argument)
      return
    }
    let text: String
    if let attached {
      text = attached
    } else {
      let next = index < words.count ? words[index] : nil
      // A dash begins a flag, unless it is alone (stdin, stdout) or begins a number.
      if let next, next == "-" || !next.hasPrefix("-") || Double(next) != nil {
        text = next
        index += 1
      } else {
        throw .missingValue(flag: spelt, placeholder: flag.value.placeholder ?? "", next: next, place: place)
      }
    }
    arguments.add(try flag.value(of: text, at: place), to: flag, from: .argument)
  }

  private func unknown(_ name: String) -> UsageError {
    let names = command.flags.flatMap(\.longNames) + ["--help"]
    var suggestion: String?
    if name.hasPrefix("--") {
      let bare = name.dropFirst(2)
      suggestion =
        names.first { $0 == "--no-\(bare)" || $0 == "--\(bare.drop { $0 == "n" || $0 == "o" || $0 == "-" })" }
        ?? Suggestion.nearest(to: name, among: names)
    }
    let owner = suggestion == nil ? program.owner(of: name, besides: command) : nil
    return .unknownFlag(
      name, command: command.name, suggestion: suggestion, otherCommand: owner, place: place)
  }
}
