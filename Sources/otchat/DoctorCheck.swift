import Base
import Glibc
import OpenTokProtocol
import Peer

/// One thing that `otchat doctor` looked at.
struct DoctorCheck: Equatable {
  enum Verdict: String {
    case ok
    /// Calls work, with less.
    case note
    case failed
  }

  let name: String
  let verdict: Verdict
  /// What was found.
  let finding: String
  /// What can be done.
  var hint: String?

  init(_ name: String, _ verdict: Verdict, _ finding: String, hint: String? = nil) {
    self.name = name
    self.verdict = verdict
    self.finding = finding
    self.hint = hint
  }

  init(_ name: String, failure: Failure) {
    self.init(name, .failed, failure.message, hint: failure.hint)
  }

  /// For people: a line, and one for the hint.
  var text: String {
    let mark =
      switch verdict {
      case .ok: "ok      "
      case .note: "note    "
      case .failed: "FAILED  "
      }
    let title = name.padded(to: max(14, name.count))
    return "\(mark)\(title)  \(finding)\n"
      + (hint.map { "        \(String(repeating: " ", count: 14))  hint: \($0)\n" } ?? "")
  }

  var json: JSON {
    [
      "check": .string(name), "verdict": .string(verdict.rawValue), "finding": .string(finding),
      "hint": hint.map(JSON.string) ?? .null,
    ]
  }

  /// Those that others are told of.
  static func addresses(_ addresses: HostAddresses) -> DoctorCheck {
    if addresses.used.isEmpty { return DoctorCheck("addresses", .failed, "none: no network is up") }
    return addresses.isLastResort
      ? DoctorCheck("addresses", .note, addresses.text, hint: "calls to other machines may find no path")
      : DoctorCheck("addresses", .ok, addresses.text)
  }

  /// - Parameters:
  ///   - header: the server's `Date` (RFC 9110, 5.6.7), seconds since 1970, without a fraction.
  ///   - sent: when it was asked, and when the answer was there, seconds since 1970.
  static func clock(header: Double?, sent: Double, received: Double) -> DoctorCheck {
    guard let header else {
      return DoctorCheck("clock", .note, "the server does not say what time it has")
    }
    // The second that the header names began at some time before the answer was made.
    let offset = header + 0.5 - (sent + received) / 2
    let uncertainty = 0.5 + (received - sent) / 2
    let shown = "\(Int(offset.rounded())) s"
    guard abs(offset) > uncertainty + 0.5 else {
      return DoctorCheck("clock", .ok, "agrees with the server's to \(Int(uncertainty.rounded(.up))) s")
    }
    let isBearable = abs(offset) < 30
    return DoctorCheck(
      "clock", isBearable ? .note : .failed,
      "the server's clock is \(offset > 0 ? "ahead" : "behind") by \(shown.replacing("-", with: ""))",
      hint: isBearable
        ? "latency between two machines is wrong by that"
        : "tokens may count as expired, or as made in the future")
  }
}
