/// Width and height in pixels.
package struct PixelSize: Sendable, Equatable {
  package let width: Int
  package let height: Int

  package init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }
}

/// One value of a flag, of the type that its declaration promises.
package enum ArgumentValue: Sendable, Equatable {
  case boolean(Bool)
  case integer(Int)
  case number(Double)
  case size(PixelSize)
  case text(String)
}

/// One value in a configuration file, as far as flags can hold it.
package enum ConfigurationValue: Sendable, Equatable {
  case boolean(Bool)
  case number(Double)
  case text(String)
  case list([ConfigurationValue])
  /// Anything else (null, an object).
  case unsupported
}

/// What a command was given: settings by flag name, and operands.
///
/// Precedence: command line, environment, configuration file, default. A repeatable flag's list from a
/// stronger origin replaces the weaker one's. Asking for a flag that the command does not declare is a
/// programming error and traps.
package struct Arguments: Sendable {
  package let command: Command
  package internal(set) var operands: [String] = []
  private var settings: [String: [Origin: [ArgumentValue]]] = [:]

  init(command: Command) {
    self.command = command
    for flag in command.flags {
      settings[flag.name] = [:]
      guard case .value(let text) = flag.defaultValue else { continue }
      if case .value(let value) = flag.parse(text) { settings[flag.name] = [.defaultValue: [value]] }
    }
  }

  mutating func add(_ value: ArgumentValue, to flag: Flag, from origin: Origin) {
    if flag.isRepeatable {
      settings[flag.name, default: [:]][origin, default: []].append(value)
    } else {
      settings[flag.name, default: [:]][origin] = [value]
    }
  }

  /// Takes in the variables that flags name. Empty ones count as unset.
  package mutating func merge(environment: [String: String]) throws(UsageError) {
    for flag in command.flags {
      guard let name = flag.environment, let text = environment[name], !text.isEmpty else { continue }
      add(try flag.value(of: text, at: .environment(name)), to: flag, from: .environment)
    }
  }

  /// Takes in a configuration file.
  ///
  /// - Parameter entries: in the file's order; keys are flag names without dashes.
  package mutating func merge(file path: String, entries: [(key: String, value: ConfigurationValue)])
    throws(UsageError)
  {
    let place = Place.file(path)
    for (key, value) in entries {
      guard let flag = command.flag(named: key), flag.isConfigurable else {
        let names = command.flags.filter(\.isConfigurable).map(\.name)
        throw .unknownKey(key, suggestion: Suggestion.nearest(to: key, among: names), place: place)
      }
      if case .list(let elements) = value, flag.isRepeatable {
        for element in elements { try add(element, to: flag, at: place) }
      } else {
        try add(value, to: flag, at: place)
      }
    }
  }

  private mutating func add(_ value: ConfigurationValue, to flag: Flag, at place: Place) throws(UsageError) {
    let text: String
    switch (value, flag.value) {
    case (.boolean(let on), .none) where !flag.isRepeatable:
      if on && flag.availability == .notYet { throw .notYet(flag.name, place: place) }
      add(.boolean(on), to: flag, from: .file)
      return
    case (.text(let value), let kind) where kind != .none: text = value
    case (.number(let value), .integer), (.number(let value), .number):
      text = Int(exactly: value).map { "\($0)" } ?? "\(value)"
    default: throw .wrongKind(key: flag.name, expected: flag.configurationKind, place: place)
    }
    add(try flag.value(of: text, at: place), to: flag, from: .file)
  }

  private func strongest(_ name: String) -> (origin: Origin, values: [ArgumentValue])? {
    guard let byOrigin = settings[name] else {
      preconditionFailure("'\(command.name)' declares no flag '\(name)'")
    }
    return byOrigin.max { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Whether anything but a default sets it.
  package func isGiven(_ name: String) -> Bool { origin(name) != .defaultValue }

  /// Where its value comes from.
  package func origin(_ name: String) -> Origin { strongest(name)?.origin ?? .defaultValue }

  /// A switch: false unless it is on.
  package func boolean(_ name: String) -> Bool { strongest(name)?.values.last == .boolean(true) }

  /// How often a repeatable switch is there.
  package func count(_ name: String) -> Int { strongest(name)?.values.count ?? 0 }

  package func text(_ name: String) -> String? { texts(name).last }

  package func texts(_ name: String) -> [String] {
    (strongest(name)?.values ?? []).compactMap { if case .text(let text) = $0 { text } else { nil } }
  }

  package func integer(_ name: String) -> Int? {
    if case .integer(let value) = strongest(name)?.values.last { value } else { nil }
  }

  /// An integer flag's value counts too.
  package func number(_ name: String) -> Double? {
    switch strongest(name)?.values.last {
    case .number(let value): value
    case .integer(let value): Double(value)
    default: nil
    }
  }

  package func size(_ name: String) -> PixelSize? {
    if case .size(let size) = strongest(name)?.values.last { size } else { nil }
  }
}
