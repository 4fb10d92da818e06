import Base
import OpenTokProtocol
import Testing

@testable import SessionServer

@Suite struct ArchiveCatalogueTests {
  private struct Scene {
    var catalogue = ArchiveCatalogue()
    var now = RoomTime(instant: .zero, unixMilliseconds: 1_700_000_000_000)
    var present = ArchiveCatalogue.Occupancy(
      clients: 1, streams: [Archive.Stream(id: "s", hasAudio: true, hasVideo: true)])
    private var ids = 0

    init(_ limits: ArchiveCatalogue.Limits = .init(), kept: [Archive] = []) {
      catalogue = ArchiveCatalogue(kept, limits: limits)
    }

    mutating func start(
      _ options: ArchiveOptions = ArchiveOptions(), session: String = "S"
    ) throws(RoomRefusal) -> Archive {
      ids += 1
      return try catalogue.start(options, id: "A\(ids)", session: session, occupancy: present, at: now)
    }

    mutating func pass(_ seconds: Int64) -> [String] {
      now.instant += .seconds(seconds)
      now.unixMilliseconds += seconds * 1000
      catalogue.advance(to: now, newID: { "NEXT" }, occupancy: { _ in present })
      return drain()
    }

    /// What is to be done, without the keeping of records.
    mutating func drain() -> [String] {
      catalogue.drain().compactMap { output in
        switch output {
        case .keep: nil
        case .record(let archive): "record \(archive.id)"
        case .tell(let id, .stop): "stop \(id)"
        case .tell(let id, let command): "tell \(id) \(command)"
        case .recover(let archive): "recover \(archive.id)"
        case .erase(let id): "erase \(id)"
        case .announce(let archive): "announce \(archive.id)"
        case .announceEnd(let archive): "announce end \(archive.id)"
        case .changed(let archive):
          "\(archive.id) \(archive.status.rawValue)" + (archive.reason.isEmpty ? "" : ": \(archive.reason)")
        }
      }
    }
  }

  private static let file = ArchiveFile(path: "/x/A1/archive.mp4", durationSeconds: 6.4, sizeBytes: 9)

  @Test func anArchivesLife() throws {
    var scene = Scene()
    let archive = try scene.start()
    #expect(archive.status == .started)
    #expect(archive.streams.map(\.id) == ["s"])
    #expect(scene.drain() == ["record A1"])
    // The clients are told when it is true.
    scene.catalogue.recorderStarted("A1")
    #expect(scene.drain() == ["announce A1", "A1 started"])
    #expect(try scene.catalogue.stop("A1").status == .stopped)
    #expect(scene.drain() == ["announce end A1", "stop A1", "A1 stopped: user initiated"])
    #expect(scene.catalogue.isRecording)
    scene.catalogue.finished("A1", Self.file)
    #expect(scene.drain() == ["A1 available: user initiated"])
    #expect(!scene.catalogue.isRecording)
    let finished = try scene.catalogue.archive("A1")
    #expect(finished.file == "archive.mp4")
    #expect(finished.sizeBytes == 9)
    try scene.catalogue.delete("A1")
    #expect(scene.drain() == ["erase A1"])
    #expect(throws: RoomRefusal(404, "no such archive")) { try scene.catalogue.archive("A1") }
  }

