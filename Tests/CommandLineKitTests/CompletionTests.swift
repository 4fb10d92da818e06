import CommandLineKit
import Foundation
import Testing

struct CompletionTests {
  /// Runs a program with text on its standard input; nil if it is not installed.
  private func run(_ words: [String], input: String) throws -> (status: Int32, output: String)? {
    guard
      let path = ["/bin", "/usr/bin"].map({ "\($0)/\(words[0])" }).first(
        where: FileManager.default.isExecutableFile)
    else { return nil }
    let process = Process()
    process.executableURL = URL(filePath: path)
    process.arguments = Array(words.dropFirst())
    let folder = FileManager.default.temporaryDirectory.appending(path: "completions-\(UUID().uuidString)")
    try Data(input.utf8).write(to: folder)
    defer { try? FileManager.default.removeItem(at: folder) }
    let output = Pipe()
    process.standardInput = try FileHandle(forReadingFrom: folder)
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }

  /// What bash offers when the last of `words` is being completed.
  private func bash(_ words: String...) throws -> [String] {
    let list = words.map { "'\($0)'" }.joined(separator: " ")
    let script = """
      set -eu
      \(sample.completions(for: .bash))
      COMP_WORDS=(\(list)); COMP_CWORD=\(words.count - 1)
      compopt() { :; }
      _tool
      printf '%s\\n' "${COMPREPLY[@]-}"
      """
    let result = try #require(try run(["bash"], input: script))
    #expect(result.status == 0, "\(result.output)")
    return result.output.split(separator: "\n").map(String.init)
  }

  @Test func bashOffersCommandsFlagsAndValues() throws {
    #expect(try bash("tool", "") == ["go", "key", "help", "--help", "--version"])
    #expect(try bash("tool", "key", "") == ["make", "show"])
    #expect(try bash("tool", "key", "show", "") == ["old", "new", "--long", "--help"])
    #expect(try bash("tool", "go", "--no") == ["--no-mic", "--no-publish"])
    #expect(try bash("tool", "go", "--source", "t") == ["test", "tone"])
    #expect(try bash("tool", "go", "--source", "=", "f") == ["file:"])
    #expect(try bash("tool", "go", "--rate", "") == [])
    #expect(try bash("tool", "go", "--rec") == [])
  }

  @Test(arguments: Shell.allCases) func shellsCanReadTheirScripts(shell: Shell) throws {
    // Where a shell is not installed there is nothing to ask.
    guard let result = try run([shell.rawValue, "-n"], input: sample.completions(for: shell)) else { return }
    #expect(result.status == 0, "\(result.output)")
    #expect(result.output == "")
  }

  @Test func fishOffersCommandsFlagsAndValues() throws {
    func fish(_ line: String) throws -> [String]? {
      let script = sample.completions(for: .fish) + "complete -C '\(line)'\n"
      let result = try run(["fish", "--no-config"], input: script)
      return result?.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    }
    guard let words = try fish("tool ") else { return }
    #expect(words == ["go", "help", "key"])
    #expect(try fish("tool key ") == ["make", "show"])
    #expect(try fish("tool go --no") == ["--no-mic", "--no-publish"])
    #expect(try fish("tool go --source t") == ["test", "tone"])
  }

  @Test func manualHasNoWarnings() throws {
    let signs = Program(
      name: "tool", version: "1", summary: "a tool",
      commands: [Command("go", summary: "Go", description: ["… 1, 2, … · a – b `c` \\d"])])
    try check(sample.manPage(date: "2026-11-30"))
    try check(signs.manPage(date: "2026-11-30"))
    #expect(signs.manPage(date: "2026-11-30").contains("\\&... 1, 2, \\&... \\(pc a \\(en b"))
  }

  private func check(_ page: String) throws {
    if let result = try run(["mandoc", "-Tlint", "-Wwarning"], input: page) {
      #expect(result.output == "")
    }
    if let result = try run(["groff", "-man", "-Tutf8", "-ww", "-z"], input: page) {
      #expect(result.output == "")
      #expect(result.status == 0)
    }
  }
}
