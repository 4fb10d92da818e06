import Foundation
import Participant

/// What came of the `--expect`s, for people, for GitHub's annotations and for JUnit readers.
struct ExpectationReport {
  let results: [ExpectationMonitor.Result]

  var failed: [ExpectationMonitor.Result] { results.filter { !$0.passed } }

  /// A line for each on standard error.
  func show(isQuiet: Bool, environment: [String: String]) {
    let width = results.map(\.text.count).max() ?? 0
    for result in results where !isQuiet || !result.passed {
      let text = result.text.padding(toLength: width, withPad: " ", startingAt: 0)
      let outcome = result.reason ?? result.actual.map { "it is \(ExpectationMonitor.shown($0))" } ?? ""
      Output.note("expect: \(result.passed ? "ok     " : "FAILED ") \(text)  \(outcome)")
      if !result.passed, environment["GITHUB_ACTIONS"] == "true" {
        Output.line("::error title=otchat::\(annotation("\(result.text): \(result.reason ?? "")"))")
      }
    }
  }

  /// Throws if one of them failed.
  func check() throws {
    guard !failed.isEmpty else { return }
    throw Failure(.expectationFailed, "\(failed.count) of \(results.count) expectations failed")
  }

  func junit(seconds: Double) -> String {
    var lines = [
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
      "<testsuite name=\"otchat connect\" tests=\"\(results.count)\" failures=\"\(failed.count)\" "
        + "time=\"\(String(format: "%.3f", seconds))\">",
    ]
    for result in results {
      let name = "  <testcase classname=\"otchat.connect\" name=\"\(escaped(result.text))\""
      guard !result.passed else {
        lines.append(name + "/>")
        continue
      }
      lines.append(name + ">")
      lines.append("    <failure message=\"\(escaped(result.reason ?? ""))\"/>")
      lines.append("  </testcase>")
    }
    return (lines + ["</testsuite>", ""]).joined(separator: "\n")
  }

  private func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      // XML 1.0 has no way to write these.
      case _ where scalar.properties.generalCategory == .control: escaped += "?"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  /// Workflow commands take one line, in which `%` begins an escape.
  private func annotation(_ text: String) -> String {
    text.replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
  }
}