  @Test func whatIsRefused() throws {
    var scene = Scene()
    #expect(throws: RoomRefusal(404, "no such archive")) { try scene.catalogue.stop("A9") }
    scene.present.clients = 0
    #expect(throws: RoomRefusal(400, "no client is in the session")) { try scene.start() }
    scene.present.clients = 1
    let id = try scene.start().id
    #expect(throws: RoomRefusal(409, "the session is being recorded")) { try scene.start() }
    var tagged = ArchiveOptions()
    tagged.multiArchiveTag = "second"
    #expect(try scene.start(tagged).status == .started, "archives with other tags may run beside it")
    #expect(throws: RoomRefusal(409, "the archive is not finished")) { try scene.catalogue.delete(id) }
    #expect(throws: RoomRefusal.self) {
      try scene.catalogue.addStream("s", hasAudio: true, hasVideo: true, to: id, known: true)
    }
    _ = try scene.catalogue.stop(id)
    #expect(throws: RoomRefusal(409, "the archive is not being recorded")) { try scene.catalogue.stop(id) }
    #expect(throws: RoomRefusal(409, "the archive is not being recorded")) {
      try scene.catalogue.setLayout(ArchiveLayout(.pip), of: id)
    }
    #expect(try scene.start().status == .started, "the next one may begin while that is being finished")
  }

  @Test func recordingsAreLimited() throws {
    var limits = ArchiveCatalogue.Limits()
    limits.recordings = 2
    var scene = Scene(limits)
    _ = try scene.start(session: "S1")
    _ = try scene.start(session: "S2")
    #expect(throws: RoomRefusal.self) { try scene.start(session: "S3") }
  }

  @Test func streamsAreChosen() throws {
    var scene = Scene()
    var options = ArchiveOptions()
    options.streamMode = .manual
    let id = try scene.start(options).id
    #expect(try scene.catalogue.archive(id).streams == [])
    #expect(throws: RoomRefusal(404, "no such stream")) {
      try scene.catalogue.addStream("z", hasAudio: true, hasVideo: true, to: id, known: false)
    }
    try scene.catalogue.addStream("s", hasAudio: true, hasVideo: false, to: id, known: true)
    #expect(try scene.catalogue.archive(id).streams == [.init(id: "s", hasAudio: true, hasVideo: false)])
    try scene.catalogue.addStream("s", hasAudio: true, hasVideo: true, to: id, known: true)
    #expect(try scene.catalogue.archive(id).streams.count == 1)
    try scene.catalogue.removeStream("s", from: id)
    #expect(throws: RoomRefusal(404, "no such stream")) { try scene.catalogue.removeStream("z", from: id) }
    #expect(scene.drain().count == 4)
  }

  @Test func streamsThatComeAreListed() throws {
    var scene = Scene()
    var options = ArchiveOptions()
    options.hasVideo = false
    let id = try scene.start(options).id
    let second = Archive.Stream(id: "t", hasAudio: true, hasVideo: true)
    for _ in 0..<2 {
      scene.catalogue.streamCreated(
        second, session: "S", automatic: nil, id: "X", occupancy: scene.present, at: scene.now)
    }
    scene.catalogue.streamCreated(
      second, session: "other", automatic: nil, id: "X", occupancy: scene.present, at: scene.now)
    #expect(
      try scene.catalogue.archive(id).streams == [
        .init(id: "s", hasAudio: true, hasVideo: false), .init(id: "t", hasAudio: true, hasVideo: false),
      ])
  }

  @Test func anEmptySessionEndsItsArchive() throws {
    var scene = Scene()
    _ = try scene.start()
    scene.catalogue.recorderStarted("A1")
    _ = scene.drain()
    scene.present.clients = 0
    #expect(scene.pass(59) == [])
    scene.present.clients = 1
    #expect(scene.pass(1) == [], "they came back")
    scene.present.clients = 0
    #expect(scene.pass(59) == [])
    #expect(scene.pass(1) == ["announce end A1", "stop A1", "A1 stopped: session ended"])
    #expect(scene.pass(100) == [])
  }

  @Test func anArchiveOfNothingEnds() throws {
    var scene = Scene()
    scene.present.streams = []
    _ = try scene.start()
    _ = scene.drain()
    #expect(scene.pass(59) == [])
    #expect(scene.pass(1) == ["stop A1", "A1 stopped: no client published"])
  }

  @Test func archivesAreLimitedInTimeAndAutomaticOnesGoOn() throws {
    var limits = ArchiveCatalogue.Limits()
    limits.duration = .seconds(7200)
    var scene = Scene(limits)
    scene.catalogue.streamCreated(
      scene.present.streams[0], session: "S",
      automatic: ArchiveOptions(automatic: AutomaticArchive(name: "all", resolution: "1280x720")), id: "A1",
      occupancy: scene.present, at: scene.now)
    #expect(scene.drain() == ["record A1"])
    #expect(try scene.catalogue.archive("A1").options.resolution == "1280x720")
    // Its second stream begins no second archive.
    scene.catalogue.streamCreated(
      .init(id: "t", hasAudio: true, hasVideo: true), session: "S",
      automatic: ArchiveOptions(automatic: AutomaticArchive()), id: "X", occupancy: scene.present,
      at: scene.now)
    #expect(scene.drain() == [])
    #expect(scene.pass(7199) == [])
    #expect(
      scene.pass(1) == ["stop A1", "A1 stopped: maximum duration exceeded", "record NEXT"])
    #expect(try scene.catalogue.archive("NEXT").options.name == "all")
  }

  @Test func aRecorderThatCannotStart() throws {
    var scene = Scene()
    _ = try scene.start()
    scene.catalogue.recorderFailed("A1", .session("no way in"))
    #expect(
      scene.drain() == ["record A1", "A1 failed: the session cannot be recorded: no way in"])
    #expect(try scene.start().status == .started)
  }

  @Test(arguments: [true, false]) func aRecorderThatFailsLater(isRecovered: Bool) throws {
    var scene = Scene()
    _ = try scene.start()
    scene.catalogue.recorderStarted("A1")
    _ = scene.drain()
    scene.catalogue.recorderFailed("A1", .output("no space"))
    let reason = "the file cannot be written: no space"
    #expect(scene.drain() == ["announce end A1", "recover A1", "A1 stopped: \(reason)"])
    if isRecovered {
      scene.catalogue.finished("A1", Self.file)
      #expect(scene.drain() == ["A1 available: \(reason)"])
    } else {
      scene.catalogue.recoveryFailed("A1")
      #expect(scene.drain() == ["A1 failed: \(reason)"])
    }
  }

  @Test func stoppedWhileStarting() throws {
    var scene = Scene()
    _ = try scene.start()
    _ = try scene.catalogue.stop("A1")
    scene.catalogue.recorderStarted("A1")
    #expect(
      scene.drain() == ["record A1", "stop A1", "A1 stopped: user initiated"], "nobody heard of it")
    scene.catalogue.recorderFailed("A1", .empty)
    #expect(scene.drain() == ["A1 failed: nothing was recorded"])
  }

  @Test func whatADeadServerLeftIsRecovered() throws {
    var scene = Scene()
    var options = ArchiveOptions()
    options.name = "naïve \"film\""
    options.outputMode = .individual
    options.maximumBitrate = 300_000
    _ = try scene.start(options)
    let record = try scene.catalogue.archive("A1").record
    let kept = try #require(Archive(record: try JSON(parsing: record.serialized())))
    #expect(try scene.catalogue.archive("A1") == kept)

    var next = Scene(kept: [kept])
    #expect(
      next.drain() == ["recover A1", "A1 stopped: the server ended while it was recording"])
    next.catalogue.finished("A1", Self.file)
    #expect(next.drain() == ["A1 available: the server ended while it was recording"])
    let available = try next.catalogue.archive("A1")
    var last = Scene(kept: [available])
    #expect(last.drain() == [], "a finished one is as it is")
  }

  @Test func wildNumbersInARecordStopNothing() throws {
    var scene = Scene()
    _ = try scene.start(ArchiveOptions())
    var object = try #require(try scene.catalogue.archive("A1").record.objectValue)
    object["status"] = "available"
    for (duration, size, shown) in [(1e300, Int64.max, "min"), (-.infinity, Int64.min, "0 min 0 s, 0 KiB")] {
      (object["duration"], object["size"]) = (.number(duration), .integer(size))
      let archive = try #require(Archive(record: .object(object)))
      #expect((0...1e9).contains(archive.durationSeconds) && archive.sizeBytes >= 0)
      #expect(ArchivePage.html(archive, file: "archive.mp4").contains(shown))
    }
  }
}

