extension Program {
  /// `_arguments` specifications, a function for each command and each group of them.
  func zshCompletions() -> String {
    var lines = [
      "#compdef \(name)", "# zsh completions for \(name); put it as _\(name) into a folder of $fpath",
    ]
    for path in completedPaths.reversed() {
      lines += ["", "\(function(path))() {"]
      lines += command(path).map(arguments) ?? words(path)
      lines.append("}")
    }
    lines += ["", "if [[ $funcstack[1] == _\(name) ]]; then", "  _\(name) \"$@\"", "else"]
    lines += ["  compdef _\(name) \(name)", "fi", ""]
    return lines.joined(separator: "\n")
  }

  private func function(_ path: [String]) -> String { (["_\(name)"] + path).joined(separator: "_") }

  private func words(_ path: [String]) -> [String] {
    let words = completedWords(after: path)
    var lines = ["  local line state", "  _arguments -C \\"]
    if path.isEmpty {
      lines += ["    '(- *)'{-h,--help}'[tell about it]' '(- *)--version[show the version]' \\"]
    }
    lines += ["    '1: :->word' '*:: :->rest'", "  case $state in", "    word)", "      local -a words=("]
    for (word, documentation) in words { lines.append("        '\(word):\(zshText(documentation))'") }
    lines += ["      )", "      _describe command words ;;", "    rest)", "      case $line[1] in"]
    for (word, _) in words where completedPaths.contains(path + [word]) {
      lines.append("        \(word)) \(function(path + [word])) ;;")
    }
    return lines + ["      esac ;;", "  esac"]
  }

  private func arguments(of command: Command) -> [String] {
    var lines = ["  _arguments -s \\"]
    for flag in command.completedFlags {
      let text = zshText(flag.documentation)
      let more = flag.isRepeatable ? "*" : ""
      let value = flag.value.placeholder.map { ":\(zshText($0)):\(action(flag.completedValue))" } ?? ""
      let equals = flag.value == .none ? "" : "="
      for name in flag.longNames { lines.append("    '\(more)\(name)\(equals)[\(text)]\(value)' \\") }
      if let short = flag.short {
        lines.append("    '\(more)-\(short)\(flag.value == .none ? "" : "+")[\(text)]\(value)' \\")
      }
    }
    for (index, operand) in command.operands.enumerated() {
      let words = operand.choices.isEmpty ? " " : "(\(operand.choices.joined(separator: " ")))"
      let optional = operand.isRequired ? "" : ":"
      lines.append("    '\(index + 1):\(optional)\(zshText(operand.placeholder)):\(words)' \\")
    }
    lines.append("    '(- *)'{-h,--help}'[tell about it]'")
    return lines
  }

  private func action(_ value: Flag.CompletedValue) -> String {
    switch value {
    case .nothing: " "
    case .files: "_files"
    case .directories: "_files -/"
    case .words(let words): "(" + words.map { $0.replacing(":", with: "\\:") }.joined(separator: " ") + ")"
    }
  }

  /// Quotes for a single-quoted specification in which brackets and colons have a meaning.
  private func zshText(_ text: String) -> String {
    text.replacing("'", with: "'\\''").replacing("[", with: "\\[").replacing("]", with: "\\]")
      .replacing(":", with: "\\:")
  }
}
