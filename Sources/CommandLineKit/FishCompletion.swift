extension Program {
  /// One `complete` line for each word, flag and value.
  func fishCompletions() -> String {
    var lines = [
      "# fish completions for \(name); load with: \(name) completions fish | source",
      "complete -c \(name) -f",
    ]
    for path in completedPaths {
      let condition = fishCondition(path)
      for (word, documentation) in completedWords(after: path) {
        lines.append("complete -c \(name)\(condition) -a \(word) -d \(fishText(documentation))")
      }
      if path.isEmpty { lines.append("complete -c \(name)\(condition) -l version -d 'show the version'") }
      guard let command = command(path) else { continue }
      for operand in command.operands where !operand.choices.isEmpty {
        lines.append("complete -c \(name)\(condition) -a '\(operand.choices.joined(separator: " "))'")
      }
      for flag in command.completedFlags { lines += fish(flag, condition) }
    }
    lines.append("complete -c \(name) -s h -l help -d 'tell about it'")
    return lines.joined(separator: "\n") + "\n"
  }

  private func fish(_ flag: Flag, _ condition: String) -> [String] {
    let value =
      switch flag.completedValue {
      case .nothing: flag.value == .none ? "" : " -x"
      case .files: " -r -F"
      case .directories: " -x -a '(__fish_complete_directories)'"
      case .words(let words): " -x -a '\(words.joined(separator: " "))'"
      }
    let short = flag.short.map { " -s \($0)" } ?? ""
    return flag.longNames.enumerated().map { index, long in
      "complete -c \(name)\(condition)\(index == 0 ? short : "") -l \(long.dropFirst(2))\(value)"
        + " -d \(fishText(flag.documentation))"
    }
  }

  /// Whether the words typed so far lead to `path` and no further.
  private func fishCondition(_ path: [String]) -> String {
    var tests = path.map { "__fish_seen_subcommand_from \($0)" }
    let further = completedWords(after: path).map(\.word)
    if path.isEmpty { return " -n __fish_use_subcommand" }
    if !further.isEmpty { tests.append("not __fish_seen_subcommand_from \(further.joined(separator: " "))") }
    return " -n '\(tests.joined(separator: "; and "))'"
  }

  private func fishText(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
  }
}
