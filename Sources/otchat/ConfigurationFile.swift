import CommandLineKit
import FoundationEssentials
import Glibc
import OpenTokProtocol
import Scenario

/// The configuration of `connect` and of `serve`: JSON with the flags' names as keys (`Config.example.json`).
enum ConfigurationFile {
  /// The one that is named, else `./otchat.json`, else `$XDG_CONFIG_HOME/otchat/config.json`; nil if none is there.
  static func find(named path: String?, environment: [String: String]) -> String? {
    if let path { return path }
    let home = environment["XDG_CONFIG_HOME"] ?? environment["HOME"].map { $0 + "/.config" }
    let places = ["otchat.json"] + (home.map { [$0 + "/otchat/config.json"] } ?? [])
    return places.first { FileManager.default.fileExists(atPath: $0) }
  }

  static func merge(into arguments: inout Arguments, environment: [String: String]) throws {
    if let path = find(named: arguments.text("config"), environment: environment) {
      try merge(path, into: &arguments)
    }
  }

  static func merge(_ path: String, into arguments: inout Arguments) throws {
    guard let data = FileManager.default.contents(atPath: path) else {
      let reason =
        FileManager.default.fileExists(atPath: path)
        ? "it is a folder, or may not be read" : "there is no such file"
      throw Failure(.inputMissing, "cannot read the configuration file \(path): \(reason)")
    }
    let object: JSON.Object
    do {
      guard let parsed = try JSON(parsing: Array(data)).objectValue else {
        throw Failure(
          .badConfiguration, "\(path) holds no JSON object", hint: "Config.example.json shows one")
      }
      object = parsed
    } catch let error as JSONError {
      throw Failure(
        .badConfiguration, "\(path) is not JSON: \(place(of: error, in: data))",
        hint: "Config.example.json shows how it looks")
    }
    try arguments.merge(file: path, entries: object.map { ($0.key, ConfigurationValue($0.value)) })
  }

  /// Where a person finds the fault.
  static func place(of error: JSONError, in text: Data) -> String {
    guard case .syntax(let offset) = error else { return "too many lists and objects inside each other" }
    let before = text.prefix(offset)
    let line = before.count { $0 == 0x0A } + 1
    let column =
      String(
        decoding: before[(before.lastIndex(of: 0x0A).map { $0 + 1 } ?? before.startIndex)...], as: UTF8.self
      ).count + 1
    return "line \(line), column \(column)"
  }
}
