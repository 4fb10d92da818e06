import Base
import Glibc
import OpenTokProtocol

/// The session server: credentials, session info, signalling, the REST calls of server SDKs, and the
/// browser page. Its rooms, sockets and routes live on one service thread, this actor's executor.
///
/// A started server stays up until `stop()`.
package actor SessionServer {
  private nonisolated let loop = ServiceLoop(name: "session-server")
  package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// `$XDG_STATE_HOME/otchat`; nil if the environment does not say where home is.
  package static var standardStateDirectory: String? {
    StateDirectory.standardPath { name in getenv(name).map { String(cString: $0) } }
  }

  /// Where clients find it: the public URL, or the address that it listens on.
  package nonisolated let url: String
  package nonisolated let port: Int
  package nonisolated let apiKey: String

  let configuration: Configuration
  let project: ProjectCredentials
  let access: AccessRule
  let publicAddress: PublicAddress?
  /// For clients that do not say how they reached it.
  let ownAddress: PublicAddress
  let report: @Sendable (SessionServerEvent) -> Void
  let callbacks: [CallbackTarget: CallbackDelivery]
  let startedAt = MonotonicClock.now()
  var metrics = ServerMetrics()
  var rooms: RoomDirectory
  var sockets: [RoomSocket: WebSocket] = [:]
  var isTicking = false
  private(set) var isStopping = false

  /// Of the server when it speaks TLS.
  var certificateFile: String? { webConfiguration.certificate?.certificate }
  /// Nil without a place to keep them.
  let store: ArchiveStore?
  var archives: ArchiveCatalogue
  var recordings: [String: Recording] = [:]
  /// How many archives are being recovered.
  var recoveries = 0
  /// Something of archives was given to the disk since the last request came.
  var hasWritten = false
  /// Nil if sessions end with the process.
  var sessionStore: SessionStore?
  let disk = DiskQueue()
  /// Has been told of; what was not written is tried again.
  var isWritingBroken = false
  var isWriting = false
  var isTouching = false
  /// Putting together what was to be written last.
  var collectingDuration = Duration.zero
  /// Streams of a server that died, whose publishers have not come back.
  var unreturnedStreams: Set<String> = []
  private let webConfiguration: WebServer.Configuration
  private var listening: ListeningSocket?
  /// Tells clients how they are seen from here; nil if its port was taken.
  private var stun: DatagramSocket?
  private(set) var web: WebServer?

  /// Listens, and returns when clients can come.
  ///
  /// - Parameter report: called on the service thread; must not block.
  package static func start(
    _ configuration: Configuration, report: @escaping @Sendable (SessionServerEvent) -> Void = { _ in }
  ) async throws(SessionServerError) -> SessionServer {
    // The first sleep of a process takes descriptors for its timer, for good; where there are none the runtime
    // ends the process. Strangers may have taken all by the time when the server first sleeps.
    try? await Task.sleep(for: .milliseconds(10))
    let server = try SessionServer(configuration, report: report)
    try await server.open()
    return server
  }

  private init(
    _ configuration: Configuration, report: @escaping @Sendable (SessionServerEvent) -> Void
  ) throws(SessionServerError) {
    var publicAddress: PublicAddress?
    if let text = configuration.publicURL {
      publicAddress = PublicAddress(url: text)
      guard publicAddress != nil else { throw .badPublicURL(text) }
    }
    if let path = configuration.archiveDirectory { try ArchiveStore.prepare(path) }
    let place = configuration.stateDirectory ?? configuration.archiveDirectory
    let database = try place.map { (path) throws(SessionServerError) in try Database(stateDirectory: path) }
    let project = try Self.project(configuration, database)
    var web = WebServer.Configuration()
    web.host = configuration.host
    web.port = configuration.port
    web.limits = configuration.limits
    // Nobody can connect to "any address", so clients are told one that they can.
    let isAny = ["0.0.0.0", "::"].contains(configuration.host)
    let host = publicAddress?.hostName ?? (isAny ? SocketAddress.reachable() : nil) ?? configuration.host
    web.certificate = try Self.certificate(configuration, host: host)
    do {
      listening = try WebServer.listen(web)
    } catch {
      throw .web(error)
    }
    // Later than whether there is such an address at all.
    let access = try AccessRule(configuration, publicAddress: publicAddress, secret: project.apiSecret)
    let port = listening?.port ?? configuration.port
    self.port = port
    let address =
      publicAddress
      ?? PublicAddress(
        isSecure: web.certificate != nil, authority: PublicAddress.authority(host: host, port: port))

    self.configuration = configuration
    self.project = project
    self.access = access
    self.publicAddress = publicAddress
    self.report = report
    sessionStore = try Self.sessionStore(configuration, database)
    callbacks = configuration.callbacks?.deliveries() ?? [:]
    webConfiguration = web
    apiKey = project.apiKey
    url = address.httpURL
    ownAddress = address
    var rooms = RoomConfiguration(apiKey: project.apiKey, apiSecret: project.apiSecret)
    rooms.iceServers = ICEServerList(
      stunURLs: configuration.stunURLs, turnURLs: configuration.turnURLs,
      turnSecret: configuration.turnSecret)
    // Behind a proxy nobody would reach it.
    if publicAddress == nil {
      stun = DatagramSocket(host: configuration.host, port: port)
      if stun != nil { rooms.iceServers.stunURLs.append("stun:\(address.authority)") }
    }
    rooms.gracePeriod = configuration.gracePeriod
    self.rooms = RoomDirectory(configuration: rooms)
    let archiveDirectory =
      configuration.archiveDirectory ?? configuration.stateDirectory.map { $0 + "/archives" }
    store = database.flatMap { database in
      archiveDirectory.map { ArchiveStore(path: $0, database: database) }
    }
    // Those of other keys belong to other servers of this directory.
    let kept = try store?.load() ?? []
    archives = ArchiveCatalogue(
      kept.filter { SessionID($0.sessionID)?.belongs(to: project.apiKey) ?? false },
      limits: configuration.archiveLimits)
  }

  private func open() throws(SessionServerError) {
    guard let listening = listening.take() else { return }
    let router = makeRouter()
    do {
      web = try WebServer(
        loop: loop, configuration: webConfiguration, listening: listening,
        handlers: WebServer.Handlers(
          request: { request in
            self.hasWritten = false
            var response = router.answer(request)
            response.isHeld = self.hasWritten
            self.metrics.count(response)
            return response
          },
          refusal: { self.refusal(of: $0) },
          opened: { self.opened($0) },
          message: { self.received($1, on: $0) },
          closed: { self.closed($0, $1) },
          timer: { self.tick() },
          held: { self.releaseOnceWritten($0) }))
    } catch {
      throw .web(error)
    }
    watchSTUN()
    Log.info("serve", "listening on \(url)")
    report(.listening(url: url))
    carryOutArchives()
    try restoreSessions()
  }

  /// An answer waits until what was given to the disk before it is there.
  private func releaseOnceWritten(_ number: Int) {
    disk.add { [loop] in loop.perform { self.assumeIsolated { $0.web?.release(number) } } }
  }

  private func watchSTUN() {
    guard let descriptor = stun?.descriptor else { return }
    _ = web?.watch(descriptor) {
      self.stun?.serve { STUNResponder.answer(to: $0, address: $1, port: $2) }
    }
  }

  /// Finishes the archives, tells the clients that it goes away, and frees the port. Takes at most about a
  /// second, with archives as long as their recorders do, with callbacks that nobody takes five seconds more.
  ///
  /// - Parameter restarts: the next server of this state directory goes on with the sessions, if this one
  ///   keeps them (`Configuration.keepsSessions`): clients are not told that they are over, but to come back.
  package func stop(restarts: Bool = false) async {
    guard web != nil, !isStopping else { return }
    isStopping = true
    await stopArchives()
    guard let web else { return }
    self.web = nil
    web.stopListening()
    let restarts = restarts && sessionStore != nil
    if !restarts { carryOut(rooms.shutDown(at: now)) }
    leaveSessions()
    let code = restarts ? RoomCloseCode.serviceRestart : RoomCloseCode.goingAway
    web.webSockets.forEach { $0.close(code: Int(code)) }
    let deadline = MonotonicClock.now() + .seconds(1)
    while !web.webSockets.isEmpty && MonotonicClock.now() < deadline {
      try? await Task.sleep(for: .milliseconds(5))
    }
    web.close()
    stun = nil
    await finishCallbacks()
    await disk.finish(within: .seconds(5))
  }

  /// All at once: none waits for another's dead receiver.
  private func finishCallbacks() async {
    await withTaskGroup { group in
      for delivery in callbacks.values { group.addTask { await delivery.finish(within: .seconds(5)) } }
    }
  }

  /// The path of an archive's file; nil as long as there is none.
  package nonisolated func file(of archive: Archive) -> String? {
    guard let store, let file = archive.file else { return nil }
    return store.directory(archive.id) + "/" + file
  }

  /// A token of this server's project for a day from now on; nil if that is no session id.
  ///
  /// - Parameter now: seconds since 1970.
  package nonisolated func token(session: String, role: Role, now: Int64) -> String? {
    SessionID(session).map { project.token(for: $0, role: role, data: "", now: now) }
  }

  private static func project(
    _ configuration: Configuration, _ database: Database?
  ) throws(SessionServerError) -> ProjectCredentials {
    if let key = configuration.apiKey, let secret = configuration.apiSecret {
      return ProjectCredentials(apiKey: key, apiSecret: secret)
    }
    var project: ProjectCredentials
    if let path = configuration.stateDirectory, let database {
      project = try ProjectCredentials.kept(in: database, besides: StateDirectory(path: path))
    } else {
      project = .random()
    }
    project.apiKey = configuration.apiKey ?? project.apiKey
    project.apiSecret = configuration.apiSecret ?? project.apiSecret
    return project
  }

  private static func certificate(
    _ configuration: Configuration, host: String
  ) throws(SessionServerError) -> CertificateFiles? {
    guard configuration.certificate == nil, configuration.isSelfSigned else {
      return configuration.certificate
    }
    guard let path = configuration.stateDirectory else {
      throw .state(path: "", reason: "a certificate of its own needs a state directory")
    }
    return try SelfSignedCertificate.kept(in: StateDirectory(path: path), host: host)
  }
}
