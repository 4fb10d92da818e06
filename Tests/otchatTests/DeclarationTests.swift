import CommandLineKit
import Foundation
import Terminal
import Testing

@testable import otchat

/// Rules that every declaration keeps, whatever flags come and go.
struct DeclarationTests {
  let program = Commands.program

  @Test func declarationsAreTheContract() throws {
    let url = try #require(Bundle.module.url(forResource: "Fixtures/contract-flags", withExtension: "txt"))
    var contract: [String: Set<String>] = [:]
    for line in try String(contentsOf: url, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#")
    {
      let parts = line.split(separator: ":", maxSplits: 1)
      contract[String(parts[0]), default: []].formUnion(
        parts.count == 2 ? parts[1].split(separator: " ").map(String.init) : [])
    }
    #expect(Set(program.visibleCommands.map(\.name)) == Set(contract.keys))
    for command in program.visibleCommands where ["connect", "serve", "devices"].contains(command.name) {
      var declared = Set(command.flags.flatMap(\.longNames))
      // The contract names logging by its letters, and gives it to connect only.
      for (long, short) in [("--verbose", "-v"), ("--quiet", "-q")] where declared.remove(long) != nil {
        if command.name == "connect" { declared.insert(short) }
      }
      if command.name == "serve" { declared.remove("--log-file") }
      #expect(declared == contract[command.name])
    }
  }

  @Test func theManualHasTheKeysOfTheHelp() {
    let manual = Commands.keys.entries.map { String($0.0.prefix { $0 != "," }) }
    #expect(manual.sorted() == CallState.keys.map(\.key).sorted())
  }

  @Test func everythingIsDocumented() {
    for command in program.commands {
      #expect(!command.summary.isEmpty, "\(command.name)")
      #expect(!command.summary.hasSuffix("."), "\(command.name)")
      for operand in command.operands { #expect(!operand.documentation.isEmpty, "\(command.name)") }
      for flag in command.flags {
        #expect(!flag.documentation.isEmpty, "\(command.name) --\(flag.name)")
        #expect(!flag.documentation.hasSuffix("."), "\(command.name) --\(flag.name)")
        for choice in flag.value.choices {
          #expect(!choice.documentation.isEmpty, "\(flag.name) \(choice.name)")
        }
      }
    }
  }

  @Test func namesAreThereOnce() {
    #expect(Set(program.commands.map(\.path)).count == program.commands.count)
    for command in program.commands {
      let names = command.flags.flatMap(\.longNames)
      #expect(Set(names).count == names.count, "\(command.name)")
      let letters = command.flags.compactMap(\.short)
      #expect(Set(letters).count == letters.count, "\(command.name)")
      #expect(!names.contains("--help") && !letters.contains("h"), "\(command.name)")
      let variables = command.flags.compactMap(\.environment)
      #expect(Set(variables).count == variables.count, "\(command.name)")
      for flag in command.flags {
        let words = flag.value.choices.map(\.name)
        #expect(Set(words).count == words.count, "\(flag.name)")
      }
    }
  }

  @Test func defaultsAreValuesOfTheirFlags() throws {
    for command in program.commands where command.availability == .available {
      for flag in command.flags {
        guard case .value(let text) = flag.defaultValue, flag.value != .none else { continue }
        let words =
          command.path + ["--\(flag.name)", text] + command.operands.map { $0.choices.first ?? "x" }
        guard case .run(let arguments) = try program.parse(words) else {
          Issue.record("\(words) does not run")
          continue
        }
        #expect(arguments.origin(flag.name) == .argument, "\(command.name) --\(flag.name)")
      }
    }
  }

  @Test func everyFlagOfAnotherKindThanNotYetCanBeGiven() throws {
    for command in program.commands where command.availability == .available {
      for flag in command.flags {
        let sample: String? =
          switch flag.value {
          case .none: nil
          case .text, .file, .directory: "x"
          case .integer(_, let range): "\(range.lowerBound)"
          case .number(_, let range): "\(range.upperBound)"
          case .size(_, let range): "\(range.lowerBound)x\(range.upperBound)"
          case .pair: "a=b"
          case .choice(_, let choices):
            choices.first { $0.availability == .available }.map {
              if case .required = $0.parameter { "\($0.name):x" } else { $0.name }
            }
          }
        for name in flag.longNames {
          let words = command.path + [name] + (sample.map { [$0] } ?? [])
          let operands = command.operands.map { $0.choices.first ?? "x" }
          if flag.availability == .notYet {
            let error = #expect(throws: UsageError.self) { try program.parse(words + operands) }
            #expect(error == .notYet(name, place: .argument(command.path.count + 1)))
          } else {
            #expect(throws: Never.self) { try program.parse(words + operands) }
          }
        }
      }
    }
  }

  @Test func helpAndManualMentionEveryFlagAndValue() {
    let manual = program.manPage(date: "2026-11-30").replacing("\\-", with: "-")
    for command in program.visibleCommands {
      let help = program.help(command.path, width: 80)
      #expect(program.help().contains("  \(command.name)"))
      for flag in command.flags {
        let name = flag.isNegatable ? "--[no-]\(flag.name)" : "--\(flag.name)"
        #expect(help.contains(name), "\(command.name)")
        #expect(manual.contains(name), "\(command.name)")
        for choice in flag.value.choices {
          #expect(help.contains(choice.synopsis), "\(command.name) --\(flag.name)")
          #expect(manual.contains(choice.synopsis), "\(command.name) --\(flag.name)")
        }
        if case .value(let text) = flag.defaultValue, flag.value != .none {
          #expect(help.replacing("\n", with: " ").contains(text), "\(command.name) --\(flag.name)")
        }
      }
    }
  }

  @Test(arguments: [40, 60, 80, 100]) func helpKeepsToTheTerminalsWidth(width: Int) {
    for command in program.visibleCommands {
      var examples = false
      for line in program.help(command.path, width: width).split(separator: "\n") {
        examples = examples || line == "Examples:"
        // Lines to copy, and terms, are never broken.
        if examples || line.hasPrefix("      --") || !line.drop(while: { $0 == " " }).contains(" ") {
          continue
        }
        #expect(line.count <= width, "\(command.name): \(line)")
      }
    }
  }

  @Test func whatIsNotYetThereSaysSo() {
    let help = program.help(["connect"], width: 100)
    let unwrapped = help.split(separator: "\n").map { $0.drop { $0 == " " } }.joined(separator: " ")
    #expect(unwrapped.contains("two audio channels (not in this version yet)"))
    #expect(!program.completions(for: .bash).contains("--stereo"))
    #expect(program.completions(for: .bash).contains("--subscribe"))
    let error = #expect(throws: UsageError.self) { try program.parse(["connect", "--stereo"]) }
    #expect(error?.message == "--stereo is not in this version yet")
  }

  @Test func exampleConfigurationHoldsOnlyKeysOfConnect() throws {
    var folder = URL(filePath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    let data = try Data(contentsOf: folder.appending(path: "Config.example.json"))
    let object = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    guard case .run(var arguments) = try program.parse(["connect"]) else {
      Issue.record("connect does not run")
      return
    }
    let flags = Commands.connect.flags.filter { $0.availability == .available && $0.isConfigurable }
    // Credentials that no example could hold, and a file that is not there.
    let left = ["api-key", "session-id", "token", "api-url", "ca", "duration", "record"]
    #expect(Set(object.keys) == Set(flags.map(\.name)).subtracting(left))
    for (key, value) in object {
      try arguments.merge(file: "Config.example.json", entries: [(key, configurationValue(value, key))])
      #expect(arguments.origin(key) == .file)
    }
    #expect(arguments.size("resolution") == PixelSize(width: 640, height: 480))
    #expect(arguments.texts("video-source") == ["test", "noise"])
  }

  private func configurationValue(_ value: Any, _ key: String) -> ConfigurationValue {
    let flag = Commands.connect.flag(named: key)
    if let list = value as? [Any] { return .list(list.map { configurationValue($0, key) }) }
    if let text = value as? String { return .text(text) }
    if flag?.value == FlagValue.none, let on = value as? Bool { return .boolean(on) }
    return (value as? Double).map { .number($0) } ?? .unsupported
  }
}
