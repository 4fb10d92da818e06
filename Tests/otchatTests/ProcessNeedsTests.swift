import Glibc
import Testing

@testable import otchat

@Suite struct ProcessNeedsTests {
  @Test func descriptorsAreCountedAndGivenBack() {
    for _ in 0..<3 { #expect(ProcessNeeds.hasDescriptors(3)) }
  }

  /// In a process of its own: others would find none left.
  @Test func tooFewDescriptorsAreFoundOut() async {
    await #expect(processExitsWith: .exitCode(3)) {
      var limit = rlimit(rlim_cur: 12, rlim_max: 12)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      exit(ProcessNeeds.hasDescriptors(20) ? 1 : 3)
    }
  }

  @Test func aFolderIsNoScenario() {
    let failure = #expect(throws: Failure.self) { try RunCommand.read("/") }
    #expect(failure?.code == .inputMissing && failure?.message.contains("it is a folder") == true)
  }
}
