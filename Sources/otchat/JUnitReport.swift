import Base
import Glibc

/// Results as JUnit's XML, which CI systems read.
struct JUnitReport {
  struct Case {
    let group: String
    let name: String
    /// Nil: it passed.
    let failure: String?
  }

  let suite: String
  let cases: [Case]
  let seconds: Double

  var text: String {
    var lines = [
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
      "<testsuite name=\"\(Self.escaped(suite))\" tests=\"\(cases.count)\" "
        + "failures=\"\(cases.count { $0.failure != nil })\" time=\"\(seconds.fixed(3))\">",
    ]
    for one in cases {
      let start = "  <testcase classname=\"\(Self.escaped(one.group))\" name=\"\(Self.escaped(one.name))\""
      guard let failure = one.failure else {
        lines.append(start + "/>")
        continue
      }
      lines.append(start + ">")
      lines.append("    <failure message=\"\(Self.escaped(failure))\"/>")
      lines.append("  </testcase>")
    }
    return (lines + ["</testsuite>", ""]).joined(separator: "\n")
  }

  private static func escaped(_ text: String) -> String {
    // XML 1.0 has no way to write control characters.
    var printable = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      printable.append(scalar.properties.generalCategory == .control ? "?" : scalar)
    }
    return String(printable).markupEscaped
  }
}
