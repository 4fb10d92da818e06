extension Program {
  /// The manual page in roff's man macros (man(7)).
  ///
  /// - Parameter date: as it is shown in the footer, `2026-11-30`.
  package func manPage(date: String) -> String {
    var page = Roff()
    // Dates are read by the formatter: no escapes there.
    page.lines.append(".TH \(name.uppercased()) 1 \(date) \"\(name) \(version)\" \"User Commands\"")
    page.section("NAME")
    page.text("\(name) - \(summary)")
    page.section("SYNOPSIS")
    for command in visibleCommands {
      page.macro("B", name)
      page.text(command.usage)
      page.macro("br")
    }
    page.macro("B", name)
    page.text("help [COMMAND], --version")
    page.section("COMMANDS")
    for command in visibleCommands { add(command, to: &page) }
    for section in sections {
      page.section(section.title.uppercased())
      for entry in section.entries { page.entry(entry.term, entry.documentation) }
    }
    return page.lines.joined(separator: "\n") + "\n"
  }

  private func add(_ command: Command, to page: inout Roff) {
    page.macro("SS", "\(name) \(command.name)")
    page.text(command.summary + "." + (command.availability == .notYet ? " \(notYetNote)" : ""))
    for paragraph in command.description {
      page.macro("PP")
      page.text(paragraph)
    }
    for operand in command.operands { page.entry(operand.placeholder, operand.documentation) }
    for flag in command.flags {
      page.entry((flag.short.map { "-\($0), " } ?? "") + flag.synopsis, flag.explanation)
      guard !flag.value.choices.isEmpty else { continue }
      page.macro("RS")
      for choice in flag.value.choices { page.entry(choice.synopsis, choice.explanation) }
      page.macro("RE")
    }
    for example in command.examples {
      page.macro("PP")
      page.text(example.documentation + ":")
      page.macro("PP")
      page.macro("RS")
      page.macro("B", example.line)
      page.macro("RE")
    }
  }
}

/// Lines of a roff source.
private struct Roff {
  var lines: [String] = []

  mutating func macro(_ name: String, _ arguments: String...) {
    let quoted = arguments.map { " \"" + escaped($0).replacing("\"", with: "\\(dq") + "\"" }
    lines.append(".\(name)" + quoted.joined())
  }

  mutating func section(_ title: String) { macro("SH", title) }

  /// A line that begins with a dot or an apostrophe would be a request.
  mutating func text(_ text: String) {
    for line in TextLayout.wrap(text, width: 70) {
      let line = escaped(line)
      lines.append(line.hasPrefix(".") || line.hasPrefix("'") ? "\\&\(line)" : line)
    }
  }

  mutating func entry(_ term: String, _ documentation: String) {
    macro("TP")
    macro("B", term)
    text(documentation)
  }

  private func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("`", with: "\\(ga")
      .replacing("…", with: "\\&...").replacing("·", with: "\\(pc").replacing("–", with: "\\(en")
  }
}
