import Testing

@testable import Terminal

struct CallCommandTests {
  @Test(
    arguments: [
      ("participants", CallCommand.participants),
      ("disconnect Bob the Builder ", .disconnect(who: "Bob the Builder")),
      ("unpublish s-1", .unpublish(who: "s-1")), ("mute Bob", .mute(who: "Bob")),
      ("mute-all", .muteAll(except: nil)), ("mute-all  except Ada", .muteAll(except: "Ada")),
      ("lift-mute", .liftMute),
      ("mute-mic", CallCommand.microphone(.off)), ("unmute-mic", .microphone(.on)),
      ("toggle-mic", .microphone(.toggle)), ("mute-subscriber", .subscriberAudio(.off)),
      ("unmute-subscriber", .subscriberAudio(.on)), ("toggle-subscriber", .subscriberAudio(.toggle)),
      ("mute-camera", .camera(.off)), ("unmute-camera", .camera(.on)), ("toggle-camera", .camera(.toggle)),
      ("swap-camera", .swapCamera), ("q", .quit), ("help", .help), ("?", .help), (" quit\r", .quit),
      ("say  hello  there ", .say("hello  there")),
      ("signal chat hello there", .signal(type: "chat", data: "hello there")),
      ("signal ping", .signal(type: "ping", data: "")), ("archive start", .archive(.on)),
      ("archive\tstop", .archive(.off)), ("say say", .say("say")),
    ])
  func lines(line: String, command: CallCommand) throws {
    #expect(try CallCommand.parse(line: line) == command)
  }

  @Test func blankLinesAreNothing() throws {
    #expect(try CallCommand.parse(line: "") == nil)
    #expect(try CallCommand.parse(line: " \t\r") == nil)
  }

  @Test(
    arguments: [
      ("dance", CommandLineError.unknown("dance"), "unknown command 'dance'; help lists them"),
      ("Quit", .unknown("Quit"), "unknown command 'Quit'; help lists them"),
      ("quit now", .unexpected(command: "quit"), "nothing may follow quit"),
      ("say", .missing(command: "say", what: "a text"), "say needs a text"),
      ("signal ", .missing(command: "signal", what: "a type"), "signal needs a type"),
      ("archive", .missing(command: "archive", what: "start or stop"), "archive needs start or stop"),
      ("archive pause", .missing(command: "archive", what: "start or stop"), "archive needs start or stop"),
      (
        "disconnect", .missing(command: "disconnect", what: "a participant's name"),
        "disconnect needs a participant's name"
      ),
      (
        "mute-all except ", .missing(command: "mute-all except", what: "a participant's name"),
        "mute-all except needs a participant's name"
      ),
      ("mute-all now", .unexpected(command: "mute-all"), "nothing may follow mute-all"),
      ("\u{1B}[2J", .unknown("\u{1B}[2J"), "unknown command '[2J'; help lists them"),
    ])
  func faults(line: String, error: CommandLineError, message: String) {
    let thrown = #expect(throws: CommandLineError.self) { try CallCommand.parse(line: line) }
    #expect(thrown == error)
    #expect(thrown?.message == message)
  }

  @Test func splitterCutsAtNewlinesAndIsBounded() {
    var splitter = LineSplitter(maximum: 8)
    #expect(splitter.take(Array("one\ntw".utf8)[...]) == ["one"])
    #expect(splitter.take(Array("o\n\n123456789abc\nend".utf8)[...]) == ["two", "12345678"])
    #expect(splitter.finish() == ["end"])
    #expect(splitter.finish() == [])
  }
}