@Suite struct ArchiveOptionsTests {
  @Test(arguments: [
    (#"{"resolution":"1x1"}"#, "there is no resolution like that"),
    (#"{"outputMode":"other"}"#, "there is no such outputMode"),
    (#"{"streamMode":1}"#, "there is no such streamMode"),
    (#"{"hasAudio":false,"hasVideo":false}"#, "neither audio nor video is to be recorded"),
    (#"{"hasAudio":"yes"}"#, "hasAudio is true or false"),
    (#"{"outputMode":"individual","resolution":"640x480"}"#, "individual streams keep their resolution"),
    (#"{"outputMode":"individual","layout":{"type":"pip"}}"#, "individual streams have no layout"),
    (#"{"layout":{"type":"custom"}}"#, "the layout type custom needs a stylesheet"),
    (
      #"{"layout":{"type":"pip","stylesheet":"a"}}"#, "a stylesheet is a text, and for the layout type custom"
    ),
    (
      #"{"layout":{"type":"pip","screenshareType":"pip"}}"#,
      "screenshareType goes with the layout type bestFit, and is not custom"
    ),
    (#"{"layout":{"type":"heap"}}"#, "there is no such layout type"),
    (#"{"maxBitrate":1}"#, "maxBitrate is from 100000 to 6000000"),
    (#"{"name":5}"#, "name is a text of at most 255 characters"),
  ])
  func wrongValues(json: String, message: String) throws {
    let body = try JSON(parsing: [UInt8](json.utf8))
    #expect(throws: RoomRefusal(400, message)) { try ArchiveOptions(body) }
  }

  @Test func rightValues() throws {
    let text = """
      {"name":"n","resolution":"720x1280","layout":{"type":"bestFit","screenshareType":"pip"},"hasVideo":null,
      "streamMode":"manual","multiArchiveTag":"t","maxBitrate":2000000}
      """
    let options = try ArchiveOptions(try JSON(parsing: [UInt8](text.utf8)))
    #expect((options.width, options.height) == (720, 1280))
    #expect(options.layout == ArchiveLayout(.bestFit, screenshareKind: .pip))
    #expect(options.hasVideo && options.streamMode == .manual && options.multiArchiveTag == "t")
    #expect(options.maximumBitrate == 2_000_000)
    #expect(try ArchiveOptions([:]) == ArchiveOptions())
    #expect(ArchiveOptions(record: options.record) == options)
  }

  @Test func sessionsSayThatTheyAreRecorded() throws {
    var generator = SystemGenerator()
    let archive = AutomaticArchive(name: "a ~ b & ü", resolution: "1280x720")
    let id = SessionID(apiKey: "100", creationTime: 5, archive: archive, using: &generator)
    #expect(SessionID(id.text)?.automaticArchive == archive)
    #expect(SessionID(id.text)?.belongs(to: "100") == true)
    let manual = SessionID(apiKey: "100", creationTime: 5, using: &generator)
    #expect(SessionID(manual.text)?.automaticArchive == nil)
  }
}
