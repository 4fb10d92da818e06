import OTKit

/// Joins a session, publishes a test pattern and a tone, and receives the first stream of somebody else.
///
///     otchat serve &
///     swift run HelloWorld http://127.0.0.1:8080
@main
struct HelloWorld {
  static func main() async throws {
    let server = CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080"
    let credentials = try await Credentials.fetch(from: server)
    let session = Session(credentials)
    try await session.connect(token: credentials.token)
    try await session.publish(Publisher(.init(name: "Hello", videoSources: ["test"], audioSource: "tone")))

    var subscriber: Subscriber?
    for await event in session.events {
      print(event)
      switch event {
      case .streamCreated(let stream) where subscriber == nil:
        subscriber = try await session.subscribe(to: stream)
      case .streamDestroyed(let stream, _) where stream.id == subscriber?.streamID:
        subscriber = nil
      default:
        break
      }
    }
  }
}
