/// An argument that is no flag.
package struct Operand: Sendable {
  package let placeholder: String
  package let documentation: String
  package let isRequired: Bool
  /// The only words it may be; empty: any text.
  package let choices: [String]

  package init(_ placeholder: String, _ documentation: String, required: Bool = true, choices: [String] = [])
  {
    self.placeholder = placeholder
    self.documentation = documentation
    isRequired = required
    self.choices = choices
  }
}

/// A line to copy, and what it does.
package struct Example: Sendable {
  package let line: String
  package let documentation: String

  package init(_ line: String, _ documentation: String) {
    self.line = line
    self.documentation = documentation
  }
}

/// The declaration of one command.
package struct Command: Sendable {
  /// `["token", "create"]` is `PROGRAM token create`.
  package let path: [String]
  package let summary: String
  /// Paragraphs.
  package let description: [String]
  package let operands: [Operand]
  package let flags: [Flag]
  package let examples: [Example]
  package let availability: Availability
  /// Works, and is left out of the list of commands and of completions.
  package let isHidden: Bool

  package init(
    _ path: String..., summary: String, description: [String] = [], operands: [Operand] = [],
    flags: [Flag] = [], examples: [Example] = [], availability: Availability = .available,
    hidden: Bool = false
  ) {
    self.path = path
    self.summary = summary
    self.description = description
    self.operands = operands
    self.flags = flags
    self.examples = examples
    self.availability = availability
    isHidden = hidden
  }

  package var name: String { path.joined(separator: " ") }

  package func flag(named name: String) -> Flag? { flags.first { $0.name == name } }

  /// Headings in the order in which flags first name them.
  package var groups: [String] {
    var groups: [String] = []
    for flag in flags where !groups.contains(flag.group) { groups.append(flag.group) }
    return groups
  }
}

/// Everything a program's command line has.
package struct Program: Sendable {
  /// A part of the manual (EXIT STATUS, FILES, …).
  package struct Section: Sendable {
    package let title: String
    /// Term and explanation.
    package let entries: [(term: String, documentation: String)]

    package init(_ title: String, _ entries: [(term: String, documentation: String)]) {
      self.title = title
      self.entries = entries
    }
  }

  package let name: String
  package let version: String
  package let summary: String
  package let commands: [Command]
  package let sections: [Section]

  package init(name: String, version: String, summary: String, commands: [Command], sections: [Section] = [])
  {
    self.name = name
    self.version = version
    self.summary = summary
    self.commands = commands
    self.sections = sections
  }

  package var visibleCommands: [Command] { commands.filter { !$0.isHidden } }

  package func command(_ path: [String]) -> Command? { commands.first { $0.path == path } }

  /// The commands below a first word that is none itself (`token`).
  package func commands(below prefix: [String]) -> [Command] {
    commands.filter { $0.path.count > prefix.count && Array($0.path.prefix(prefix.count)) == prefix }
  }
}
