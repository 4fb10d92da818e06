import Base
import CWebSockets
import Glibc

/// A thread that is an actor's executor and at the same time drives one libwebsockets context.
///
/// Jobs of the actor and callbacks of libwebsockets alternate on it, so an actor with this executor
/// owns its `WebServer` without locks. The thread ends when the last reference to the loop is gone.
package final class ServiceLoop: SerialExecutor {
  private let core: Core

  package init(name: String) {
    let core = Core()
    self.core = core
    _ = MediaThread(name: name) { core.run() }
  }

  deinit { core.finish() }

  package func enqueue(_ job: consuming ExecutorJob) {
    core.enqueue(UnownedJob(job), on: self)
  }

  /// Has the loop's thread call this, behind the jobs that are there, and without Swift's shared pool. Any thread.
  func perform(_ body: @escaping @Sendable () -> Void) { core.perform(body) }

  package func checkIsolated() {
    precondition(core.isCurrentThread, "not on the service thread")
  }

  package func isIsolatingCurrentContext() -> Bool? { core.isCurrentThread }

  /// libwebsockets had something to say: the loop's turn was not in vain. On the loop's thread only.
  func served() { core.served() }

  /// How often libwebsockets was called.
  package var rounds: Int { core.rounds }

  /// Has the loop serve `context` from now on, or no context any more. On the loop's thread only.
  func serve(_ context: OpaquePointer?) {
    checkIsolated()
    core.serve(context)
  }
}

/// What the thread and the executor share; it lives as long as either.
private final class Core: Sendable {
  private struct State {
    /// With each job a reference to its executor, which must outlive the job.
    var jobs: [(UnownedJob, ServiceLoop)] = []
    var calls: [Call] = []
    /// The libwebsockets context as a bit pattern: where to send the wake-up.
    var context: UInt = 0
    var thread: pthread_t = 0
    var finished = false
    var rounds = 0
    /// Rounds since libwebsockets had something to say.
    var vainRounds = 0
  }

  private struct Call: Sendable {
    let body: @Sendable () -> Void
  }

  /// After so many in a row the loop takes its time.
  private static let vainRounds = 100
  private static let pause: UInt32 = 1000  // microseconds

  private let state = Lock(State())
  private let semaphore = Semaphore()

  var isCurrentThread: Bool { pthread_equal(pthread_self(), state.withLock { $0.thread }) != 0 }

  func enqueue(_ job: UnownedJob, on executor: ServiceLoop) {
    state.withLock { state in
      state.jobs.append((job, executor))
      wake(state)
    }
  }

  func perform(_ body: @escaping @Sendable () -> Void) {
    let call = Call(body: body)
    state.withLock { state in
      state.calls.append(call)
      wake(state)
    }
  }

  func finish() {
    state.withLock { state in
      state.finished = true
      wake(state)
    }
  }

  var rounds: Int { state.withLock { $0.rounds } }

  func served() { state.withLock { $0.vainRounds = 0 } }

  /// libwebsockets does not wait as long as it has input that it cannot serve: of one who asks for much and
  /// reads nothing. Everybody else's affairs end that pause within a round.
  private func pauseIfInVain() {
    let isInVain = state.withLock { state in
      state.rounds += 1
      state.vainRounds += 1
      return state.vainRounds > Self.vainRounds
    }
    if isInVain { usleep(Self.pause) }
  }

  func serve(_ context: OpaquePointer?) {
    state.withLock { $0.context = UInt(bitPattern: context) }
  }

  /// Under the lock, so that the context cannot be destroyed meanwhile: it only writes to a pipe.
  private func wake(_ state: borrowing State) {
    if let context = OpaquePointer(bitPattern: state.context) {
      lws_cancel_service(context)
    } else {
      semaphore.post()
    }
  }

  func run() {
    state.withLock { $0.thread = pthread_self() }
    while true {
      let (jobs, calls, context, finished) = state.withLock { state in
        let (jobs, calls) = (state.jobs, state.calls)
        (state.jobs, state.calls) = ([], [])
        return (jobs, calls, OpaquePointer(bitPattern: state.context), state.finished)
      }
      for (job, executor) in jobs { job.runSynchronously(on: executor.asUnownedSerialExecutor()) }
      for call in calls { call.body() }
      if !jobs.isEmpty || !calls.isEmpty {
        served()
        continue
      }
      if finished { return }
      if let context {
        if lws_service(context, 0) < 0 {
          Log.error("web", "the service loop failed")
          serve(nil)
        }
        pauseIfInVain()
      } else {
        _ = semaphore.wait(until: Instant(nanoseconds: .max))
      }
    }
  }
}
