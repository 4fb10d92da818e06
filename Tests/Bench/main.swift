import Glibc
import MediaIO
import Peer

// The parts of `make bench` that run inside one process; bench.py runs the rest and prints the table.
// Writes one JSON object: CPU seconds a second of media, and packets a second.

//
//   bench                        everything, with MediaBenchmark's pipelines in this process
//   bench publish|receive N B    libvpx and libopus alone: CPU seconds in each of N, at B bits a second

var setting = MediaBenchmark.Setting()
let arguments = CommandLine.arguments
if arguments.count == 4, let seconds = Int(arguments[2]), (1...60).contains(seconds),
  let bitrate = Int(arguments[3]), (30_000...10_000_000).contains(bitrate)
{
  setting.seconds = seconds
  setting.bitrate = bitrate
  let isPublishing = arguments[1] == "publish"
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
