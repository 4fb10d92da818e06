import CommandLineKit
import OpenTokProtocol

/// A JSON value and where it stands, for strict reading: what is not known is an error that names the place.
struct JSONReader {
  let json: JSON
  let path: String

  func at(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

  /// Nil if the key is not there.
  subscript(_ key: String) -> JSONReader? { json[key].map { JSONReader(json: $0, path: at(key)) } }

  func fail(_ message: String, hint: String? = nil) -> ScenarioError {
    ScenarioError(path, message, hint: hint)
  }

  /// - Throws: if this is no object, or has other keys.
  func expectKeys(_ known: [String]) throws(ScenarioError) {
    for key in try object().keys where !known.contains(key) {
      throw ScenarioError(
        at(key), "unknown key",
        hint: Suggestion.nearest(to: key, among: known).map { "did you mean '\($0)'?" })
    }
  }

  func object() throws(ScenarioError) -> JSON.Object {
    guard let object = json.objectValue else { throw fail("should be an object: { … }") }
    return object
  }

  func list() throws(ScenarioError) -> [JSONReader] {
    guard let elements = json.arrayValue else { throw fail("should be a list: [ … ]") }
    return elements.enumerated().map { JSONReader(json: $1, path: "\(path)[\($0)]") }
  }

  func text() throws(ScenarioError) -> String {
    guard let text = json.stringValue, !text.isEmpty else { throw fail("should be a text") }
    return text
  }

  func boolean() throws(ScenarioError) -> Bool {
    guard let value = json.boolValue else { throw fail("should be true or false") }
    return value
  }

  func number(_ range: ClosedRange<Double>, _ unit: String) throws(ScenarioError) -> Double {
    guard let number = json.doubleValue, range.contains(number) else {
      throw fail(
        "should be a number of \(unit) from \(Self.plain(range.lowerBound)) to \(Self.plain(range.upperBound))"
      )
    }
    return number
  }

  func seconds(upTo limit: Double = 86_400) throws(ScenarioError) -> Duration {
    .seconds(try number(0...limit, "seconds"))
  }

  func milliseconds(upTo limit: Double = 60_000) throws(ScenarioError) -> Duration {
    .milliseconds(try number(0...limit, "milliseconds"))
  }

  private static func plain(_ number: Double) -> String {
    Int(exactly: number).map { "\($0)" } ?? "\(number)"
  }
}

extension ConfigurationValue {
  package init(_ json: JSON) {
    self =
      switch json {
      case .bool(let value): .boolean(value)
      case .integer(let value): .number(Double(value))
      case .number(let value): .number(value)
      case .string(let value): .text(value)
      case .array(let values): .list(values.map { ConfigurationValue($0) })
      case .null, .object: .unsupported
      }
  }
}
