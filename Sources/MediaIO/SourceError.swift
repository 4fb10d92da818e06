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
    }
  }
}
