import Base
import CLinux
import CNice
import Glibc
import Synchronization

/// The network thread's loop: GLib's main context, which libnice lives on, and beside it what media needs many
/// times a second, without GLib asking all its sources before and after: descriptors, timers, and work that
/// other threads hand over.
///
/// Ours is done inside GLib's poll function, until one of GLib's descriptors or times is due, or something
/// was done that may have changed what GLib waits for (`touch`).
final class NetworkLoop: @unchecked Sendable {
  // Safe to share: GLib locks contexts and sources itself, this one is never freed, and neither pointer nor
  // descriptor ever changes. All variables are touched by the thread in `run` only, as `NetworkActor` sees to.
  /// `GMainContext *`
  let context: OpaquePointer
  private let wakeDescriptor = otchat_eventfd()
  /// The thread in `run`.
  private let runner = Atomic<pthread_t>(0)
  private var timers = TimerList()
  private var watches: [Watch] = []
  private var nextWatch = 0
  private var isTouched = false
  /// The eventfd, then ours, then GLib's.
  private var polled: [pollfd] = []

  private struct Watch {
    let number: Int
    let descriptor: Int32
    let ready: () -> Void
  }

  init() {
    context = g_main_context_new()
    g_main_context_set_poll_func(context) { descriptors, count, timeout in
      NetworkThread.shared.loop.poll(
        UnsafeMutableBufferPointer(start: descriptors, count: Int(count)), timeout: timeout)
    }
  }

  /// From any thread: work has come.
  func wake() {
    // The loop looks for work before it waits.
    if isCurrent { return }
    var one: UInt64 = 1
    _ = write(wakeDescriptor, &one, 8)
  }

  /// Whether the caller is on the thread in `run`.
  var isCurrent: Bool { runner.load(ordering: .relaxed) == pthread_self() }

  /// Runs the loop; never returns.
  func run() {
    runner.store(pthread_self(), ordering: .sequentiallyConsistent)
    g_main_context_push_thread_default(context)
    while true { g_main_context_iteration(context, 1) }
  }

  // MARK: On the network thread

  /// To be called around whatever adds, changes or removes sources of GLib, as most calls of libnice do.
  func touch() { isTouched = true }

  /// Calls `ready` whenever the descriptor can be read, until `unwatch`.
  func watch(_ descriptor: Int32, _ ready: @escaping () -> Void) -> Int {
    nextWatch += 1
    watches.append(Watch(number: nextWatch, descriptor: descriptor, ready: ready))
    return nextWatch
  }

  func unwatch(_ number: Int) { watches.removeAll { $0.number == number } }

  func addTimer(_ fire: @escaping () -> Void) -> Int { timers.add(fire) }

  func setTimer(_ number: Int, _ instant: Instant?) { timers.set(number, instant) }

  func removeTimer(_ number: Int) { timers.remove(number) }

  /// What GLib calls to wait for its descriptors, `timeout` milliseconds at most; -1: without end.
  private func poll(_ others: UnsafeMutableBufferPointer<GPollFD>, timeout: Int32) -> Int32 {
    isTouched = false
    let end = timeout < 0 ? nil : MonotonicClock.now() + .milliseconds(Int(timeout))
    while true {
      fireTimers()
      if NetworkThread.shared.performWork() { touch() }
      let ready = wait(for: others, until: isTouched ? .zero : end)
      if ready != 0 || isTouched { return ready }
      if let end, end <= MonotonicClock.now() { return 0 }
    }
  }

  /// Each once at most, however soon it is set again.
  private func fireTimers() {
    let now = MonotonicClock.now()
    for number in timers.numbers { timers.takeDue(number, at: now)?() }
  }

  /// Waits once, then calls whoever of ours has something to read.
  ///
  /// - Returns: how many of the others have, as poll(2) says it.
  private func wait(for others: UnsafeMutableBufferPointer<GPollFD>, until end: Instant?) -> Int32 {
    polled.removeAll(keepingCapacity: true)
    polled.append(pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0))
    for watch in watches { polled.append(pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)) }
    let first = polled.count
    for other in others {
      polled.append(pollfd(fd: other.fd, events: Int16(bitPattern: other.events), revents: 0))
    }
    let count = Glibc.poll(&polled, nfds_t(polled.count), milliseconds(until: end))
    var ready: Int32 = 0
    for index in others.indices {
      others[index].revents = count > 0 ? UInt16(bitPattern: polled[first + index].revents) : 0
      if others[index].revents != 0 { ready += 1 }
    }
    guard count > ready else { return ready }
    if polled[0].revents != 0 {
      var wakes: UInt64 = 0
      _ = read(wakeDescriptor, &wakes, 8)
    }
    for index in 1..<first where polled[index].revents != 0 {
      // Whoever is called may change the list.
      watches.first { $0.descriptor == polled[index].fd }?.ready()
    }
    return ready
  }

  /// Rounded up, so that nothing is too early; several timers of a millisecond then fire together.
  private func milliseconds(until end: Instant?) -> Int32 {
    if NetworkThread.shared.hasWork { return 0 }
    let next = min(end ?? TimerList.never, timers.next)
    if next == TimerList.never { return -1 }
    return Int32(clamping: max(0, (next - MonotonicClock.now()).nanoseconds + 999_999) / 1_000_000)
  }
}

/// Timers, of which there are a handful a connection, and which are set much more often than they fire.
private struct TimerList {
  static let never = Instant(nanoseconds: .max)
  private var deadlines: [Instant] = []
  private var bodies: [(() -> Void)?] = []
  private var free: [Int] = []

  mutating func add(_ body: @escaping () -> Void) -> Int {
    if let number = free.popLast() {
      bodies[number] = body
      return number
    }
    deadlines.append(Self.never)
    bodies.append(body)
    return bodies.count - 1
  }

  mutating func set(_ number: Int, _ instant: Instant?) { deadlines[number] = instant ?? Self.never }

  mutating func remove(_ number: Int) {
    deadlines[number] = Self.never
    bodies[number] = nil
    free.append(number)
  }

  /// When the first one is due.
  var next: Instant { deadlines.min() ?? Self.never }

  var numbers: Range<Int> { bodies.indices }

  /// What to call if the timer is due; it is stopped then.
  mutating func takeDue(_ number: Int, at now: Instant) -> (() -> Void)? {
    guard deadlines[number] <= now else { return nil }
    deadlines[number] = Self.never
    return bodies[number]
  }
}
