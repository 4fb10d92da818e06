import CALSA
import Glibc

/// A microphone or loudspeaker that can be chosen.
package struct SoundDevice: Sendable, Equatable {
  /// For people: `USB Audio Device, USB Audio`.
  package var name: String
  /// ALSA's name, which selects it.
  package var identifier: String

  /// Whether it is what is taken where none is named.
  package var isDefault: Bool { identifier == SoundDevices.defaultName }
}

/// The sound cards that ALSA knows, and the way to a sound server.
package enum SoundDevices {
  /// What ALSA's configuration or the sound server has chosen.
  static let defaultName = "default"

  package static func microphones() -> [SoundDevice] { list(.capture) }
  package static func loudspeakers() -> [SoundDevice] { list(.playback) }

  /// The device that a name means: ALSA's name, or a part of what people call it, in any case.
  ///
  /// What is in no list may still be a name of ALSA's: `pulse:SOURCE`, an entry in `~/.asoundrc`.
  static func identifier(of name: String, among devices: [SoundDevice]) -> String {
    if devices.contains(where: { $0.identifier == name }) { return name }
    let wanted = name.lowercased()
    return devices.first { $0.name.lowercased().contains(wanted) }?.identifier ?? name
  }

  static func open(_ name: String?, _ direction: PCM.Direction) throws(SourceError) -> PCM {
    guard let name else {
      do throws(SourceError) {
        return try PCM(name: defaultName, direction)
      } catch {
        // ALSA does not see cards that it may not open.
        guard error.isAbsence else { throw error }
        guard access("/dev/snd/controlC0", R_OK | W_OK) != 0, errno == EACCES else {
          throw .noDevice(direction.kind, name: nil, choices: [])
        }
        throw .deviceForbidden(direction.kind, name: defaultName)
      }
    }
    let devices = cards(direction)
    do throws(SourceError) {
      return try PCM(name: identifier(of: name, among: devices), direction)
    } catch {
      guard case .noDevice(let kind, _, _) = error else { throw error }
      throw .noDevice(kind, name: name, choices: list(direction).map(\.name))
    }
  }

  private static func list(_ direction: PCM.Direction) -> [SoundDevice] {
    var devices = cards(direction)
    if (try? PCM(name: defaultName, direction)) != nil {
      devices.insert(SoundDevice(name: "Default", identifier: defaultName), at: 0)
    }
    return devices
  }

  private static func cards(_ direction: PCM.Direction) -> [SoundDevice] {
    otchat_alsa_be_quiet()
    var devices: [SoundDevice] = []
    var card: Int32 = -1
    while snd_card_next(&card) == 0, card >= 0 {
      var opened: OpaquePointer?
      guard snd_ctl_open(&opened, "hw:\(card)", 0) == 0, let control = opened else { continue }
      defer { snd_ctl_close(control) }
      devices.append(contentsOf: Self.devices(of: control, direction))
    }
    return devices
  }

  private static func devices(of control: OpaquePointer, _ direction: PCM.Direction) -> [SoundDevice] {
    var (card, device): (OpaquePointer?, OpaquePointer?)
    guard snd_ctl_card_info_malloc(&card) == 0, let card else { return [] }
    defer { snd_ctl_card_info_free(card) }
    guard snd_pcm_info_malloc(&device) == 0, let device else { return [] }
    defer { snd_pcm_info_free(device) }
    guard snd_ctl_card_info(control, card) == 0 else { return [] }
    var devices: [SoundDevice] = []
    var number: Int32 = -1
    while snd_ctl_pcm_next_device(control, &number) == 0, number >= 0 {
      snd_pcm_info_set_device(device, UInt32(number))
      snd_pcm_info_set_subdevice(device, 0)
      snd_pcm_info_set_stream(
        device, direction == .capture ? SND_PCM_STREAM_CAPTURE : SND_PCM_STREAM_PLAYBACK)
      guard snd_ctl_pcm_info(control, device) == 0 else { continue }
      let names = [text(snd_ctl_card_info_get_name(card)), text(snd_pcm_info_get_name(device))]
      devices.append(
        SoundDevice(
          name: names.filter { !$0.isEmpty }.joined(separator: ", "),
          identifier: "plughw:CARD=\(text(snd_ctl_card_info_get_id(card))),DEV=\(number)"))
    }
    return devices
  }

  private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
    pointer.map { String(cString: $0) } ?? ""
  }
}
