import Base
import Testing

@Suite struct MarkupTests {
  @Test func nothingIsMarkupAnyMore() {
    #expect(
      "<a title=\"x\" b='y'>&amp;é".markupEscaped == "&lt;a title=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;é")
  }
}
