import CommandLineKit
import Testing

struct HelpTests {
  @Test func overview() {
    #expect(
      sample.help(width: 60) == """
        a tool for tests

        Usage: tool COMMAND [FLAGS]

        Commands:
          go        Go somewhere
          key make  Make a key
          key show  Show a key
          later     Some day (not in this version yet)

        'tool COMMAND --help' tells more; 'tool --version' the
        version.

        """)
  }

  @Test func command() {
    #expect(
      sample.help(["key", "show"], width: 60) == """
        Usage: tool key show KEY [FLAGS]

        Show a key

        Operands:
          KEY                       the key

        Form:
              --long                all of it

        """)
  }

  @Test func narrowTerminalGetsTermsOnLinesOfTheirOwn() {
    let help = sample.help(["go"], width: 44)
    #expect(
      help.contains(
        """
              --[no-]mic
                the microphone [default: on]
        """))
    #expect(
      help.contains(
        """
              --source SPEC
                what [repeatable]
                test
                    a test
                tone[:HZ]
                    a tone
        """))
  }

  @Test func groupListsItsCommands() {
    let help = sample.help(["key"], width: 80)
    #expect(help.hasPrefix("Usage: tool key COMMAND [FLAGS]\n"))
    #expect(help.contains("key make"))
    #expect(!help.contains("Go somewhere"))
  }

  @Test func manualEscapesRoff() {
    let page = sample.manPage(date: "2026-11-30")
    #expect(page.hasPrefix(".TH TOOL 1 2026-11-30 \"tool 1.2.3\" \"User Commands\"\n"))
    #expect(page.contains(".B \"\\-v, \\-\\-verbose\"\n"))
    #expect(page.contains(".B \"tool go \\(dqfar away\\(dq\"\n"))
    #expect(page.contains(".SH \"EXIT STATUS\"\n.TP\n.B \"0\"\nwell\n.TP\n.B \".1\"\nnot well\n"))
    #expect(!page.contains("Not listed"))
  }
}
