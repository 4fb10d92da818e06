import Glibc
import MediaIO
import Peer

// The parts of `make bench` that run inside one process; bench.py runs the rest and prints the table.
// Writes one JSON object: CPU seconds a second of media, and packets a second.

//
//   bench                        everything, with MediaBenchmark's pipelines in this process
//   bench publish|receive N      what libvpx and libopus alone cost in N seconds of it

var setting = MediaBenchmark.Setting()
if CommandLine.arguments.count == 3, let seconds = Int(CommandLine.arguments[2]), (1...60).contains(seconds) {
  setting.seconds = seconds
  let isPublishing = CommandLine.arguments[1] == "publish"
  print(try isPublishing ? MediaBenchmark.barePublishing(setting) : MediaBenchmark.bareReceiving(setting))
  exit(0)
}
let publishing = try MediaBenchmark.publishing(setting)
let receiving = try MediaBenchmark.receiving(setting)
let transport = try await TransportBenchmark.run(packets: 200_000)
let counterMode = try await TransportBenchmark.run(packets: 200_000, counterMode: true)
print(
  """
  {"publishing": {"pipeline": \(publishing.pipeline), "bare": \(publishing.bare), "bareAtOnce": \(publishing.bareAtOnce)},
   "receiving": {"pipeline": \(receiving.pipeline), "bare": \(receiving.bare), "bareAtOnce": \(receiving.bareAtOnce)},
   "packetsSentPerSecond": {"aesGCM": \(transport.packetsSentPerSecond), "aesCM": \(counterMode.packetsSentPerSecond)},
   "packetsReceivedPerSecond": {"aesGCM": \(transport.packetsReceivedPerSecond), "aesCM": \(counterMode.packetsReceivedPerSecond)}}
  """)
