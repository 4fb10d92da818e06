import Base
import Glibc
import Participant

/// What came of the `--expect`s, for people, for GitHub's annotations and for JUnit readers.
struct ExpectationReport {
  let results: [ExpectationMonitor.Result]

  var failed: [ExpectationMonitor.Result] { results.filter { !$0.passed } }

  /// A line for each on standard error.
  func show(isQuiet: Bool, environment: [String: String]) {
    let width = results.map(\.text.count).max() ?? 0
    for result in results where !isQuiet || !result.passed {
      let text = result.text.padded(to: width)
      let outcome = result.reason ?? result.actual.map { "it is \(ExpectationMonitor.shown($0))" } ?? ""
      let line = "expect: \(result.passed ? "ok     " : "FAILED ") \(text)  \(outcome)"
      Output.note(line.trimmed)
      if !result.passed, environment["GITHUB_ACTIONS"] == "true" {
        Output.line(Self.annotation("\(result.text): \(result.reason ?? "")"))
      }
    }
  }

  /// Throws if one of them failed.
  func check() throws {
    guard !failed.isEmpty else { return }
    throw Failure(.expectationFailed, "\(failed.count) of \(results.count) expectations failed")
  }

  func junit(seconds: Double) -> String {
    let cases = results.map {
      JUnitReport.Case(group: "otchat.connect", name: $0.text, failure: $0.passed ? nil : $0.reason ?? "")
    }
    return JUnitReport(suite: "otchat connect", cases: cases, seconds: seconds).text
  }

  /// A line that GitHub shows beside the job. Workflow commands take one line, in which `%` begins an escape.
  static func annotation(_ text: String) -> String {
    "::error title=otchat::"
      + text.replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
  }
}
