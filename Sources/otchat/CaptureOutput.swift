import CommandLineKit
import Glibc
import Peer

/// The file of `--pcap`.
struct CaptureOutput {
  /// Nil: there is none.
  let capture: PacketCapture?

  init(_ arguments: Arguments) throws {
    let path = arguments.text("pcap")
    let others = ["events", "json"].filter { arguments.command.flag(named: $0) != nil }
    if path == "-", let other = others.first(where: { arguments.text($0) == "-" }) {
      throw Failure(.usage, "--pcap and --\(other) cannot both be written to standard output")
    }
    // What is said in a call is for those who may read the file's folder, and then only for its owner.
    capture = try path.map { PacketCapture(descriptor: try EventOutput.open($0, mode: 0o600)) }
  }

  /// Says what is missing in the file.
  func close() {
    guard let result = capture?.close() else { return }
    if let number = result.errno {
      Output.note("warning: --pcap: the file ends early: \(String(cString: strerror(number)))")
    }
    if result.dropped > 0 {
      Output.note(
        "warning: --pcap: \(result.dropped) packets are not in the file, which was written too slowly")
    }
  }
}
