import Foundation
import Participant
import Testing

struct EventDocumentTests {
  @Test func everyEventIsInTheTable() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: root.appending(path: "docs/events.md"), encoding: .utf8)
    var names: [String] = []
    for line in text.split(separator: "\n") where line.hasPrefix("| `") {
      let cell = line.split(separator: "|")[0]
      names += cell.split(separator: "`").map(String.init).filter { $0.contains { $0.isLetter } }
    }
    #expect(names.sorted() == ParticipantEvent.names.sorted())
  }
}
