/// What there may be several of on a machine, to be chosen by name.
package enum DeviceKind: String, Sendable, CaseIterable {
  case camera, microphone, loudspeaker, screen

  /// The word that selects it on the command line.
  package var specification: String {
    switch self {
    case .camera: "camera"
    case .microphone: "mic"
    case .loudspeaker: "speaker"
    case .screen: "screen"
    }
  }
}
