/// What became of a text that should be a flag's value.
enum ParsedValue: Equatable {
  case value(ArgumentValue)
  case invalid(expected: String, suggestion: String?)
  /// A word that is declared and not in this version.
  case notYet(String)
}

extension Flag {
  /// The value, or the error with its place.
  func value(of text: String, at place: Place) throws(UsageError) -> ArgumentValue {
    let name = place.origin == .argument ? "--\(self.name)" : self.name
    if availability == .notYet { throw .notYet(name, place: place) }
    switch parse(text) {
    case .value(let value): return value
    case .notYet(let word): throw .notYet("\(name) \(word)", place: place)
    case .invalid(let expected, let suggestion):
      throw .invalidValue(
        flag: name, value: isSecret ? nil : text, expected: expected, suggestion: suggestion, place: place)
    }
  }

  func parse(_ text: String) -> ParsedValue {
    switch value {
    case .none: parseSwitch(text)
    case .text, .file, .directory:
      text.isEmpty
        ? .invalid(expected: "a text of at least one character", suggestion: nil) : .value(.text(text))
    case .pair(let placeholder):
      (text.firstIndex(of: "=").map { $0 > text.startIndex } ?? false)
        ? .value(.text(text)) : .invalid(expected: placeholder, suggestion: nil)
    case .integer(_, let range): parseInteger(text, range)
    case .number(_, let range): parseNumber(text, range)
    case .size(_, let range): parseSize(text, range)
    case .choice(_, let choices): parseChoice(text, choices)
    }
  }

  /// How a configuration file writes it.
  var configurationKind: String {
    let one =
      switch value {
      case .none: "true or false"
      case .integer, .number: "a number"
      default: "a text"
      }
    return isRepeatable ? "\(one) or a list of them" : one
  }

  private func parseSwitch(_ text: String) -> ParsedValue {
    switch text.lowercased() {
    case "1", "true", "yes", "on": .value(.boolean(true))
    case "0", "false", "no", "off": .value(.boolean(false))
    default: .invalid(expected: "true or false", suggestion: nil)
    }
  }

  private func parseInteger(_ text: String, _ range: ClosedRange<Int>) -> ParsedValue {
    guard let value = Int(text), range.contains(value) else {
      return .invalid(
        expected: "a whole number from \(range.lowerBound) to \(range.upperBound)", suggestion: nil)
    }
    return .value(.integer(value))
  }

  private func parseNumber(_ text: String, _ range: ClosedRange<Double>) -> ParsedValue {
    guard let value = Double(text), value.isFinite, range.contains(value) else {
      let lower = Flag.plain(range.lowerBound)
      return .invalid(expected: "a number from \(lower) to \(Flag.plain(range.upperBound))", suggestion: nil)
    }
    return .value(.number(value))
  }

  private func parseSize(_ text: String, _ range: ClosedRange<Int>) -> ParsedValue {
    let parts = text.lowercased().split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let width = parts[0], let height = parts[1], range.contains(width),
      range.contains(height)
    else {
      return .invalid(
        expected: "WIDTHxHEIGHT, each from \(range.lowerBound) to \(range.upperBound)", suggestion: nil)
    }
    return .value(.size(PixelSize(width: width, height: height)))
  }

  /// A path alone, where one is wanted behind a word: `/dev/video0` for `camera:/dev/video0`.
  private func path(_ text: String, _ choices: [Choice]) -> String? {
    guard text.contains("/") || text.contains(".") else { return nil }
    let marks = text.hasPrefix("/dev/") ? ["/dev/", "PATH"] : ["PATH"]
    for mark in marks {
      if let choice = choices.first(where: { $0.placeholder?.contains(mark) ?? false }) {
        return "\(choice.name):\(text)"
      }
    }
    return nil
  }

  private func parseChoice(_ text: String, _ choices: [Choice]) -> ParsedValue {
    let colon = text.firstIndex(of: ":")
    let word = String(text[..<(colon ?? text.endIndex)])
    let parameter = colon.map { String(text[text.index(after: $0)...]) }
    let expected = "one of " + choices.map(\.synopsis).joined(separator: ", ")
    guard let choice = choices.first(where: { $0.name == word }) else {
      return .invalid(
        expected: expected,
        suggestion: Suggestion.nearest(to: word, among: choices.map(\.name)) ?? path(text, choices))
    }
    switch (choice.parameter, parameter) {
    case (.none, nil), (.optional, nil): break
    case (.optional, .some(let text)) where !text.isEmpty: break
    case (.required, .some(let text)) where !text.isEmpty: break
    default: return .invalid(expected: choice.synopsis, suggestion: nil)
    }
    return choice.availability == .notYet ? .notYet(choice.name) : .value(.text(text))
  }

  /// A limit without a needless fraction.
  static func plain(_ number: Double) -> String {
    Int(exactly: number).map { "\($0)" } ?? "\(number)"
  }
}
