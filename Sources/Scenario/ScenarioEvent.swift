import Participant

/// What a scenario tells while it runs.
package enum ScenarioEvent: Sendable {
  /// Everybody who joins at once is there: times count from here on.
  case started
  case joined
  case left
  case step(String)
  case event(ParticipantEvent)
  case decided(ExpectationMonitor.Result)
}

/// What came of a scenario.
package struct ScenarioResult: Sendable {
  package struct Check: Sendable, Equatable {
    package var member: String
    package var result: ExpectationMonitor.Result
  }

  /// In the order of the participants.
  package var checks: [Check] = []
  /// Steps that were never done, and who could not take part, or not to the end.
  package var faults: [Fault] = []

  package struct Fault: Sendable {
    package var member: String
    package var message: String
    /// Why the participant's stay ended; nil for a step.
    package var error: (any Error)?
  }

  package var failed: [Check] { checks.filter { !$0.result.passed } }
}
