import Base
import Glibc
import OpenTokProtocol

/// What came of a load test, for people and for programs.
extension LoadMeter.Report {
  /// A table, a line a figure.
  var table: String {
    func number(_ value: Double, _ unit: String) -> String {
      "\(value.fixed(value < 10 ? 2 : 0)) \(unit)"
    }
    func row(_ title: String, _ spread: LoadMeter.Spread?, _ unit: String, scale: Double = 1) -> String {
      let name = title.padded(to: 22)
      guard let spread else { return "\(name)-\n" }
      let columns = [spread.median, spread.p95, spread.worst].map { number($0 * scale, unit) }
      return name + columns.map { $0.padded(to: 12) }.joined() + "\n"
    }
    func line(_ title: String, _ text: String) -> String {
      title.padded(to: 22) + text + "\n"
    }
    var text = line("participants", "\(joined) of \(participants) joined, \(errors) errors")
    text += line("", "median      p95         worst")
    text += row("join time", joinTime, "ms", scale: 1000)
    text += row("first picture", firstPicture, "ms", scale: 1000)
    text += row("pictures a second", framesPerSecond, "")
    text += row("latency", latency, "ms")
    text += line("packets received", "\(Int(packetsReceived))")
    if let lossShare { text += line("packets lost", "\((lossShare * 100).fixed(3)) %") }
    if let cores, participants > 0 {
      let share = (cores * 100 / Double(participants)).fixed(2)
      text += line("CPU", "\((cores * 100).fixed(1)) % of a core, \(share) % a participant")
    }
    if let rssBytes, participants > 0 {
      let megabytes = Double(rssBytes) / 1e6
      let share = (megabytes / Double(participants)).fixed(2)
      text += line("memory", "\(megabytes.fixed(0)) MB, \(share) MB a participant")
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
