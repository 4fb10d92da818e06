import Foundation
import OpenTokProtocol

/// What came of a load test, for people and for programs.
extension LoadMeter.Report {
  /// A table, a line a figure.
  var table: String {
    func number(_ value: Double, _ unit: String) -> String {
      "\(String(format: value < 10 ? "%.2f" : "%.0f", value)) \(unit)"
    }
    func row(_ title: String, _ spread: LoadMeter.Spread?, _ unit: String, scale: Double = 1) -> String {
      let name = title.padding(toLength: 22, withPad: " ", startingAt: 0)
      guard let spread else { return "\(name)-\n" }
      let columns = [spread.median, spread.p95, spread.worst].map { number($0 * scale, unit) }
      return name + columns.map { $0.padding(toLength: 12, withPad: " ", startingAt: 0) }.joined() + "\n"
    }
    func line(_ title: String, _ text: String) -> String {
      title.padding(toLength: 22, withPad: " ", startingAt: 0) + text + "\n"
    }
    var text = line("participants", "\(joined) of \(participants) joined, \(errors) errors")
    text += line("", "median      p95         worst")
    text += row("join time", joinTime, "ms", scale: 1000)
    text += row("first picture", firstPicture, "ms", scale: 1000)
    text += row("pictures a second", framesPerSecond, "")
    text += row("latency", latency, "ms")
    text += line("packets received", "\(Int(packetsReceived))")
    if let lossShare { text += line("packets lost", String(format: "%.3f %%", lossShare * 100)) }
    if let cores, participants > 0 {
      text += line(
        "CPU",
        String(
          format: "%.1f %% of a core, %.2f %% a participant", cores * 100, cores * 100 / Double(participants))
      )
    }
    if let rssBytes, participants > 0 {
      text += line(
        "memory",
        String(
          format: "%.0f MB, %.2f MB a participant", Double(rssBytes) / 1e6,
          Double(rssBytes) / 1e6 / Double(participants)))
    }
    return text
  }

  var json: JSON {
    func spread(_ spread: LoadMeter.Spread?) -> JSON {
      guard let spread else { return .null }
      return ["median": .number(spread.median), "p95": .number(spread.p95), "worst": .number(spread.worst)]
    }
    return [
      "participants": .integer(Int64(participants)), "joined": .integer(Int64(joined)),
      "errors": .integer(Int64(errors)), "joinSeconds": spread(joinTime),
      "firstPictureSeconds": spread(firstPicture), "framesPerSecond": spread(framesPerSecond),
      "endToEndLatency": spread(latency), "packetsReceived": .number(packetsReceived),
      "lossShare": lossShare.map { .number($0) } ?? .null, "cpuCores": cores.map { .number($0) } ?? .null,
      "rssBytes": rssBytes.map { .integer($0) } ?? .null,
    ]
  }
}
