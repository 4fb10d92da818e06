import Base
import OTKit

/// Why a session could not be entered, and how far that got.
package struct ConnectFailure: Error {
  package let error: OpenTokError
  /// The one that failed last.
  package let stages: [OpenTokError.StageTime]

  package init(_ error: OpenTokError, _ stages: [OpenTokError.StageTime]) {
    self.error = error
    self.stages = stages
  }

  /// For people: in which stage, and how long each took.
  package var place: String {
    "in \(stages.last?.stage.rawValue ?? "no stage"): \(stages.map(\.text).joined(separator: ", "))"
  }
}
