import Base
import Participant

/// Says which step of which participant is due. Told the time and the events; does nothing itself.
struct ScenarioTimeline {
  struct Due: Equatable {
    let member: Int
    let step: Int
  }

  private struct Track {
    let steps: [Scenario.Step]
    var next = 0
    /// When the next step is due; nil: an event is waited for, or a step is being done.
    var due: Instant?
    var isBusy = false
    /// While it is busy: when the event came that the step after waits for.
    var early: Instant?
  }

  private var tracks: [Track]
  private var start: Instant?

  /// - Parameter now: events count from here on; times count from `start`.
  init(_ steps: [[Scenario.Step]], at now: Instant) {
    tracks = steps.map { Track(steps: $0) }
    for member in tracks.indices { arm(member, at: now) }
  }

  /// Whoever joins at once has done so.
  mutating func start(at now: Instant) {
    start = now
    for member in tracks.indices where tracks[member].next == 0 && !tracks[member].isBusy {
      switch step(member)?.trigger {
      case .at, .after: arm(member, at: now)
      // What has come already is done at the start at the earliest.
      case .on: tracks[member].due = tracks[member].due.map { max($0, now) }
      case nil: break
      }
    }
  }

  /// - Parameter type: of a signal of somebody else.
  mutating func received(_ event: String, signalType type: String?, of member: Int, at now: Instant) {
    for index in tracks.indices where tracks[index].due == nil {
      let isBusy = tracks[index].isBusy
      guard case .on(event, let wanted, member, let after) = step(index, after: isBusy ? 1 : 0)?.trigger,
        wanted == nil || wanted == type
      else { continue }
      // What follows from a step may come before the step is over.
      if isBusy {
        tracks[index].early = tracks[index].early ?? now
      } else {
        tracks[index].due = now + after
      }
    }
  }

  /// The next step that has to be done now; the participant is busy until `finished`.
  mutating func next(at now: Instant) -> Due? {
    guard start != nil,
      let member = tracks.indices.first(where: { index in tracks[index].due.map { $0 <= now } ?? false })
    else { return nil }
    tracks[member].due = nil
    tracks[member].isBusy = true
    return Due(member: member, step: tracks[member].next)
  }

  mutating func finished(_ member: Int, at now: Instant) {
    guard tracks[member].isBusy else { return }
    tracks[member].isBusy = false
    tracks[member].next += 1
    arm(member, at: now)
  }

  /// When to ask again.
  var deadline: Instant? { start == nil ? nil : tracks.compactMap(\.due).min() }

  /// Everything has been done.
  var isDone: Bool { tracks.allSatisfy { $0.next == $0.steps.count } }

  /// What is not done, the step a participant is busy with among them.
  var pending: [Due] {
    tracks.indices.filter { tracks[$0].next < tracks[$0].steps.count }.map {
      Due(member: $0, step: tracks[$0].next)
    }
  }

  private func step(_ member: Int, after offset: Int = 0) -> Scenario.Step? {
    let track = tracks[member]
    let index = track.next + offset
    return index < track.steps.count ? track.steps[index] : nil
  }

  private mutating func arm(_ member: Int, at now: Instant) {
    switch step(member)?.trigger {
    case .at(let time): tracks[member].due = start.map { max(now, $0 + time) }
    case .after(let time): tracks[member].due = start == nil ? nil : now + time
    case .on(_, _, _, let after): tracks[member].due = tracks[member].early.map { max(now, $0 + after) }
    case nil: tracks[member].due = nil
    }
    tracks[member].early = nil
  }
}
