import Testing

@testable import MediaIO

@Suite struct SourceSpecificationTests {
  @Test func videoSources() throws {
    let expected: [(String, VideoSourceSpecification)] = [
      ("test", .test), ("noise", .noise), ("black", .black), ("none", .absent),
      ("file:a b.mp4", .file(path: "a b.mp4", once: false)),
      ("file:/x/y:z.mkv?once", .file(path: "/x/y:z.mkv", once: true)), ("camera", .camera(nil)),
      ("camera:/dev/video1", .camera("/dev/video1")), ("screen::1", .screen(":1")),
    ]
    for (text, specification) in expected {
      #expect(try VideoSourceSpecification(parsing: text) == specification)
    }
  }

  @Test func audioSources() throws {
    let expected: [(String, AudioSourceSpecification)] = [
      ("tone", .tone(hertz: 440)), ("tone:1000", .tone(hertz: 1000)), ("noise", .noise),
      ("silence", .silence), ("none", .absent), ("mic", .microphone(nil)), ("mic:USB", .microphone("USB")),
      ("test", .test), ("file:a.wav?once", .file(path: "a.wav", once: true)),
    ]
    for (text, specification) in expected {
      #expect(try AudioSourceSpecification(parsing: text) == specification)
    }
  }

  @Test func sinks() throws {
    #expect(try AudioSinkSpecification(parsing: "null") == .null)
    #expect(try AudioSinkSpecification(parsing: "file:/tmp/a.wav") == .wav(path: "/tmp/a.wav"))
    #expect(try AudioSinkSpecification(parsing: "speaker:hw:0") == .speaker("hw:0"))
  }

  @Test(arguments: ["", "tset", "test:1", "file", "file:", "file:?once", "Test"])
  func wrongVideoSources(text: String) {
    #expect(throws: SourceError.self) { try VideoSourceSpecification(parsing: text) }
  }

  @Test(arguments: ["tone:", "tone:nan", "tone:0", "tone:-5", "tone:1e9", "tone:x", "microphone"])
  func wrongAudioSources(text: String) {
    #expect(throws: SourceError.self) { try AudioSourceSpecification(parsing: text) }
  }

  @Test(arguments: ["file:a.mp3", "file:.wav", "file:", "loudspeaker"])
  func wrongSinks(text: String) {
    #expect(throws: SourceError.self) { try AudioSinkSpecification(parsing: text) }
  }

  @Test func errorsTellWhatAndWhat() throws {
    let error = #expect(throws: SourceError.self) { try VideoSourceSpecification(parsing: "tset") }
    #expect(error?.message == "unknown source or sink \"tset\"")
    #expect(error?.hint?.contains("file:PATH") == true)
    #expect(throws: SourceError.noDevice(.camera, name: "/nowhere", choices: [])) {
      _ = try VideoSourceSpecification.camera("/nowhere").makeSource(
        size: .init(width: 640, height: 480), frameRate: 30)
    }
    #expect(throws: SourceError.fileMissing(path: "/nowhere.mp4")) {
      _ = try AudioSourceSpecification.file(path: "/nowhere.mp4", once: false).makeSource()
    }
  }
}
