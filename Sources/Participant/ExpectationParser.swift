/// Why a text is no expectation; `position` counts characters from 1.
package struct ExpectationError: Error, Equatable, Sendable {
  package let message: String
  package let position: Int
}

extension Expectation {
  package init(parsing text: String) throws(ExpectationError) {
    var parser = Parser(text)
    self.text = text
    condition = try parser.condition()
    var (held, limit): (Double?, Double?)
    while let word = parser.word() {
      switch word.text {
      case "for" where held == nil: held = try parser.seconds(after: "for")
      case "within" where limit == nil: limit = try parser.seconds(after: "within")
      default:
        throw ExpectationError(
          message: "'\(word.text)' where only 'for SECONDS' or 'within SECONDS' may follow",
          position: word.position)
      }
    }
    try parser.expectEnd()
    if case .event = condition, held != nil {
      throw ExpectationError(message: "an event has no duration: 'for' goes with figures", position: 1)
    }
    if case .figure(_, _?, _, _) = condition, held != nil || limit != nil {
      throw ExpectationError(
        message: "a figure over the whole call cannot have 'for' or 'within'", position: 1)
    }
    self.held = held
    self.limit = limit
  }
}

private struct Parser {
  private let characters: [Character]
  private var index = 0

  init(_ text: String) { characters = Array(text) }

  mutating func condition() throws(ExpectationError) -> Expectation.Condition {
    guard let first = word() else { throw fault("a figure or 'event NAME' is expected") }
    if first.text == "event" {
      guard let name = word() else { throw fault("the name of an event is expected") }
      try checkEvent(name.text, at: name.position)
      return .event(name.text)
    }
    var path = first
    var summary: Expectation.Summary?
    if take("(") {
      guard let known = Expectation.Summary(rawValue: first.text) else {
        let names = Expectation.Summary.allCases.map(\.rawValue).joined(separator: ", ")
        throw ExpectationError(
          message: "'\(first.text)' is none of \(names)", position: first.position)
      }
      guard let inner = word() else { throw fault("a figure is expected") }
      guard take(")") else { throw fault("')' is expected") }
      (path, summary) = (inner, known)
    }
    let names = try names(path.text, at: path.position)
    guard let comparison = comparison() else { throw fault("one of < <= == != >= > is expected") }
    guard let number = number() else { throw fault("a number is expected") }
    return .figure(path: names, summary: summary, comparison, number)
  }

  mutating func seconds(after word: String) throws(ExpectationError) -> Double {
    guard let number = number(), number >= 0 else { throw fault("seconds are expected after '\(word)'") }
    if index < characters.count, characters[index] == "s" { index += 1 }
    return number
  }

  mutating func expectEnd() throws(ExpectationError) {
    skipSpace()
    if index < characters.count { throw fault("'\(characters[index])' is not expected") }
  }

  /// The next run of letters, digits, dots and the like.
  mutating func word() -> (text: String, position: Int)? {
    skipSpace()
    let start = index
    while index < characters.count,
      characters[index].isLetter || characters[index].isNumber
        || "._-:".contains(characters[index])
    { index += 1 }
    return index > start ? (String(characters[start..<index]), start + 1) : nil
  }

  private mutating func comparison() -> Expectation.Operator? {
    skipSpace()
    // The longer ones come first.
    return Expectation.Operator.allCases.first { take($0.rawValue) }
  }

  private mutating func number() -> Double? {
    skipSpace()
    let start = index
    while index < characters.count, characters[index].isNumber || "+-.".contains(characters[index]) {
      index += 1
    }
    guard let number = Double(String(characters[start..<index])), number.isFinite else {
      index = start
      return nil
    }
    return number
  }

  private mutating func take(_ text: String) -> Bool {
    skipSpace()
    guard characters[index...].starts(with: text) else { return false }
    index += text.count
    return true
  }

  private mutating func skipSpace() {
    while index < characters.count, characters[index].isWhitespace { index += 1 }
  }

  private func fault(_ message: String) -> ExpectationError {
    ExpectationError(message: message, position: index + 1)
  }

  private func names(_ path: String, at position: Int) throws(ExpectationError) -> [String] {
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let roots = ["publisher", "subscriber", "subscribers", "streams", "events", "signals", "process"]
    guard names.count > 1, !names.contains("") else {
      throw ExpectationError(
        message: "'\(path)' is no figure, such as subscriber.video.framesPerSecond", position: position)
    }
    guard roots.contains(names[0]) else {
      throw ExpectationError(
        message: "'\(names[0])' is none of \(roots.joined(separator: ", "))", position: position)
    }
    if names[0] == "events" { try checkEvent(names[1], at: position + names[0].count + 1) }
    return names
  }

  private func checkEvent(_ name: String, at position: Int) throws(ExpectationError) {
    guard ParticipantEvent.names.contains(name) else {
      throw ExpectationError(message: "'\(name)' is no event", position: position)
    }
  }
}
