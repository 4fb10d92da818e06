import Glibc
import Testing

@testable import otchat

@Suite struct OutputTests {
  @Test func whatIsNotWrittenIsKnown() {
    let full = open("/dev/full", O_WRONLY)
    #expect(Output.write("lost", to: full) == ENOSPC)
    #expect(Output.write("", to: full) == 0)
    close(full)
    let void = open("/dev/null", O_WRONLY)
    #expect(Output.write("kept", to: void) == 0)
    close(void)
  }
}
