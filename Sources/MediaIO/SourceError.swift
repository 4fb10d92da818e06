/// Why a source or a sink cannot be had. `message` and `hint` are for people.
package enum SourceError: Error, Equatable, Sendable {
  /// The text names no source or sink; `choices` are those there are.
  case unknown(text: String, choices: [String])
  /// The text names a source, but what follows the colon makes no sense.
  case malformed(text: String, reason: String)
  case fileMissing(path: String)
  case fileUnreadable(path: String, reason: String)
  /// It can be read, but it is no sound or picture that can be decoded.
  case notDecodable(path: String, reason: String)
  /// Files cannot be played on this machine.
  case libraryMissing(reason: String)
  case noVideo(path: String)
  case noAudio(path: String)
  case cannotWrite(path: String, reason: String)
  /// A device this version cannot use.
  case notSupportedYet(device: String)
  /// None of that name, or none at all for nil; `choices` are those there are.
  case noDevice(DeviceKind, name: String?, choices: [String])
  /// Another program has it.
  case deviceBusy(DeviceKind, name: String)
  /// This user may not use it.
  case deviceForbidden(DeviceKind, name: String)
  case deviceFailed(DeviceKind, name: String, reason: String)
  /// What a program captures with by itself.
  case capturerFailed(reason: String)

  /// One line: what and where.
  package var message: String {
    switch self {
    case .unknown(let text, _): "unknown source or sink \"\(text)\""
    case .malformed(let text, let reason): "\"\(text)\": \(reason)"
    case .fileMissing(let path): "\(path): no such file"
    case .fileUnreadable(let path, let reason): "\(path): cannot be read: \(reason)"
    case .notDecodable(let path, let reason): "\(path): cannot be decoded: \(reason)"
    case .libraryMissing(let reason): "files cannot be played: \(reason)"
    case .noVideo(let path): "\(path): there is no picture in it"
    case .noAudio(let path): "\(path): there is no sound in it"
    case .cannotWrite(let path, let reason): "\(path): cannot be written: \(reason)"
    case .notSupportedYet(let device): "\(device): not supported yet"
    case .noDevice(let kind, nil, _): "there is no \(kind.rawValue)"
    case .noDevice(let kind, let name?, _): "there is no \(kind.rawValue) \"\(name)\""
    case .deviceBusy(let kind, let name): "the \(kind.rawValue) \"\(name)\" is in use by another program"
    case .deviceForbidden(let kind, let name): "the \(kind.rawValue) \"\(name)\": permission denied"
    case .capturerFailed(let reason): reason
    case .deviceFailed(let kind, let name, let reason): "the \(kind.rawValue) \"\(name)\": \(reason)"
    }
  }

  /// What the user can do, if there is something.
  package var hint: String? {
    switch self {
    case .unknown(_, let choices): "one of: \(choices.joined(separator: ", "))"
    case .malformed, .fileUnreadable, .cannotWrite: nil
    case .fileMissing: "a relative path starts in the directory where otchat was started"
    case .notDecodable: "any format that ffmpeg reads will do; is the file complete?"
    case .libraryMissing: "install ffmpeg's libraries: apt install libavformat59 libswscale6 libswresample4"
    case .noVideo: "give it as --audio-source"
    case .noAudio: "give it as --video-source"
    case .notSupportedYet: "test, noise, black, tone, silence and file:PATH work"
    case .noDevice(.screen, nil, _):
      "DISPLAY names none; screen:DISPLAY takes another. A Wayland session shows otchat only X11 programs' windows"
    case .noDevice(_, nil, _): nil
    case .noDevice(_, _, let choices):
      choices.isEmpty
        ? "'otchat devices' lists what there is" : "there is: \(choices.joined(separator: ", "))"
    case .deviceBusy(.microphone, _), .deviceBusy(.loudspeaker, _):
      "'fuser -v /dev/snd/*' shows which; a sound server (PipeWire, PulseAudio) lets programs share it"
    case .deviceBusy(let kind, let name):
      "'fuser -v \(kind == .camera ? name : "/dev/video*")' shows which; it has to leave it first"
    case .deviceForbidden(.camera, _):
      "its user has to be in the group 'video': sudo usermod -aG video $USER, then log in anew"
    case .deviceForbidden:
      "its user has to be in the group 'audio': sudo usermod -aG audio $USER, then log in anew"
    case .deviceFailed, .capturerFailed: nil
    }
  }

  /// Whether there is no such device at all, whatever it is called.
  var isAbsence: Bool {
    if case .noDevice = self { return true }
    return false
  }

  /// Message and hint in one line.
  package var notice: String { hint.map { "\(message) (\($0))" } ?? message }
}
