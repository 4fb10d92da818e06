import Base

extension SessionServer {
  /// Everything that `otchat serve` can be told.
  package struct Configuration: Sendable {
    /// Address or name to listen on.
    package var host = "127.0.0.1"
    /// 0 takes a free one.
    package var port = 8080
    /// How clients reach the server, if not as they say in the `Host` header: scheme, host, port.
    package var publicURL: String?

    /// In place of the kept ones.
    package var apiKey: String?
    package var apiSecret: String?
    /// Where credentials and the self-signed certificate are kept; nil keeps nothing.
    package var stateDirectory: String? = SessionServer.standardStateDirectory

    /// Where archives are kept, a directory each; nil: `archives` in the state directory.
    package var archiveDirectory: String?
    package var archiveLimits = ArchiveCatalogue.Limits()
    /// Who records archives; nil: nobody, and who asks is told so.
    package var recorders: ArchiveRecorderFactory?
    /// Who is told what happens in sessions and to archives; nil: nobody.
    package var callbacks: Callbacks?

    /// Sessions go on after this process has died and another one has started with the same state directory.
    package var keepsSessions = false

    /// Serves TLS with these files.
    package var certificate: CertificateFiles?
    /// Serves TLS with a certificate of its own, made at the first use.
    package var isSelfSigned = false

    /// Asked of those who want credentials, if they can come from other machines.
    package var accessKey: String?
    /// Gives credentials to everybody, without an access key.
    package var isOpen = false

    package var stunURLs: [String] = []
    package var turnURLs: [String] = []
    /// Shared with the TURN server, which checks the passwords made with it.
    package var turnSecret: String?

    /// How long a client whose socket was lost may resume its connection. Clients try for 60 s; until
    /// then the others see a frozen picture.
    package var gracePeriod: Duration = .seconds(20)
    package var limits = WebServer.Limits()

    package init() {}
  }
}
