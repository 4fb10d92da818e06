/// How many colours a terminal has.
package enum ColorDepth: Int, Comparable, Sendable {
  case none, palette16, palette256, trueColor

  package static func < (left: ColorDepth, right: ColorDepth) -> Bool { left.rawValue < right.rawValue }
}

/// What can be sent to a terminal, from what the environment says.
package struct TerminalCapabilities: Equatable, Sendable {
  package var colors: ColorDepth
  /// Characters beyond ASCII.
  package var unicode: Bool
  /// Cursor addressing, without which there is no screen to draw on.
  package var addressable: Bool
  /// tmux or screen is between us and the terminal.
  package var isMultiplexed = false
  /// Takes questions about itself without showing them.
  package var answers = true

  package init(colors: ColorDepth, unicode: Bool, addressable: Bool = true) {
    self.colors = colors
    self.unicode = unicode
    self.addressable = addressable
  }

  /// Variables that say something about the terminal.
  package static let variables = [
    "TERM", "COLORTERM", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG", "TMUX", "STY",
  ]

  /// TERM, COLORTERM, NO_COLOR (no-color.org), LC_ALL, LC_CTYPE, LANG; TMUX and STY of tmux and screen.
  package init(environment: [String: String]) {
    func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    let term = variable("TERM") ?? "dumb"
    addressable = term != "dumb" && term != "unknown"
    // An ssh from inside a multiplexer brings its TERM along, and nothing else.
    isMultiplexed =
      term.hasPrefix("screen") || term.hasPrefix("tmux") || variable("TMUX") != nil || variable("STY") != nil
    answers = addressable && !["linux", "vt"].contains(where: term.hasPrefix)
    let locale = (variable("LC_ALL") ?? variable("LC_CTYPE") ?? variable("LANG") ?? "C").lowercased()
    unicode = locale.contains("utf-8") || locale.contains("utf8")
    if variable("NO_COLOR") != nil || term.hasSuffix("-m") || term.hasPrefix("vt1") || term.hasPrefix("vt2") {
      colors = .none
      return
    }
    let direct = ["truecolor", "24bit"].contains(variable("COLORTERM")?.lowercased() ?? "")
    let knownDirect = ["kitty", "alacritty", "foot", "ghostty", "wezterm", "iterm", "contour"]
    if direct || term.hasSuffix("-direct") || knownDirect.contains(where: term.lowercased().contains) {
      colors = .trueColor
    } else if term.contains("256") {
      colors = .palette256
    } else {
      colors = addressable ? .palette16 : .none
    }
  }
}
