import Glibc
import OTKit
import Participant

/// How a call ends, and with which exit code: the first request counts.
actor CallExit {
  enum Request: Equatable {
    case signal(Int32)
    /// The reader of standard output went away, as `head` does: no error.
    case outputClosed
    case outputFailed(errno: Int32)
  }

  /// What came of the `--expect`s.
  private(set) var expectations: [ExpectationMonitor.Result] = []
  private var request: Request?
  private var leave: (@Sendable () async -> Void)?
  private var continuation: CheckedContinuation<Result<Void, any Error>, Never>?

  /// Where a request goes once there is a call to leave.
  func attach(_ leave: @escaping @Sendable () async -> Void) async {
    self.leave = leave
    if request != nil { await leave() }
  }

  func keep(_ expectations: [ExpectationMonitor.Result]) { self.expectations = expectations }

  func request(_ request: Request) async {
    guard self.request == nil else {
      // Asked twice: whoever asks has waited long enough.
      if case .signal(let number) = request { exit(128 + number) }
      return
    }
    self.request = request
    if let leave {
      await leave()
    } else {
      // Nothing is there yet that would have to be left.
      continuation?.resume(returning: .success(()))
      continuation = nil
    }
  }

  /// Resumes with the call's result, or at once when it is asked to end before there is a call.
  func finish(
    _ continuation: CheckedContinuation<Result<Void, any Error>, Never>,
    with call: @Sendable () async -> Result<Void, any Error>
  ) async {
    if request != nil { return continuation.resume(returning: .success(())) }
    self.continuation = continuation
    let result = await call()
    self.continuation?.resume(returning: result)
    self.continuation = nil
  }

  /// Ends the process if it was asked to end by a signal; throws what went wrong.
  func report(_ result: Result<Void, any Error>) throws {
    switch request {
    case .signal(let number): exit(128 + number)
    case .outputClosed: exit(ExitCode.cannotWrite.rawValue)
    case .outputFailed(let number):
      throw Failure(lost: number, of: "events")
    case nil: try result.get()
    }
  }
}
