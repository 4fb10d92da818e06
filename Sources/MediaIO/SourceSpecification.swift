import Codecs

/// What `--video-source` says.
package enum VideoSourceSpecification: Equatable, Sendable {
  case test, noise, black
  case file(path: String, once: Bool)
  /// No picture is published.
  case absent
  case camera(String?)
  case screen(String?)
  /// A camera if there is one that can be had, else the test pattern.
  case automatic

  /// Whether a camera is what it means.
  package var isCamera: Bool {
    switch self {
    case .camera, .automatic: true
    default: false
    }
  }

  package static let choices = [
    "camera[:NAME]", "screen[:DISPLAY|MONITOR|WINDOW]", "test", "noise", "black", "file:PATH", "none",
  ]

  package init(parsing text: String) throws(SourceError) {
    let (kind, argument) = SpecificationText.split(text)
    switch (kind, argument) {
    case ("test", nil): self = .test
    case ("noise", nil): self = .noise
    case ("black", nil): self = .black
    case ("none", nil): self = .absent
    case ("auto", nil): self = .automatic
    case ("camera", _): self = .camera(argument)
    case ("screen", _): self = .screen(argument)
    case ("file", _):
      let file = try SpecificationText.file(text, argument)
      self = .file(path: file.path, once: file.once)
    default: throw .unknown(text: text, choices: Self.choices)
    }
  }
}

/// What `--audio-source` says.
package enum AudioSourceSpecification: Equatable, Sendable {
  /// The test pattern's companion: a blip each second, with the flash.
  case test
  case tone(hertz: Double)
  case noise, silence
  case file(path: String, once: Bool)
  /// No sound is published.
  case absent
  case microphone(String?)
  /// A microphone if there is one that can be had, else silence.
  case automatic

  package static let choices = ["mic[:NAME]", "test", "tone[:HZ]", "noise", "silence", "file:PATH", "none"]

  package init(parsing text: String) throws(SourceError) {
    let (kind, argument) = SpecificationText.split(text)
    switch (kind, argument) {
    case ("test", nil): self = .test
    case ("tone", nil): self = .tone(hertz: 440)
    case ("tone", let argument?):
      guard let hertz = Double(argument), hertz >= 20, hertz <= 20_000 else {
        throw .malformed(text: text, reason: "a frequency from 20 to 20000 Hz is needed")
      }
      self = .tone(hertz: hertz)
    case ("noise", nil): self = .noise
    case ("silence", nil): self = .silence
    case ("none", nil): self = .absent
    case ("auto", nil): self = .automatic
    case ("mic", _): self = .microphone(argument)
    case ("file", _):
      let file = try SpecificationText.file(text, argument)
      self = .file(path: file.path, once: file.once)
    default: throw .unknown(text: text, choices: Self.choices)
    }
  }
}

/// What `--audio-sink` says.
package enum AudioSinkSpecification: Equatable, Sendable {
  case null
  case wav(path: String)
  case speaker(String?)
  /// A loudspeaker if there is one that can be had, else nothing.
  case automatic

  package static let choices = ["speaker[:NAME]", "null", "file:PATH.wav"]

  package init(parsing text: String) throws(SourceError) {
    let (kind, argument) = SpecificationText.split(text)
    switch (kind, argument) {
    case ("null", nil): self = .null
    case ("auto", nil): self = .automatic
    case ("speaker", _): self = .speaker(argument)
    case ("file", _):
      guard let path = argument, path.lowercased().hasSuffix(".wav"), path.count > 4 else {
        throw .malformed(text: text, reason: "the file's name has to end in .wav")
      }
      self = .wav(path: path)
    default: throw .unknown(text: text, choices: Self.choices)
    }
  }
}

private enum SpecificationText {
  /// `KIND[:ARGUMENT]`.
  static func split(_ text: String) -> (kind: String, argument: String?) {
    guard let colon = text.firstIndex(of: ":") else { return (text, nil) }
    return (String(text[..<colon]), String(text[text.index(after: colon)...]))
  }

  static func file(_ text: String, _ argument: String?) throws(SourceError) -> (path: String, once: Bool) {
    var path = argument ?? ""
    let once = path.hasSuffix("?once")
    if once { path.removeLast(5) }
    guard !path.isEmpty else { throw .malformed(text: text, reason: "a path is needed: file:PATH") }
    return (path, once)
  }
}
