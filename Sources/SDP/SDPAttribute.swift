/// A named value within a line: of a source, or behind a candidate.
package struct SDPAttribute: Equatable, Sendable {
  package var name: String
  package var value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}
