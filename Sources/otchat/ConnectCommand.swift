import Base
import CommandLineKit
import FoundationEssentials
import Glibc
import OTKit
import Participant
import Terminal

/// `otchat connect`: a participant with a terminal or without one.
struct ConnectCommand {
  private let arguments: Arguments
  private let options: ConnectOptions
  private let log: LogOutput
  private let capture: CaptureOutput

  /// All that would end the process without giving the terminal back.
  private static let signals = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGXCPU,
  ]

  init(_ arguments: Arguments) throws {
    let environment = ProcessInfo.processInfo.environment
    var arguments = arguments
    try ConfigurationFile.merge(into: &arguments, environment: environment)
    self.arguments = arguments
    log = try LogOutput(arguments)
    var options = try ConnectOptions(arguments, environment: environment)
    if case .terminal = options.rendering, options.session.logsDescriptions, !log.isFile {
      throw Failure(
        .usage, "--dump-sdp writes to standard error, where the picture is",
        hint: "add --log-file FILE, or --render none")
    }
    capture = try CaptureOutput(arguments)
    options.session.capture = capture.capture
    self.options = options
  }

  func run() async throws {
    if let count = arguments.integer("count"), count > 1 {
      return try await ConnectManyCommand(arguments, count: count, capture: capture).run()
    }
    if arguments.boolean("insecure") {
      Output.note("warning: --insecure: anybody on the way can read and change this call")
    }
    let exit = CallExit()
    // Watched from here on: until the call is there a signal ends the process, later it ends the call.
    let signals = Task {
      for await signal in SignalWatch.stream(of: Self.signals) where signal != 0 {
        await exit.request(.signal(signal))
      }
    }
    defer { signals.cancel() }
    let events = try options.events.map { path in
      EventWriter(descriptor: try EventOutput.open(path)) { number in
        Task { await exit.request(number == EPIPE ? .outputClosed : .outputFailed(errno: number)) }
      }
    }
    let junit = try arguments.text("junit").map { try EventOutput.open($0) }
    let result = await withCheckedContinuation { continuation in
      Task { await exit.finish(continuation) { await call(events, exit) } }
    }
    events?.close()
    capture.close()
    let report = ExpectationReport(results: await exit.expectations)
    report.show(isQuiet: arguments.boolean("quiet"), environment: ProcessInfo.processInfo.environment)
    if let junit {
      let seconds = (MonotonicClock.now() - ProcessClock.start).seconds
      try EventOutput.write(report.junit(seconds: seconds), to: junit, named: "--junit")
    }
    try await exit.report(result)
    try report.check()
  }

  /// The whole call. Returns when it is over and everything is as it was.
  private func call(_ events: EventWriter?, _ exit: CallExit) async -> Result<Void, any Error> {
    do {
      let source = try await CredentialSource.resolve(arguments)
      let outcome = await join(source, events, exit)
      for file in await source.end() where !arguments.boolean("quiet") { Output.note("archive: \(file)") }
      return outcome
    } catch {
      if let failure = error as? ConnectFailure {
        events?.write(ParticipantEvent.connectFailed(failure).json(at: WallClock.microseconds()))
      }
      return .failure(error)
    }
  }

  private func join(
    _ source: CredentialSource, _ events: EventWriter?, _ exit: CallExit
  ) async -> Result<Void, any Error> {
    let (commands, relay) = AsyncStream.makeStream(of: CallCommand.self)
    let console: any CallConsole
    do {
      console = try makeConsole(source, commands: relay)
    } catch {
      return .failure(error)
    }
    let archives = ArchiveControl(source.archives)
    archives.enter(source.credentials)
    let tell: @Sendable (ParticipantEvent) -> Void = { event in
      let record = event.json(at: WallClock.microseconds())
      if event.name != "stats" { Log.info("call", record.text) }
      events?.write(record)
      archives.note(event)
      console.show(event)
    }
    var configuration = options.session
    configuration.start = ProcessClock.start
    let snapshot = options.snapshot
    var wishes = options.participant
    wishes.credentialsTime = source.time
    let participant = Participant(
      credentials: source.credentials, configuration: configuration, publisher: options.publisher,
      options: wishes, renew: source.renew,
      renderers: { streamID in
        let place = console.renderer(for: streamID)
        // Of our own picture there is none to be received.
        return streamID == nil ? place : snapshot?.renderer(before: place) ?? place
      },
      observer: tell)
    await exit.attach { await participant.leave() }
    readCommands(relay, exit) { tell($0) }
    let obeying = Task {
      for await command in commands {
        // What is piped in comes before the session is there.
        if command != .quit, command != .interrupt, command != .help { await participant.untilEntered() }
        await participant.obey(command, archives) { console.tell($0) }
      }
    }
    let offering = Task {
      await participant.untilEntered()
      if let capabilities = await participant.capabilities { console.offer(capabilities) }
    }
    let figures = Task {
      guard console.showsStatistics else { return }
      while (try? await Task.sleep(for: .seconds(1))) != nil {
        console.show(.stats(await participant.statistics()))
      }
    }
    let limit = ConnectOptions.timeout(arguments)
    let taking = snapshot.map { snapshot in
      Task {
        await participant.untilEntered()
        let result = await snapshot.take(within: limit)
        await participant.leave()
        return result
      }
    }
    defer {
      obeying.cancel()
      offering.cancel()
      figures.cancel()
      console.stop()
    }
    let outcome: Result<Void, any Error>
    do {
      try await participant.run()
      taking?.cancel()
      outcome = await taking?.value ?? .success(())
    } catch {
      outcome = .failure(await participant.connectFailure ?? error)
    }
    await exit.keep(await participant.expectationResults)
    return outcome
  }

  private func makeConsole(
    _ source: CredentialSource, commands: AsyncStream<CallCommand>.Continuation
  ) throws -> any CallConsole {
    guard case .terminal(let style) = options.rendering else {
      if !arguments.boolean("quiet") {
        for note in [source.warning.map { "warning: \($0)" }, source.invitation].compactMap({ $0 }) {
          Output.note(note)
        }
        if isTalkedTo { Output.note("commands are typed as lines; help lists them") }
      }
      if let style = arguments.text("render"), style != "none", style != "auto" {
        Output.note("warning: --render \(style): there is no terminal that shows pictures, so none is shown")
      }
      return PlainConsole(quiet: arguments.boolean("quiet"), isTalkedTo: isTalkedTo)
    }
    let console = try ScreenConsole(options, style: style, isHosting: source.embedded != nil, log: log) {
      commands.yield($0)
    }
    if let page = source.page { console.display.send(.shareURL(page)) }
    if ["kitty", "iterm2"].contains(arguments.text("render")), options.capabilities.isMultiplexed {
      console.display.send(
        .notice("tmux and screen pass such pictures on to nobody: shown as the terminal can"))
    }
    if let warning = source.warning { console.display.send(.notice(warning)) }
    return console
  }

  /// Whether a person can type lines.
  private var isTalkedTo: Bool { isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp() }

  /// Lines on standard input, where it is no terminal with keys.
  private func readCommands(
    _ relay: AsyncStream<CallCommand>.Continuation, _ exit: CallExit,
    refuse: @escaping @Sendable (ParticipantEvent) -> Void
  ) {
    if case .terminal = options.rendering { return }
    // In the background, reading from the terminal would stop the process.
    if isatty(STDIN_FILENO) == 1, !isTalkedTo { return }
    CommandLines.read { line in
      switch line {
      case .success(let command): relay.yield(command)
      case .failure(let error): refuse(.refused(error.message))
      case nil: break
      }
    }
  }
}
