import Base
import CV4L2
import Codecs
import Glibc

/// A camera that can be chosen.
package struct CameraDevice: Sendable, Equatable {
  /// As the driver calls it.
  package var name: String
  /// `/dev/videoN`.
  package var path: String
  package var modes: [CameraMode]
}

/// The cameras that V4L2 knows.
package enum Cameras {
  private static let folder = "/dev"
  private static let prefix = "video"

  /// Those that may be opened, by their numbers.
  package static func list() -> [CameraDevice] {
    paths().compactMap { path in
      guard let handle = try? V4L2Handle(path: path) else { return nil }
      return CameraDevice(name: handle.name, path: path, modes: handle.modes())
    }
  }

  /// Whether there is none, not even one that is refused.
  static var areAbsent: Bool {
    do throws(SourceError) {
      _ = try openFirst()
      return false
    } catch {
      return error.isAbsence
    }
  }

  /// - Parameter name: a number, a path, or a part of a camera's name, in any case; nil: the first there is.
  static func open(_ name: String?) throws(SourceError) -> V4L2Handle {
    guard let name else { return try openFirst() }
    if name.hasPrefix("/") { return try V4L2Handle(path: name) }
    if let number = UInt8(name) { return try V4L2Handle(path: "\(folder)/\(prefix)\(number)") }
    var names: [String] = []
    var refused: SourceError?
    for path in paths() {
      do throws(SourceError) {
        let handle = try V4L2Handle(path: path)
        if handle.name.lowercased().contains(name.lowercased()) { return handle }
        names.append(handle.name)
      } catch {
        if !error.isAbsence { refused = refused ?? error }
      }
    }
    throw refused ?? .noDevice(.camera, name: name, choices: names)
  }

  private static func openFirst() throws(SourceError) -> V4L2Handle {
    var refused: SourceError?
    for path in paths() {
      do throws(SourceError) {
        return try V4L2Handle(path: path)
      } catch {
        if !error.isAbsence { refused = refused ?? error }
      }
    }
    throw refused ?? .noDevice(.camera, name: nil, choices: [])
  }

  private static func paths() -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var numbers: [UInt16] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasPrefix(prefix), let number = UInt16(name.dropFirst(prefix.count)) { numbers.append(number) }
    }
    return numbers.sorted().map { "\(folder)/\(prefix)\($0)" }
  }
}
