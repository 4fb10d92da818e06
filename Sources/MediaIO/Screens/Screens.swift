import Glibc

/// The X11 screens of this machine, their monitors and windows.
package enum Screens {
  package struct Screen: Sendable, Equatable {
    /// For people: `X11 display :0`, `monitor HDMI-1, 1920x1080`, `window "editor", 800x600`.
    package var name: String
    /// What follows `screen:`; nil: `screen` alone.
    package var selection: String?
  }

  /// Displays there are, each followed by its monitors, if there are several, and its windows, as far as it lets us
  /// see them.
  package static func list() -> [Screen] {
    let own = defaultDisplay
    return displays().flatMap { display -> [Screen] in
      let isOwn = display == own
      let whole = Screen(name: "X11 display \(display)", selection: isOwn ? nil : display)
      guard let connection = XConnection(display) else { return [whole] }
      let prefix = isOwn ? "" : display + "/"
      let monitors = connection.monitors()
      return [whole]
        + (monitors.count > 1 ? monitors : []).map {
          Screen(name: "monitor \($0.name), \($0.place.size)", selection: prefix + $0.name)
        }
        + connection.windows().map {
          Screen(
            name: "window \"\($0.title)\", \($0.place.size)",
            selection: "\(prefix)0x\(String($0.identifier, radix: 16))")
        }
    }
  }

  static var defaultDisplay: String? {
    getenv("DISPLAY").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  static func displays() -> [String] {
    var displays: [String] = []
    if let directory = opendir("/tmp/.X11-unix") {
      defer { closedir(directory) }
      while let entry = readdir(directory) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) {
          String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name.hasPrefix("X"), let number = UInt16(name.dropFirst()) { displays.append(":\(number)") }
      }
    }
    displays.sort { ($0.count, $0) < ($1.count, $1) }
    if let own = defaultDisplay, !displays.contains(own) { displays.insert(own, at: 0) }
    return displays
  }
}

extension XConnection.Place {
  fileprivate var size: String { "\(width)x\(height)" }
}
