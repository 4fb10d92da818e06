import Base
import CXCB
import Codecs
import Glibc
import TestSupport
import Testing

@testable import MediaIO

/// Windows and monitors of a real X server.
@Suite struct ScreenPartTests {
  private static let (red, green, blue, white): (UInt32, UInt32, UInt32, UInt32) =
    (0xC00000, 0x00C000, 0x0000C0, 0xFFFFFF)

  /// In BT.601, limited range: 192 of 255 in one channel.
  private static let luma: [UInt32: Int] = [red: 66, green: 112, blue: 35, white: 235]

  /// Takes pictures until a point has that brightness.
  private func sees(
    _ color: UInt32, at point: (x: Int, y: Int), _ source: ScreenSource, _ what: String
  ) async throws {
    var last: VideoFrame?
    func brightness() -> Int? { last.map { Int($0.y[point.y * $0.strideY + point.x]) } }
    try await eventually(what, state: { "\(brightness() ?? -1)" }) {
      if case .frame(let frame) = source.next(until: MonotonicClock.now() + .milliseconds(100)) {
        last = frame
      }
      return brightness().map { abs($0 - (Self.luma[color] ?? 16)) <= 4 } ?? false
    }
  }

  private func open(_ selection: String, _ width: Int, _ height: Int) throws -> ScreenSource {
    let source = try ScreenSource(selection, size: VideoSize(width: width, height: height), frameRate: 15)
    try source.start(at: MonotonicClock.now())
    return source
  }

  @Test(.enabled(if: XServer.isInstalled)) func aWindowIsTakenWhateverLiesOverIt() async throws {
    let server = try XServer()
    defer { server.leave() }
    let client = try XClient(server)
    let window = client.window("My Notes", x: 20, y: 20, width: 120, height: 90, color: Self.red)
    // It reaches over the screen's edge, too.
    let other = client.window("Other", x: 60, y: 20, width: 300, height: 90, color: Self.blue)
    let listed = Screens.list().filter { $0.selection?.hasPrefix(server.display) == true }
    let identifier = "0x" + String(window, radix: 16)
    #expect(
      listed == [
        .init(name: "X11 display \(server.display)", selection: server.display),
        .init(
          name: "window \"Other\", 300x90", selection: "\(server.display)/0x\(String(other, radix: 16))"),
        .init(name: "window \"My Notes\", 120x90", selection: "\(server.display)/\(identifier)"),
      ])

    let source = try open("\(server.display)/notes", 120, 90)
    #expect(source.name == "window My Notes")
    let right = try open("\(server.display)/0x\(String(other, radix: 16))", 300, 90)
    client.paint(other, Self.blue)
    try await sees(Self.blue, at: (290, 45), right, "what lies beyond the screen")
    client.paint(window, Self.red)
    try await sees(Self.red, at: (100, 45), source, "what is covered")
    client.paint(window, Self.green)
    try await sees(Self.green, at: (100, 45), source, "another colour")
    // Half as wide, it stands in the middle.
    client.resize(window, width: 60, height: 90)
    try await sees(0, at: (10, 45), source, "a bar")
    try await sees(Self.green, at: (60, 45), source, "the narrow window")

    client.point(window, x: 30, y: 45)
    try await sees(0, at: (60, 45), source, "the pointer")
    client.point(window, x: 30, y: 20)
    try await sees(Self.green, at: (60, 45), source, "no pointer")

