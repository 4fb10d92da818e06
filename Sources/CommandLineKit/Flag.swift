/// Whether this version does what a declaration says. What is declared and not there yet is shown as such
/// in help and manual, and using it is a usage error of its own.
package enum Availability: Sendable, Equatable {
  case available, notYet
}

/// One word that a flag's value may be, or may begin with (`tone`, `tone:440`).
package struct Choice: Sendable, Equatable {
  /// What may follow the word after a colon.
  package enum Parameter: Sendable, Equatable {
    case none
    case optional(String)
    case required(String)
  }

  package let name: String
  package let parameter: Parameter
  package let documentation: String
  package let availability: Availability

  package init(
    _ name: String, _ documentation: String, parameter: Parameter = .none,
    availability: Availability = .available
  ) {
    self.name = name
    self.parameter = parameter
    self.documentation = documentation
    self.availability = availability
  }

  /// What may follow the word, as help names it.
  package var placeholder: String? {
    switch parameter {
    case .none: nil
    case .optional(let text), .required(let text): text
    }
  }

  /// As it is written in help: `tone[:HZ]`.
  package var synopsis: String {
    switch parameter {
    case .none: name
    case .optional(let placeholder): "\(name)[:\(placeholder)]"
    case .required(let placeholder): "\(name):\(placeholder)"
    }
  }
}

/// What a flag takes.
package enum FlagValue: Sendable, Equatable {
  /// Nothing: it is there or not; a repeatable one is counted.
  case none
  case text(String)
  /// A path; shells complete files, `-` is left to the command.
  case file(String)
  case directory(String)
  case integer(String, ClosedRange<Int>)
  /// A decimal number, finite.
  case number(String, ClosedRange<Double>)
  /// WIDTHxHEIGHT, each in the range.
  case size(String, ClosedRange<Int>)
  /// KEY=VALUE with a key that is not empty.
  case pair(String)
  case choice(String, [Choice])

  /// The word that stands for the value in help; nil if there is none.
  package var placeholder: String? {
    switch self {
    case .none: nil
    case .text(let word), .file(let word), .directory(let word), .pair(let word): word
    case .integer(let word, _), .number(let word, _), .size(let word, _), .choice(let word, _): word
    }
  }

  package var choices: [Choice] {
    if case .choice(_, let choices) = self { return choices }
    return []
  }
}

/// What a flag has when nobody sets it.
package enum FlagDefault: Sendable, Equatable {
  case none
  /// In the flag's own syntax; typed access gives it.
  case value(String)
  /// Found out by the command; typed access gives nothing.
  case described(String)
}

/// The declaration of one flag: parser, help, manual and completions are made from it.
package struct Flag: Sendable {
  /// Without dashes.
  package let name: String
  package let short: Character?
  package let value: FlagValue
  /// `--no-NAME` is there too.
  package let isNegatable: Bool
  package let isRepeatable: Bool
  package let defaultValue: FlagDefault
  /// The environment variable that sets it.
  package let environment: String?
  /// May stand in a configuration file, under its name.
  package let isConfigurable: Bool
  /// Its value is never repeated in an error.
  package let isSecret: Bool
  /// The heading in help.
  package let group: String
  package let documentation: String
  package let availability: Availability

  package init(
    _ name: String, short: Character? = nil, _ value: FlagValue = .none, negatable: Bool = false,
    repeatable: Bool = false, default defaultValue: FlagDefault = .none, environment: String? = nil,
    configurable: Bool = true, secret: Bool = false, group: String, availability: Availability = .available,
    _ documentation: String
  ) {
    self.name = name
    self.short = short
    self.value = value
    isNegatable = negatable
    isRepeatable = repeatable
    self.defaultValue = defaultValue
    self.environment = environment
    isConfigurable = configurable
    isSecret = secret
    self.group = group
    self.availability = availability
    self.documentation = documentation
  }

  /// The long names, with dashes.
  package var longNames: [String] { isNegatable ? ["--\(name)", "--no-\(name)"] : ["--\(name)"] }
}
