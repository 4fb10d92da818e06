import SDP
import TestSupport
import Testing

struct SDPFuzzTests {
  @Test func alteredDescriptionsNeverTrap() throws {
    let corpus = try Fixture.names().map { Array(try Fixture.text($0).utf8) }
    var mutator = Mutator(corpus: corpus, seed: 1)
    mutator.run(150, fuzzSDP)
  }

  @Test func alteredCandidatesNeverTrap() throws {
    let corpus = try Fixture.names().flatMap { name in
      try Fixture.description(name).media.flatMap { $0.attributes("candidate").map { Array($0.utf8) } }
    }
    var mutator = Mutator(corpus: corpus, seed: 2)
    mutator.run(5000, fuzzICECandidate)
  }
}
