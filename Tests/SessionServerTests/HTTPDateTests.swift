import Testing

@testable import SessionServer

@Suite struct HTTPDateTests {
  @Test(
    arguments: [
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
      (1_796_083_199, "Mon, 30 Nov 2026 23:59:59 GMT"),
    ] as [(Int64, String)])
  func asRFC9110WritesIt(_ seconds: Int64, _ text: String) { #expect(HTTPDate.text(seconds) == text) }
}
