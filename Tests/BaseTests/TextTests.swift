import Base
import Testing

struct TextTests {
  @Test func fillsAndCuts() {
    #expect("ab".padded(to: 4) == "ab  ")
    #expect("abcdef".padded(to: 4) == "abcd")
    #expect("äö".padded(to: 3) == "äö ")
    #expect("".padded(to: 0) == "")
  }

  @Test func trims() {
    #expect(" \t a b\r\n\n".trimmed == "a b")
    #expect(" \n".trimmed == "")
    #expect("a".trimmed == "a")
  }

  @Test func hasSoManyDigits() {
    #expect(1.25.fixed(1) == "1.2")
    #expect(1.35.fixed(1) == "1.4")
    #expect((-0.5).fixed(3) == "-0.500")
    #expect(12.0.fixed(0) == "12")
    #expect(Double.greatestFiniteMagnitude.fixed(2).count == 312)
    #expect(29.97.rounded(to: 2) == "29.97" && 30.0.rounded(to: 2) == "30" && 7.5.rounded(to: 2) == "7.5")
    #expect(100.0.rounded(to: 0) == "100")
    #expect(Double.infinity.fixed(1) == "inf")
  }
}
