import CommandLineKit
import OpenTokProtocol
import Participant
import Peer
import Terminal

/// Several participants in one process, what they do and when, on what networks, and what is expected of it.
package struct Scenario: Sendable {
  package var name: String
  /// It ends after that long at the latest, from when all who join at once are in the session.
  package var duration: Duration
  /// Of the bad networks' losses.
  package var seed: UInt64
  package var members: [Member]
  /// It ends before its time when all steps are done and all expectations decided.
  package var endsWhenDecided = true

  package init(name: String, duration: Duration, seed: UInt64 = 1, members: [Member]) {
    self.name = name
    self.duration = duration
    self.seed = seed
    self.members = members
  }

  package struct Member: Sendable {
    package var name: String
    package var role: Role
    /// The flags of `connect`.
    package var flags: Arguments
    package var network: Network
    package var steps: [Step]
    package var expectations: [Expectation]
    /// Others may end its stay without the scenario failing.
    package var mayBeDisconnected: Bool

    package init(
      name: String, role: Role, flags: Arguments, network: Network = Network(), steps: [Step] = [],
      expectations: [Expectation] = [], mayBeDisconnected: Bool = false
    ) {
      self.name = name
      self.role = role
      self.flags = flags
      self.network = network
      self.steps = steps
      self.expectations = expectations
      self.mayBeDisconnected = mayBeDisconnected
    }

    /// Whether it is there from the beginning: not if the first thing it does is to join.
    package var joinsAtOnce: Bool {
      let first = steps.first { $0.action == .join || $0.action == .leave }
      return first?.action != .join
    }
  }

  /// Both directions of a member's network, as seen from it.
  package struct Network: Sendable, Equatable {
    package var up = Impairment()
    package var down = Impairment()
  }

  /// One thing that a member does. Steps are done in order, each after the one before it.
  package struct Step: Sendable, Equatable {
    package var trigger: Trigger
    package var action: Action
    /// As it is told in the report.
    package var text: String

    package init(_ trigger: Trigger, _ action: Action, text: String) {
      self.trigger = trigger
      self.action = action
      self.text = text
    }
  }

  package enum Trigger: Sendable, Equatable {
    /// Since the scenario's start; at once if that has passed.
    case at(Duration)
    /// After the step before.
    case after(Duration)
    /// An event of a member, counted from when the step before was begun, and then so long after it.
    case on(event: String, signalType: String?, member: Int, after: Duration)
  }

  package enum Action: Sendable, Equatable {
    case command(CallCommand)
    case join
    case leave
    /// The signalling socket is lost, as when a network goes away.
    case loseSocket
    case network(Network)
    /// The steps that follow wait until it is decided.
    case expect(Expectation)
  }
}

/// What is wrong with a scenario, and where: `participants[1].steps[0].at`.
package struct ScenarioError: Error, Equatable, Sendable {
  package let path: String
  package let message: String
  package var hint: String?

  package init(_ path: String, _ message: String, hint: String? = nil) {
    self.path = path
    self.message = message
    self.hint = hint
  }

  /// With its place.
  package var text: String { path.isEmpty ? message : "\(path): \(message)" }
}
