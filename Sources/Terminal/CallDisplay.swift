import Base
import Codecs
import Glibc
import MediaIO

/// A call on the terminal: keys become commands, events and pictures become the screen.
///
/// Two threads of its own: one reads keys, one draws. Whoever sends an event or a picture only puts it down
/// and goes on: of pictures the newest is kept for each source, so a terminal that is slow (a far ssh, a
/// stopped one) costs pictures on the screen and nothing else.
package final class CallDisplay: Sendable {
  package struct Counters: Equatable, Sendable {
    /// Screens that were written.
    package var screensDrawn = 0
    /// Pictures that a newer one replaced before they were drawn.
    package var picturesDropped = 0
    package var bytesWritten = 0
  }

  private struct Shared {
    var state: CallState
    var size: TerminalSize
    var pictures: [PictureSource: VideoFrame] = [:]
    /// Sources whose newest picture has not been drawn.
    var undrawn: Set<PictureSource> = []
    var redraw = true
    var isPosted = false
    var flow = TerminalFlow()
    var answers = TerminalAnswers()
    var counters = Counters()
  }

  /// Screens are drawn at most so often: twice as often as pictures come, so that none is missed.
  private static let maximumRate = 60.0
  /// Of one core, for drawing.
  private static let maximumShare = 0.4
  /// How long the first picture waits for what the terminal says about itself; what comes later counts, too.
  private static let answerPatience = Duration.milliseconds(100)

  private let device: TerminalDevice
  private let capabilities: TerminalCapabilities
  private let style: PictureStyle?
  private let commands: @Sendable (CallCommand) -> Void
  private let shared: Lock<Shared>
  private let wake = Semaphore()
  private let signals = SignalWatch([SIGWINCH, SIGCONT])
  private let stopping = StopFlag()
  private let deaf = StopFlag()
  private let threads = Lock<[MediaThread]>([])

  /// Takes the terminal over.
  ///
  /// - Parameters:
  ///   - style: nil: the best that the terminal says it is able to draw.
  ///   - commands: called on the reading thread for every command; must neither block nor call
  ///     `stop`. A terminal that goes away is `quit`.
  package init(
    device: TerminalDevice, capabilities: TerminalCapabilities, style: PictureStyle?, state: CallState,
    commands: @escaping @Sendable (CallCommand) -> Void
  ) {
    self.device = device
    self.capabilities = capabilities
    self.style = style
    self.commands = commands
    shared = Lock(Shared(state: state, size: device.size))
    let writer = MediaThread(name: "terminal-screen") { [self] in draw() }
    let reader = MediaThread(name: "terminal-keys") { [self] in read() }
    threads.withLock { $0 = [writer, reader] }
  }

  package var counters: Counters { shared.withLock { $0.counters } }

  /// Any thread; never blocks.
  package func send(_ event: CallEvent) {
    let now = MonotonicClock.now()
    let asked = shared.withLock { shared in
      if case .subscriberRemoved(let streamID) = event { shared.pictures[.stream(streamID)] = nil }
      return shared.state.update(event, at: now)
    }
    notify()
    for command in asked { commands(command) }
  }

  /// Shows a picture when its turn comes. Any thread; never blocks.
  package func show(_ frame: VideoFrame, from source: PictureSource) {
    shared.withLock { shared in
      if case .stream(let streamID) = source,
        !shared.state.subscribers.contains(where: { $0.streamID == streamID })
      {
        return
      }
      shared.pictures[source] = frame
      if !shared.undrawn.insert(source).inserted { shared.counters.picturesDropped += 1 }
    }
    notify()
  }

  /// What a decoder or a camera shows its pictures with.
  package func renderer(for source: PictureSource) -> any VideoSink {
    Renderer(display: self, source: source)
  }

  private struct Renderer: VideoSink {
    let display: CallDisplay
    let source: PictureSource

    func render(_ frame: VideoFrame) { display.show(frame, from: source) }
  }

  /// Gives the terminal back as it was. Any thread but the reading one; the second call does nothing.
  package func stop() {
    guard stopping.set() else { return }
    wake.post()
    let deadline = MonotonicClock.now() + .seconds(1)
    let threads = threads.withLock { $0 }
    threads.first?.join(until: deadline)
    // Answers that are still to come would end up on the shell's command line.
    let patience = MonotonicClock.now() + .milliseconds(150)
    while awaitsAnswer, MonotonicClock.now() < patience { usleep(2000) }
    deaf.set()
    signals.wake()
    threads.last?.join(until: deadline)
    device.leave()
  }

  private var awaitsAnswer: Bool {
    shared.withLock { $0.flow.awaitsAnswer || (capabilities.answers && !$0.answers.isComplete) }
  }

  private func notify() {
    let first = shared.withLock { shared in
      defer { shared.isPosted = true }
      return !shared.isPosted
    }
    if first { wake.post() }
  }

  // MARK: Reading

  private func read() {
    var decoder = KeyDecoder()
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !deaf.isSet {
      var polls = [
        pollfd(fd: device.input, events: Int16(POLLIN), revents: 0),
        pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      let talk = shared.withLock { $0.state.talk?.deadline }
      let deadline = [decoder.deadline, talk].compactMap { $0 }.min()
      let wait = deadline.map { ($0 - MonotonicClock.now()).nanoseconds / 1_000_000 + 1 } ?? 10_000
      _ = poll(&polls, 2, Int32(clamping: max(0, wait)))
      if deaf.isSet { return }
      if polls[1].revents != 0 { react(to: signals.take()) }
      var keys: [Key]
      if polls[0].revents != 0 {
        let count = Glibc.read(device.input, &buffer, buffer.count)
        if count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN) {
          commands(.quit)
          return
        }
        keys = decoder.decode(buffer[..<max(0, count)], at: MonotonicClock.now())
      } else {
        keys = decoder.advance(to: MonotonicClock.now())
      }
      for key in keys { press(key) }
      if let talk, MonotonicClock.now() >= talk { send(.talkDeadline) }
    }
  }

  private func press(_ key: Key) {
    if key == .control("z") { return suspend() }
    guard case .answer(let answer) = key else { return send(.key(key)) }
    shared.withLock { shared in
      if answer == .ready {
        shared.flow.answered()
      } else {
        shared.answers.take(answer)
      }
    }
    notify()
  }

  /// What Ctrl-Z does in a terminal that is not raw. The call stands still meanwhile, its server too.
  private func suspend() {
    device.suspend()
    shared.withLock { $0.flow = TerminalFlow() }
    redraw()
  }

  private func react(to signals: [Int32]) {
    if signals.contains(SIGCONT) { device.resume() }
    if signals.contains(where: { $0 != 0 }) { redraw() }
  }

  /// All of the screen, at the size that it has by now.
  private func redraw() {
    let size = device.size
    shared.withLock { shared in
      shared.size = size
      shared.redraw = true
    }
    notify()
    // The font may have changed, too.
    if size.cell == nil { ask(TerminalAnswers.sizeQuestions) }
  }

  // MARK: Drawing

  /// Asks the terminal about itself.
  private func ask(_ questions: String) {
    guard capabilities.answers else { return }
    _ = device.write(Array(questions.utf8)[...], until: MonotonicClock.now() + .milliseconds(200))
  }

  private func draw() {
    ask(TerminalAnswers.questions(for: capabilities))
    let patience = MonotonicClock.now() + Self.answerPatience
    while awaitsAnswer, !stopping.isSet, MonotonicClock.now() < patience { _ = wake.wait(until: patience) }
    var painter = PicturePainter(profile: profile, capabilities: capabilities)
    var earliest = MonotonicClock.now()
    while true {
      _ = wake.wait(until: MonotonicClock.now() + .milliseconds(500))
      while !stopping.isSet, MonotonicClock.now() < earliest { _ = wake.wait(until: earliest) }
      if stopping.isSet { break }
      let began = MonotonicClock.now()
      guard let scene = takeScene(at: began) else {
        earliest = began + .milliseconds(20)
        notify()
        continue
      }
      if scene.profile != painter.profile {
        guard write(painter.farewell) else { break }
        painter = PicturePainter(profile: scene.profile, capabilities: capabilities)
      }
      if scene.redraw { painter.invalidate() }
      let bytes = painter.paint(scene.screen, scene.pictures, filter: scene.filter)
      let cost = (MonotonicClock.now() - began).seconds
      guard write(bytes) else { break }
      earliest = began + .seconds(max(1 / Self.maximumRate, cost / Self.maximumShare))
    }
    _ = device.write(painter.farewell[...], until: MonotonicClock.now() + .milliseconds(200))
  }

  private var profile: PicturePainter.Profile {
    shared.withLock { Self.profile($0, style, capabilities) }
  }

  private static func profile(
    _ shared: Shared, _ style: PictureStyle?, _ capabilities: TerminalCapabilities
  ) -> PicturePainter.Profile {
    PicturePainter.Profile(
      style: style ?? shared.answers.style(for: capabilities), colors: shared.answers.colors(capabilities),
      colorRegisters: shared.answers.colorRegisters,
      cell: shared.size.cell ?? shared.answers.cell(columns: shared.size.columns, rows: shared.size.rows))
  }

  /// What one screen is drawn from.
  private struct Scene {
    var screen: Screen
    var pictures: [PictureSource: (frame: VideoFrame, isNew: Bool)]
    var filter: PictureFilter
    var profile: PicturePainter.Profile
    var redraw: Bool
  }

  /// Nil while the terminal has not drawn what it has been sent.
  private func takeScene(at now: Instant) -> Scene? {
    shared.withLock { shared in
      shared.isPosted = false
      guard shared.flow.mayWrite(at: now) else { return nil }
      _ = shared.state.update(.tick, at: now)
      let profile = Self.profile(shared, style, capabilities)
      defer {
        shared.redraw = false
        shared.undrawn = []
      }
      let size = shared.size
      var pictures: [PictureSource: (frame: VideoFrame, isNew: Bool)] = [:]
      for (source, frame) in shared.pictures {
        pictures[source] = (frame, shared.undrawn.contains(source))
      }
      return Scene(
        screen: shared.state.view(
          columns: size.columns, rows: size.rows, cellAspect: profile.cell?.aspect ?? 2),
        pictures: pictures, filter: shared.state.filter, profile: profile, redraw: shared.redraw)
    }
  }

  /// False if the terminal is gone or `stop` was called.
  private func write(_ bytes: [UInt8]) -> Bool {
    if bytes.isEmpty { return true }
    shared.withLock { $0.flow.wrote(at: MonotonicClock.now()) }
    var rest = (bytes + TerminalFlow.question)[...]
    while !rest.isEmpty {
      switch device.write(rest, until: MonotonicClock.now() + .milliseconds(200)) {
      case .all: rest = []
      case .partly(let count): rest = rest.dropFirst(count)
      case .closed:
        if !stopping.isSet { commands(.quit) }
        return false
      }
      if stopping.isSet { return false }
    }
    shared.withLock { shared in
      shared.counters.screensDrawn += 1
      shared.counters.bytesWritten += bytes.count
    }
    return true
  }
}