    // Hidden, its last picture stays; closed, it is gone.
    client.unmap(window)
    try await sees(Self.green, at: (60, 70), source, "the hidden window")
    client.destroy(window)
    var end: SourceError?
    try await eventually("an end") {
      if case .failed(let error) = source.next(until: MonotonicClock.now()) { end = error }
      return end != nil
    }
    #expect(end?.message == "the screen \"window My Notes\": it has been closed")
    #expect(throws: SourceError.noDevice(.screen, name: identifier, choices: ["screen", "Other"])) {
      _ = try open("\(server.display)/\(identifier)", 120, 90)
    }
  }

  @Test(.enabled(if: XServer.isInstalled)) func aWindowThatIsHiddenIsTold() async throws {
    let server = try XServer()
    defer { server.leave() }
    let client = try XClient(server)
    // As a window manager has it: a frame around the window.
    let frame = client.window("", x: 0, y: 0, width: 140, height: 110, color: Self.white)
    let window = client.window(
      "Notes", x: 10, y: 10, width: 120, height: 90, color: Self.red, parent: frame)
    let source = try open("\(server.display)/0x\(String(window, radix: 16))", 120, 90)
    try await sees(Self.red, at: (60, 45), source, "the window")
    func notice(_ what: String) async throws -> String? {
      var text: String?
      try await eventually(what) {
        if case .notice(let notice) = source.next(until: MonotonicClock.now() + .milliseconds(20)) {
          text = notice
        }
        return text != nil
      }
      return text
    }
    let hidden = "it is hidden: the others see its last picture until it is shown again"
    client.unmap(window)
    #expect(try await notice("a notice") == hidden)
    client.map(window)
    #expect(try await notice("another notice") == "it is shown again")
    client.paint(window, Self.green)
    try await sees(Self.green, at: (60, 45), source, "the window again")

    // The window itself is not touched, and nothing is told of it.
    client.unmap(frame)
    #expect(try await notice("a notice of the frame") == hidden)
    client.map(frame)
    #expect(try await notice("another of the frame") == "it is shown again")
    client.paint(window, Self.blue)
    try await sees(Self.blue, at: (60, 45), source, "the window in its frame")
  }

  @Test(.enabled(if: XServer.isInstalled)) func aWindowStaysTheOneThatWasChosen() async throws {
    let server = try XServer()
    defer { server.leave() }
    let client = try XClient(server)
    let window = client.window("Notes", x: 0, y: 0, width: 120, height: 90, color: Self.red)
    let source = try open("\(server.display)/notes", 120, 90)
    try await sees(Self.red, at: (60, 45), source, "the window")
    source.stop()
    // Above it, and of the same title, while it has another one now.
    client.rename(window, "Notes, changed")
    let other = client.window("Notes", x: 20, y: 20, width: 120, height: 90, color: Self.blue)
    client.paint(window, Self.green)
    try source.start(at: MonotonicClock.now())
    try await sees(Self.green, at: (60, 45), source, "the same window")
    // It is sought anew only when it is gone.
    source.stop()
    client.destroy(window)
    try source.start(at: MonotonicClock.now())
    try await sees(Self.blue, at: (60, 45), source, "the other window")
    source.stop()
    client.destroy(other)
    #expect(throws: SourceError.noDevice(.screen, name: "notes", choices: ["screen"])) {
      try source.start(at: MonotonicClock.now())
    }
  }

  /// The signal would end a program that has done nothing about it.
  @Test(.enabled(if: XServer.isInstalled)) func aServerThatDiesLeavesNoSignal() throws {
    let server = try XServer()
    defer { server.leave() }
    let client = try #require(XConnection(server.display))
    // Blocked here, what comes stays to be seen, whatever other tests do to the signal.
    var (pipe, before, pending) = (sigset_t(), sigset_t(), sigset_t())
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipe, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    // As if the server had died between libxcb's look at the socket and its writing to it.
    #expect(shutdown(client.descriptor, Int32(SHUT_WR)) == 0)
    #expect(client.ask(OTCHAT_X_CORE, 43) == nil && client.hasFailed)
    sigpending(&pending)
    #expect(sigismember(&pending, SIGPIPE) == 0)
  }

  @Test(.enabled(if: XServer.isInstalled)) func aMonitorIsTaken() async throws {
    let server = try XServer()
    defer { server.leave() }
    let client = try XClient(server)
    try client.monitor("LEFT", x: 0, y: 0, width: 160, height: 240)
    try client.monitor("RIGHT", x: 160, y: 0, width: 160, height: 240)
    let names = Screens.list().filter { $0.selection?.hasPrefix("\(server.display)/") == true }.map(\.name)
    #expect(names.contains("monitor RIGHT, 160x240"))
    let window = client.window("", x: 160, y: 0, width: 160, height: 240, color: Self.blue)
    let source = try open("\(server.display)/right", 160, 240)
    #expect(source.name == "monitor RIGHT")
    try await sees(Self.blue, at: (2, 30), source, "its left edge")
    client.paint(window, Self.white)
    try await sees(Self.white, at: (157, 30), source, "its right edge")

    // The screen stays as large as it was, so the server says nothing; what lies beside it is never shown.
    try client.monitor("REST", x: 100, y: 0, width: 60, height: 240)
    try client.removeMonitor("RIGHT")
    var end: SourceError?
    try await eventually("an end") {
      if case .failed(let error) = source.next(until: MonotonicClock.now() + .milliseconds(20)) {
        end = error
      }
      return end != nil
    }
    #expect(end?.message == "the screen \"monitor RIGHT\": it is not there any more")
  }

  @Test(.enabled(if: XServer.isInstalled)) func aServerThatDoesNotAnswerIsNotWaitedForLong() throws {
    let server = try XServer()
    defer { server.leave() }
    let client = try #require(XConnection(server.display, patience: .milliseconds(300)))
    #expect(client.ask(OTCHAT_X_CORE, 43) != nil && !client.hasFailed)
    server.stop()
    defer { server.goOn() }
    let began = MonotonicClock.now()
    #expect(client.ask(OTCHAT_X_CORE, 43) == nil && client.hasFailed)
    #expect(XConnection(server.display, patience: .milliseconds(300)) == nil)
    #expect(MonotonicClock.now() - began >= .milliseconds(500))
    // It is not asked again.
    server.goOn()
    #expect(client.ask(OTCHAT_X_CORE, 43) == nil)
    #expect(XConnection(server.display) != nil)
  }

  /// Nothing is taken of a screen where nothing is drawn, but once a second to be sure.
  @Test(.enabled(if: XServer.isInstalled)) func whatIsNewIsKnownWithoutLooking() async throws {
    let server = try XServer()
    defer { server.leave() }
    let client = try XClient(server)
    let window = client.window("One", x: 0, y: 0, width: 64, height: 64, color: Self.red)
    let grabber = try ScreenGrabber(ScreenSelection("\(server.display)/One"))
    #expect(grabber.looksAgain())
    #expect(try grabber.grab()?.first == Self.red)
    #expect(!grabber.looksAgain())
    // Somebody else's.
    let other = client.window("Two", x: 100, y: 100, width: 64, height: 64, color: Self.red)
    client.paint(other, Self.blue)
    #expect(!grabber.looksAgain())
    client.paint(window, Self.blue)
    #expect(grabber.looksAgain())
    #expect(try grabber.grab()?.first == Self.blue)
    #expect(!grabber.looksAgain())
  }

  @Test func whatIsMeantIsToldByItsForm() {
    func parts(_ text: String?) -> [String?] {
      let selection = ScreenSelection(text)
      return [selection.display, selection.part]
    }
    #expect(parts(nil) == [nil, nil])
    #expect(parts("") == [nil, nil])
    #expect(parts(":0") == [":0", nil])
    #expect(parts("host.example:10.1") == ["host.example:10.1", nil])
    #expect(parts(":1/HDMI-1") == [":1", "HDMI-1"])
    #expect(parts(":1/a/b: c") == [":1", "a/b: c"])
    #expect(parts(":1/") == [":1", nil])
    #expect(parts("HDMI-1") == [nil, "HDMI-1"])
    #expect(parts("notes: 1") == [nil, "notes: 1"])
    #expect(parts("my notes:1") == [nil, "my notes:1"])
    #expect(parts("a/b:1") == [nil, "a/b:1"])
    #expect(parts(":70000") == [nil, ":70000"])
    #expect(ScreenSelection("0x1a00003").window == 0x1A0_0003)
    #expect(ScreenSelection("0x1a00003x").window == nil)
    #expect(ScreenSelection("1a00003").window == nil)
  }
}
