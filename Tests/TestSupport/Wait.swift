import Base
import Testing

/// Waits until `condition` holds, looking every 5 ms, and fails with `state` if it does not in time. Runs
/// where its caller runs.
package nonisolated(nonsending) func eventually(
  within limit: Duration = .seconds(180), _ what: String, state: () -> String = { "" },
  sourceLocation: SourceLocation = #_sourceLocation,
  _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws {
  let deadline = MonotonicClock.now() + limit
  while try await !condition() {
    guard MonotonicClock.now() < deadline else {
      Issue.record("not within \(limit): \(what) \(state())", sourceLocation: sourceLocation)
      return
    }
    try await Task.sleep(for: .milliseconds(5))
  }
}
