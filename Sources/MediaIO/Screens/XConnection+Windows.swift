import CXCB

/// Windows and monitors of a server. Opcodes and layouts: X Window System Protocol, appendix B; RandR 1.5.
extension XConnection {
  struct Place: Equatable {
    var x: Int
    var y: Int
    var width: Int
    var height: Int
  }

  struct Window {
    var identifier: UInt32
    var title: String
    var place: Place
  }

  struct Monitor {
    var name: String
    var place: Place
  }

  private func atom(_ name: String) -> UInt32? {
    let bytes = Array(name.utf8)
    var words = [UInt32(bytes.count)]
    for start in stride(from: 0, to: bytes.count, by: 4) {
      words.append(bytes[start..<min(start + 4, bytes.count)].reversed().reduce(0) { $0 << 8 | UInt32($1) })
    }
    return ask(OTCHAT_X_CORE, 16, data: 1, words).map { $0.word(8) }.flatMap { $0 == 0 ? nil : $0 }
  }

  /// A property's first 4 kB and how many bytes there are of them; nil if there is none.
  private func property(_ window: UInt32, _ property: UInt32) -> (message: Message, length: Int)? {
    guard let answer = ask(OTCHAT_X_CORE, 20, [window, property, 0, 0, 1024]), answer.byte(1) > 0 else {
      return nil
    }
    return (answer, min(Int(answer.word(16)) * answer.byte(1) / 8, 4096))
  }

  /// Its place on the root window, without its border, and how wide that is.
  func geometry(_ window: UInt32) -> (place: Place, border: Int, depth: Int)? {
    guard let answer = ask(OTCHAT_X_CORE, 14, [window]),
      let origin = ask(OTCHAT_X_CORE, 40, [window, root.window, 0])
    else { return nil }
    let place = Place(
      x: origin.signedShort(12), y: origin.signedShort(14), width: answer.short(16), height: answer.short(18))
    return (place, answer.short(20), answer.byte(1))
  }

  /// Whether it and all around it are shown.
  func isViewable(_ window: UInt32) -> Bool {
    guard let answer = ask(OTCHAT_X_CORE, 3, [window]) else { return false }
    return answer.byte(26) == 2 && answer.short(12) == 1
  }

  /// UTF-8 as window managers want it, or what programs had before.
  private func title(_ window: UInt32, _ names: [UInt32]) -> String? {
    for name in names {
      guard let (message, length) = property(window, name) else { continue }
      let text = String(message.text(32, length).prefix(120))
      if !text.isEmpty { return text }
    }
    return nil
  }

  /// Windows with a title that are shown, the uppermost first: those that the window manager lists, or the root's
  /// children where there is none.
  func windows() -> [Window] {
    let wmName: UInt32 = 39
    let names = [atom("_NET_WM_NAME"), wmName].compactMap { $0 }
    var identifiers: [UInt32] = []
    for list in ["_NET_CLIENT_LIST_STACKING", "_NET_CLIENT_LIST"] where identifiers.isEmpty {
      guard let atom = atom(list), let (message, length) = property(root.window, atom) else { continue }
      identifiers = (0..<length / 4).map { message.word(32 + 4 * $0) }
    }
    if identifiers.isEmpty, let answer = ask(OTCHAT_X_CORE, 15, [root.window]) {
      identifiers = (0..<answer.short(16)).map { answer.word(32 + 4 * $0) }
    }
    return identifiers.reversed().compactMap { identifier in
      guard isViewable(identifier), let title = title(identifier, names),
        let (place, _, _) = geometry(identifier)
      else { return nil }
      return Window(identifier: identifier, title: title, place: place)
    }
  }

  /// The monitors that the screen is made of; none where the server does not tell.
  func monitors() -> [Monitor] {
    guard firstEvent(OTCHAT_X_RANDR) != nil, let version = ask(OTCHAT_X_RANDR, 0, [1, 5]),
      (version.word(8), version.word(12)) >= (1, 5), let answer = ask(OTCHAT_X_RANDR, 42, [root.window, 1])
    else { return [] }
    var monitors: [Monitor] = []
    var offset = 32
    for _ in 0..<min(answer.word(12), 64) {
      let place = Place(
        x: answer.signedShort(offset + 8), y: answer.signedShort(offset + 10),
        width: answer.short(offset + 12),
        height: answer.short(offset + 14))
      let name = ask(OTCHAT_X_CORE, 17, [answer.word(offset)]).map { $0.text(32, $0.short(8)) }
      if let name, place.width > 0, place.height > 0 { monitors.append(Monitor(name: name, place: place)) }
      offset += 24 + 4 * answer.short(offset + 6)
    }
    return monitors
  }
}
