import CXCB

/// Takes pictures of a screen, a monitor or a window with the mouse pointer, and knows when there is something new.
/// Confined to one thread.
///
/// A window is taken as it is, whatever lies over it (Composite); hidden, it keeps its last picture (`isHidden`).
final class ScreenGrabber {
  /// What is taken.
  private enum Subject {
    case screen
    case monitor(String)
    case window(UInt32, pixmap: UInt32?)
  }

  let name: String
  private let connection: XConnection
  private let image: ScreenImage
  private let damage: UInt32?
  private var subject: Subject
  /// On the root window, or on a window's pixmap, which has its border.
  private(set) var place: XConnection.Place
  private var cursor: ScreenCursor?
  private var lastCursor: [Int] = []
  private var isChanged = true
  private var isGone = false
  private var isUnplugged = false
  private var looks = 0
  /// Nobody sees the window, and its picture stays as it was: minimised, say, or on another desktop.
  private(set) var isHidden = false

  private static let structureNotify: UInt32 = 1 << 17
  private static let (destroyed, unmapped, mapped, configured) = (17, 18, 19, 22)

  init(_ selection: ScreenSelection) throws(SourceError) {
    if let reason = XConnection.libraryFault { throw .libraryMissing(reason: reason) }
    guard let display = selection.display ?? Screens.defaultDisplay else {
      throw .noDevice(.screen, name: nil, choices: [])
    }
    guard let connection = XConnection(display) else {
      throw .noDevice(.screen, name: display, choices: Screens.displays())
    }
    self.connection = connection
    image = ScreenImage(connection)
    let root = connection.root
    let whole = XConnection.Place(x: 0, y: 0, width: root.width, height: root.height)
    var watched = root.window
    if let part = selection.part {
      let monitors = connection.monitors()
      if let monitor = monitors.first(where: { $0.name.lowercased() == part.lowercased() }) {
        (subject, place, name) = (.monitor(monitor.name), monitor.place, "monitor \(monitor.name)")
      } else {
        let window = try Self.window(selection, connection, monitors.map(\.name))
        (subject, place, name) = (
          .window(window.identifier, pixmap: nil), window.place, "window \(window.title)"
        )
        watched = window.identifier
      }
    } else {
      (subject, place, name) = (.screen, whole, "screen \(display)")
    }
    guard connection.hasUsualPixels else { throw Self.colorless(name) }
    connection.tell(OTCHAT_X_CORE, 2, [watched, 1 << 11, Self.structureNotify])
    // Each extension wants to be told the version that is spoken before anything else.
    if connection.firstEvent(OTCHAT_X_FIXES) != nil { _ = connection.ask(OTCHAT_X_FIXES, 0, [4, 0]) }
    if connection.firstEvent(OTCHAT_X_DAMAGE) != nil {
      _ = connection.ask(OTCHAT_X_DAMAGE, 0, [1, 1])
      let identifier = connection.newIdentifier()
      let whenNotEmpty: UInt32 = 3
      connection.tell(OTCHAT_X_DAMAGE, 1, [identifier, watched, whenNotEmpty])
      damage = identifier
    } else {
      damage = nil
    }
    if case .window(let window, _) = subject {
      guard connection.firstEvent(OTCHAT_X_COMPOSITE) != nil,
        connection.ask(OTCHAT_X_COMPOSITE, 0, [0, 4]) != nil
      else {
        throw .deviceFailed(.screen, name: name, reason: "this X server keeps no pictures of single windows")
      }
      connection.tell(OTCHAT_X_COMPOSITE, 1, [window, 0])
      namePixmap()
    } else {
      clip()
    }
  }

  static func colorless(_ name: String) -> SourceError {
    .deviceFailed(.screen, name: name, reason: "it has no 24-bit colours")
  }

  /// By its id, or the uppermost one by its title: the whole of it before a part.
  private static func window(
    _ selection: ScreenSelection, _ connection: XConnection, _ monitors: [String]
  ) throws(SourceError) -> XConnection.Window {
    let part = selection.part ?? ""
    if let identifier = selection.window, connection.isViewable(identifier),
      let (place, _, _) = connection.geometry(identifier)
    {
      return XConnection.Window(identifier: identifier, title: part, place: place)
    }
    let windows = connection.windows()
    let wanted = part.lowercased()
    let found =
      windows.first { $0.title.lowercased() == wanted }
      ?? windows.first { $0.title.lowercased().contains(wanted) }
    guard let found else {
      throw .noDevice(.screen, name: part, choices: monitors + windows.map(\.title))
    }
    return found
  }

