import OpenTokProtocol

/// The scenarios that come with otchat, by the names of their files.
package enum BuiltInScenario: String, CaseIterable, Sendable {
  case smoke
  case muteMatrix = "mute-matrix"
  case lateJoiner = "late-joiner"
  case moderator
  case reconnect
  case lossyNetwork = "lossy-network"
  case tenParty = "ten-party"

  /// The scenario file.
  package var json: [UInt8] {
    switch self {
    case .smoke: PackageResources.smoke_json
    case .muteMatrix: PackageResources.mute_matrix_json
    case .lateJoiner: PackageResources.late_joiner_json
    case .moderator: PackageResources.moderator_json
    case .reconnect: PackageResources.reconnect_json
    case .lossyNetwork: PackageResources.lossy_network_json
    case .tenParty: PackageResources.ten_party_json
    }
  }

  /// What it is for, in a sentence.
  package var about: String { (try? JSON(parsing: json))?["about"]?.stringValue ?? "" }
}
