/// Said of everything that is declared and not there yet.
let notYetNote = "(not in this version yet)"

extension Flag {
  /// As help lists it: `-v, --verbose`, `--[no-]mic`, `--resolution WxH`.
  var synopsis: String {
    let dash = isNegatable ? "--[no-]\(name)" : "--\(name)"
    return dash + (value.placeholder.map { " \($0)" } ?? "")
  }

  /// The documentation with everything else that the declaration knows.
  var explanation: String {
    var notes: [String] = []
    switch defaultValue {
    case .none: break
    case .value(let text):
      notes.append("default: " + (isNegatable ? (text == "true" ? "on" : "off") : text))
    case .described(let text): notes.append("default: \(text)")
    }
    if isRepeatable { notes.append("repeatable") }
    if let environment { notes.append("env: \(environment)") }
    let tail = notes.isEmpty ? "" : " [\(notes.joined(separator: "; "))]"
    return documentation + tail + (availability == .notYet ? " \(notYetNote)" : "")
  }
}

extension Choice {
  var explanation: String { documentation + (availability == .notYet ? " \(notYetNote)" : "") }
}

extension Command {
  /// `connect [FLAGS]`, `token inspect TOKEN [FLAGS]`.
  var usage: String {
    let words = operands.map { $0.isRequired ? $0.placeholder : "[\($0.placeholder)]" }
    return ([name] + words + (flags.isEmpty ? [] : ["[FLAGS]"])).joined(separator: " ")
  }
}

extension Program {
  /// Help about the command or the group that `path` names; about the program if there is none of that name.
  ///
  /// - Parameter width: columns of the terminal; lines are no longer, down to 40.
  package func help(_ path: [String] = [], width: Int = 80) -> String {
    let width = min(max(width, 40), 100)
    let lines = command(path).map { help(of: $0, width) } ?? overview(path, width)
    return lines.joined(separator: "\n") + "\n"
  }

  private func overview(_ path: [String], _ width: Int) -> [String] {
    let listed = (path.isEmpty ? commands : commands(below: path)).filter { !$0.isHidden }
    var lines = path.isEmpty ? TextLayout.wrap(summary, width: width) + [""] : []
    let prefix = ([name] + path).joined(separator: " ")
    lines += ["Usage: \(prefix) COMMAND [FLAGS]", "", "Commands:"]
    let column = min((listed.map(\.name.count).max() ?? 0) + 4, width / 2)
    for command in listed {
      let text = command.summary + (command.availability == .notYet ? " \(notYetNote)" : "")
      lines += TextLayout.entry(command.name, text, indent: 2, column: column, width: width)
    }
    let more = "'\(name) COMMAND --help' tells more; '\(name) --version' the version."
    return lines + [""] + TextLayout.wrap(more, width: width)
  }

  private func help(of command: Command, _ width: Int) -> [String] {
    var lines = TextLayout.wrap("Usage: \(name) \(command.usage)", width: width)
    let summary = command.summary + (command.availability == .notYet ? " \(notYetNote)" : "")
    lines += [""] + TextLayout.wrap(summary, width: width)
    for paragraph in command.description { lines += [""] + TextLayout.wrap(paragraph, width: width) }
    let column = width < 60 ? 8 : 28
    if !command.operands.isEmpty { lines += ["", "Operands:"] }
    for operand in command.operands {
      lines += TextLayout.entry(
        operand.placeholder, operand.documentation, indent: 2, column: column, width: width)
    }
    for group in command.groups {
      lines += ["", "\(group):"]
      for flag in command.flags where flag.group == group {
        lines += help(of: flag, column: column, width)
      }
    }
    if !command.examples.isEmpty { lines += ["", "Examples:"] }
    for example in command.examples {
      lines += TextLayout.wrap("# \(example.documentation)", width: width - 2).map { "  \($0)" }
      lines += ["  \(example.line)"]
    }
    return lines
  }

  private func help(of flag: Flag, column: Int, _ width: Int) -> [String] {
    let term = (flag.short.map { "-\($0), " } ?? "    ") + flag.synopsis
    var lines = TextLayout.entry(term, flag.explanation, indent: 2, column: column, width: width)
    let choices = flag.value.choices
    let inner = column + min((choices.map(\.synopsis.count).max() ?? 0) + 2, width < 60 ? 4 : 18)
    for choice in choices {
      lines += TextLayout.entry(
        choice.synopsis, choice.explanation, indent: column, column: inner, width: width)
    }
    return lines
  }
}
