/// Somebody in the session, whether they publish or not.
package struct CallParticipant: Equatable, Sendable {
  package let connectionID: String
  package var name: String
  package var isOwn: Bool
  package var publishes: Bool
  package var hasAudio: Bool
  package var hasVideo: Bool

  package init(
    connectionID: String, name: String, isOwn: Bool = false, publishes: Bool = true, hasAudio: Bool = true,
    hasVideo: Bool = true
  ) {
    self.connectionID = connectionID
    self.name = name
    self.isOwn = isOwn
    self.publishes = publishes
    self.hasAudio = hasAudio
    self.hasVideo = hasVideo
  }
}

/// What we may do to others here.
package struct CallModeration: OptionSet, Sendable {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  package static let disconnect = CallModeration(rawValue: 1)
  package static let unpublish = CallModeration(rawValue: 2)
  package static let mute = CallModeration(rawValue: 4)
}

/// The list of participants, and what a moderator does there by keys.
extension CallState {
  struct Roster: Equatable, Sendable {
    var participants: [CallParticipant] = []
    var moderation: CallModeration = []
    /// By connection, so that it stays the same one when others come and go.
    var picked: String?
    /// Whom the key for it has been pressed once.
    var doomed: String?

    var index: Int { participants.firstIndex { $0.connectionID == picked } ?? 0 }
  }

  mutating func take(_ participants: [CallParticipant]) {
    let index = roster.index
    roster.participants = participants
    // Who is left in the place of one that has gone.
    if !participants.contains(where: { $0.connectionID == roster.picked }) {
      roster.picked =
        participants.isEmpty ? nil : participants[min(index, participants.count - 1)].connectionID
    }
    if roster.doomed != roster.picked { roster.doomed = nil }
  }

  /// - Returns: nil if the key is not for the list.
  mutating func pressInRoster(_ key: Key) -> [CallCommand]? {
    let doomed = roster.doomed
    roster.doomed = nil
    switch key {
    case .up: pick(-1)
    case .down: pick(1)
    case .escape, .character("p"): overlay = nil
    case .character("d"): return other(for: .disconnect).map { disconnect($0, asked: doomed) } ?? []
    case .character("u"):
      return other(for: .unpublish, publishing: true).map { [.unpublish(who: $0.connectionID)] } ?? []
    case .character("k"):
      return other(for: .mute, publishing: true).map { [.mute(who: $0.connectionID)] } ?? []
    case .character("K"):
      guard mayModerate(.mute) else { return [] }
      return [.muteAll(except: roster.participants.first(where: \.isOwn)?.connectionID)]
    case .character("l"): return mayModerate(.mute) ? [.liftMute] : []
    default: return nil
    }
    return []
  }

  private mutating func pick(_ step: Int) {
    let count = roster.participants.count
    guard count > 0 else { return }
    roster.picked = roster.participants[(roster.index + step + count) % count].connectionID
  }

  /// There is no way back for who is disconnected by mistake.
  private mutating func disconnect(_ picked: CallParticipant, asked: String?) -> [CallCommand] {
    if asked == picked.connectionID { return [.disconnect(who: picked.connectionID)] }
    roster.doomed = picked.connectionID
    note("d again: disconnect \(Self.name(picked))")
    return []
  }

  /// The picked one, if that is somebody to whom it can be done.
  private mutating func other(
    for action: CallModeration, publishing: Bool = false
  ) -> CallParticipant? {
    guard mayModerate(action), roster.participants.indices.contains(roster.index) else { return nil }
    let picked = roster.participants[roster.index]
    if !picked.isOwn, picked.publishes || !publishing { return picked }
    note(picked.isOwn ? "that is you" : "\(Self.name(picked)) publishes nothing")
    return nil
  }

  private mutating func mayModerate(_ action: CallModeration) -> Bool {
    if roster.moderation.contains(action) { return true }
    note("the token allows no such thing")
    return false
  }

  private static func name(_ participant: CallParticipant) -> String {
    participant.name.isEmpty ? "somebody" : participant.name
  }

  // MARK: Drawing

  func drawRoster(_ screen: inout Screen, _ area: CellRectangle) {
    // Heading and the lines of keys take some of the rows.
    let keys = rosterKeys
    let room = max(1, area.rows - keys.count - 2)
    let first = max(0, min(roster.index - room / 2, roster.participants.count - room))
    let rows = roster.participants.dropFirst(first).prefix(room).map { participant in
      let sign = participant.connectionID == roster.picked ? "▸ " : "  "
      return BoxLine(
        name: sign + PrintableText.truncated(Self.name(participant), to: 32),
        value: marks(of: participant).joined(separator: " · "))
    }
    drawBox(
      &screen, area, title: "Participants: \(roster.participants.count)", lines: rows + keys, centred: true)
  }

  private func marks(of participant: CallParticipant) -> [String] {
    var marks: [String] = participant.isOwn ? ["you"] : []
    if !participant.publishes { return marks + ["watching"] }
    if !participant.hasAudio { marks.append("muted") }
    if !participant.hasVideo { marks.append("camera off") }
    return marks
  }

  /// Only those that do something.
  private var rosterKeys: [BoxLine] {
    var keys: [BoxLine] = []
    func add(_ action: CallModeration, _ key: String, _ does: String) {
      if roster.moderation.contains(action) { keys.append(BoxLine(name: key, value: does)) }
    }
    add(.disconnect, "d", "disconnect")
    add(.unpublish, "u", "end the stream")
    add(.mute, "k", "mute")
    add(.mute, "K", "mute all others")
    add(.mute, "l", "new ones may speak")
    return keys.isEmpty ? [] : [BoxLine(name: "", value: "")] + keys
  }
}
