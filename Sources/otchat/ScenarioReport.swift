import Base
import FoundationEssentials
import Glibc
import Participant
import Scenario
import Terminal

/// A scenario in words: each step and what came of it with its time, then the verdict.
struct ScenarioReport: Sendable {
  private let name: String
  private let width: Int
  private let isQuiet: Bool
  private let ownsOutput: Bool

  /// - Parameter ownsOutput: whether it goes to standard output; else to standard error.
  init(_ scenario: Scenario, isQuiet: Bool, ownsOutput: Bool) {
    name = scenario.name
    width = scenario.members.map(\.name.count).max() ?? 0
    self.isQuiet = isQuiet
    self.ownsOutput = ownsOutput
  }

  /// Any thread.
  func tell(_ member: String?, _ seconds: Double, _ event: ScenarioEvent) {
    guard !isQuiet, let text = Self.text(event) else { return }
    line(member ?? "", seconds, text)
  }

  func conclude(_ result: ScenarioResult) {
    for fault in result.faults where fault.error == nil { write("FAILED  \(fault.member): \(fault.message)") }
    if isQuiet {
      for check in result.failed { write("\(check.member): \(Self.text(check.result))") }
    } else if result.checks.isEmpty {
      write("scenario '\(name)': nothing was expected")
    } else {
      let passed = result.checks.count - result.failed.count
      write("scenario '\(name)': \(passed) of \(result.checks.count) expectations hold")
    }
    guard ProcessInfo.processInfo.environment["GITHUB_ACTIONS"] == "true" else { return }
    for check in result.failed {
      Output.line(
        ExpectationReport.annotation("\(check.member): \(check.result.text): \(check.result.reason ?? "")"))
    }
  }

  func junit(_ result: ScenarioResult, seconds: Double) -> String {
    var cases = result.checks.map {
      JUnitReport.Case(
        group: $0.member, name: $0.result.text, failure: $0.result.passed ? nil : $0.result.reason ?? "")
    }
    for fault in result.faults {
      let reason = fault.error.map { ": \(Failure($0).message)" } ?? ""
      cases.append(.init(group: fault.member, name: "takes part", failure: fault.message + reason))
    }
    return JUnitReport(suite: name, cases: cases, seconds: seconds).text
  }

  private static func text(_ event: ScenarioEvent) -> String? {
    switch event {
    case .started: "all who join at once are there"
    case .joined: "joined"
    case .left: "left"
    case .step(let text): text
    case .decided(let result): text(result)
    case .event(let event): text(event)
    }
  }

  private static func text(_ event: ParticipantEvent) -> String? {
    switch event {
    case .session(.sessionReconnecting(let reason)): "\(EventText.words(reason)), reconnecting"
    case .session(.sessionReconnected): "reconnected"
    case .session(.warning(let text)), .warning(let text), .refused(let text): "warning: \(text)"
    case .session(.error(let error)), .error(let error): EventText.warning(error)
    default: nil
    }
  }

  private static func text(_ result: ExpectationMonitor.Result) -> String {
    let figure = result.actual.map { "it is \(ExpectationMonitor.shown($0))" }
    let outcome = result.passed ? figure : result.reason ?? figure
    return "\(result.passed ? "ok" : "FAILED")  \(result.text)" + (outcome.map { "  (\($0))" } ?? "")
  }

  private func line(_ member: String, _ seconds: Double, _ text: String) {
    let name = member.padded(to: width)
    let clock = seconds.fixed(3)
    let indent = String(repeating: " ", count: max(0, 8 - clock.count))
    write("\(indent)\(clock)  \(name)  \(PrintableText.truncated(text, to: 1000))")
  }

  private func write(_ line: String) {
    if ownsOutput { Output.write(line + "\n") } else { Output.line(line) }
  }
}
