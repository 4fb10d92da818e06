import Foundation
import OTKit

/// Plays a film, again and again, to everybody who comes, and says how many they are.
///
///     otchat serve &
///     swift run FileBroadcaster http://127.0.0.1:8080 film.mp4
@main
struct FileBroadcaster {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else { return print("FileBroadcaster SERVER FILE") }
    let film = "file:\(arguments[2])"
    let credentials = try await Credentials.fetch(from: arguments[1])
    let session = Session(credentials)
    try await session.connect(token: credentials.token)
    do {
      // Sound and picture of the same file stay together.
      try await session.publish(
        Publisher(.init(name: arguments[2], videoSources: [film], audioSource: film, videoType: .custom)))
    } catch {
      await session.disconnect()
      print("FileBroadcaster: \(error.message)")
      exit(error.exitCode.rawValue)
    }
    for await event in session.events {
      switch event {
      case .connectionCreated, .connectionDestroyed:
        print("\(await session.connections.count - 1) are here")
      case .warning(let text):
        print(text)
      case .error(let error):
        print(error.message)
      default:
        break
      }
    }
  }
}
