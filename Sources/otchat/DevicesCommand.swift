import Base
import Codecs
import CommandLineKit
import Glibc
import MediaIO
import OpenTokProtocol

/// `otchat devices`: what there is, each with the words that select it.
struct DevicesCommand {
  private let arguments: Arguments
  private let cameras = Cameras.list()
  private let microphones = SoundDevices.microphones()
  private let loudspeakers = SoundDevices.loudspeakers()
  private let screens = Screens.list()

  init(_ arguments: Arguments) { self.arguments = arguments }

  func run() async throws {
    if arguments.boolean("test") { return try await DeviceTest().run() }
    Output.write(arguments.boolean("json") ? json.text + "\n" : text)
  }

  private static func specification(_ kind: DeviceKind, _ device: SoundDevice) -> String {
    device.isDefault ? kind.specification : "\(kind.specification):\(device.identifier)"
  }

  private static func specification(_ camera: CameraDevice) -> String { "camera:\(camera.path)" }

  private static func specification(_ screen: Screens.Screen) -> String {
    screen.selection.map { "screen:\($0)" } ?? "screen"
  }

  // MARK: For people

  private var text: String {
    var groups: [String] = []
    groups.append(
      Self.group(
        "Cameras (--video-source)",
        cameras.map { (Self.specification($0), $0.name, Self.lines($0.modes)) }))
    for (title, kind, devices) in [
      ("Microphones (--audio-source)", DeviceKind.microphone, microphones),
      ("Loudspeakers (--audio-sink)", .loudspeaker, loudspeakers),
    ] {
      groups.append(Self.group(title, devices.map { (Self.specification(kind, $0), $0.name, []) }))
    }
    groups.append(
      Self.group(
        "Screens (--video-source)",
        screens.map { (Self.specification($0), $0.name, []) }))
    return groups.joined(separator: "\n")
  }

  private static func group(_ title: String, _ rows: [(String, String, [String])]) -> String {
    let width = rows.map(\.0.count).max() ?? 0
    let lines = rows.flatMap { specification, name, more in
      ["  \(specification.padded(to: width))  \(name)"]
        + more.map { "  \(String(repeating: " ", count: width))    \($0)" }
    }
    return ([title] + (lines.isEmpty ? ["  none"] : lines)).joined(separator: "\n") + "\n"
  }

  /// `640x480 yuyv 30 15, mjpeg 30`, a line a size, the largest first.
  private static func lines(_ modes: [CameraMode]) -> [String] {
    let sizes = Dictionary(grouping: modes) { [$0.size.width, $0.size.height] }
    return sizes.sorted { $0.key[0] * $0.key[1] > $1.key[0] * $1.key[1] }.map { size, modes in
      let formats = CameraFormat.allCases.compactMap { format -> String? in
        let rates = Set(modes.filter { $0.format == format }.map(\.frameRate)).sorted(by: >)
        guard !rates.isEmpty else { return nil }
        return ([format.rawValue] + rates.map { $0.rounded(to: 2) })
          .joined(separator: " ")
      }
      return "\(size[0])x\(size[1]) \(formats.joined(separator: ", "))"
    }
  }

  // MARK: For scripts

  private var json: JSON {
    [
      "cameras": .array(cameras.map(Self.json)),
      "microphones": .array(microphones.map { Self.json(.microphone, $0) }),
      "speakers": .array(loudspeakers.map { Self.json(.loudspeaker, $0) }),
      "screens": .array(
        screens.map { ["name": .string($0.name), "spec": .string(Self.specification($0))] }),
    ]
  }

  private static func json(_ kind: DeviceKind, _ device: SoundDevice) -> JSON {
    ["name": .string(device.name), "spec": .string(specification(kind, device))]
  }

  private static func json(_ camera: CameraDevice) -> JSON {
    let modes = camera.modes.map { mode -> JSON in
      [
        "format": .string(mode.format.rawValue), "width": .integer(Int64(mode.size.width)),
        "height": .integer(Int64(mode.size.height)), "frameRate": .number(mode.frameRate),
      ]
    }
    return [
      "name": .string(camera.name), "spec": .string(specification(camera)), "path": .string(camera.path),
      "modes": .array(modes),
    ]
  }
}