  /// The window's picture as it is from now on; the one before stays where there is none.
  private func namePixmap() {
    guard case .window(let window, let old) = subject, connection.isViewable(window),
      let (place, border, _) = connection.geometry(window)
    else { return }
    if let old { connection.tell(OTCHAT_X_CORE, 54, [old]) }
    let pixmap = connection.newIdentifier()
    connection.tell(OTCHAT_X_COMPOSITE, 6, [window, pixmap])
    subject = .window(window, pixmap: pixmap)
    self.place = XConnection.Place(x: border, y: border, width: place.width, height: place.height)
  }

  /// The root window has another size, or monitors have moved.
  private func clip() {
    guard let (root, _, _) = connection.geometry(connection.root.window) else { return }
    var place = XConnection.Place(x: 0, y: 0, width: root.width, height: root.height)
    if case .monitor(let name) = subject {
      // Without it there is nothing that may be shown, least of all what lies beside it.
      guard let monitor = connection.monitors().first(where: { $0.name == name })?.place else {
        isUnplugged = true
        return
      }
      place.x = min(max(monitor.x, 0), root.width - 1)
      place.y = min(max(monitor.y, 0), root.height - 1)
      place.width = min(monitor.width, root.width - place.x)
      place.height = min(monitor.height, root.height - place.y)
    }
    self.place = place
  }

  /// Whether there will be no more pictures.
  var isOver: Bool {
    takeEvents()
    return isGone || isUnplugged || connection.hasFailed
  }

  /// Whether there is something new since the last `grab`.
  func looksAgain() -> Bool {
    takeEvents()
    lookAtCursor()
    return isChanged || isGone || isUnplugged || connection.hasFailed
  }

  private func takeEvents() {
    let damaged = connection.firstEvent(OTCHAT_X_DAMAGE)
    var isMoved = false
    while let event = connection.nextEvent() {
      switch event.kind {
      case damaged: isChanged = true
      case Self.destroyed:
        if case .window(let window, _) = subject, event.word(8) == window { isGone = true }
      case Self.unmapped: lookWhetherHidden()
      case Self.mapped, Self.configured: isMoved = true
      default: break
      }
    }
    if isMoved {
      if case .window = subject { namePixmap() } else { clip() }
      lookWhetherHidden()
      isChanged = true
    }
    if damage == nil { isChanged = true }
    looks += 1
    if looks % 15 == 0 { lookAtWhatIsNotTold() }
  }

  /// The server does not tell of monitors that move and leave the screen as large as it was, nor of a window manager's
  /// frames that are hidden with what is in them: about once a second.
  private func lookAtWhatIsNotTold() {
    switch subject {
    case .screen: break
    case .monitor:
      let before = place
      clip()
      if place != before { isChanged = true }
    case .window: lookWhetherHidden()
    }
  }

  private func lookWhetherHidden() {
    guard case .window(let window, _) = subject else { return }
    let isShown = connection.isViewable(window)
    // Its frame has been shown again: there is a new picture.
    if isHidden, isShown {
      namePixmap()
      isChanged = true
    }
    isHidden = !isShown
  }

  /// The pointer moves without anything being drawn on the screen: looks where it is.
  private func lookAtCursor() {
    guard connection.firstEvent(OTCHAT_X_FIXES) != nil else { return }
    cursor = ScreenCursor(connection)
    var state = cursor?.state ?? []
    if isHidden { state = [] } else if let cursor, !cursor.overlaps(origin) { state = [] }
    if state != lastCursor { isChanged = true }
    lastCursor = state
  }

  /// Where the picture lies on the root window.
  private var origin: XConnection.Place {
    guard case .window(let window, _) = subject, let (place, _, _) = connection.geometry(window) else {
      return place
    }
    return XConnection.Place(x: place.x, y: place.y, width: self.place.width, height: self.place.height)
  }

  /// - Returns: 32 bits a point, of the size of `place`, until the next call; nil while a window has no picture.
  func grab() throws(SourceError) -> UnsafeMutableBufferPointer<UInt32>? {
    if isGone { throw .deviceFailed(.screen, name: name, reason: "it has been closed") }
    if isUnplugged { throw .deviceFailed(.screen, name: name, reason: "it is not there any more") }
    if connection.hasFailed { throw .deviceFailed(.screen, name: name, reason: "it is gone") }
    // First, so that what changes meanwhile counts as new.
    if let damage { connection.tell(OTCHAT_X_DAMAGE, 3, [damage, 0, 0]) }
    isChanged = false
    let drawable: UInt32
    switch subject {
    case .screen, .monitor: drawable = connection.root.window
    case .window(_, let pixmap):
      guard let pixmap else { return nil }
      drawable = pixmap
    }
    guard let picture = image.take(drawable, place) else { return nil }
    if let cursor, !lastCursor.isEmpty { cursor.draw(over: picture, origin) }
    return picture
  }
}
