import Testing

@testable import SessionServer

@Suite struct DurationHistogramTests {
  @Test func bucketsAddUp() {
    var histogram = DurationHistogram()
    for milliseconds in [0.4, 0.5, 3, 900, 7000] { histogram.add(.nanoseconds(Int64(milliseconds * 1e6))) }
    #expect(
      histogram.lines("t") == [
        #"t_bucket{le="0.0005"} 2"#, #"t_bucket{le="0.001"} 2"#, #"t_bucket{le="0.0025"} 2"#,
        #"t_bucket{le="0.005"} 3"#, #"t_bucket{le="0.01"} 3"#, #"t_bucket{le="0.025"} 3"#,
        #"t_bucket{le="0.05"} 3"#, #"t_bucket{le="0.1"} 3"#, #"t_bucket{le="0.25"} 3"#,
        #"t_bucket{le="1.0"} 4"#, #"t_bucket{le="5.0"} 4"#, #"t_bucket{le="+Inf"} 5"#,
        "t_sum 7.9039", "t_count 5",
      ])
  }
}
