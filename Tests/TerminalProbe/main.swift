// A call on the terminal without a call: moving pictures, one other who is there, and the ways out.
// Usage: terminal-probe LOG [call | counting | portrait | alone | segv | null | trap | abort | exit] [STYLE]
// STYLE is kitty, sixel, symbols or ascii; else the terminal is asked.
// LOG gets a line for each command (counting: and for each tenth picture), and the counters at the end.
import Base
import Codecs
import Glibc
import Terminal

let words = CommandLine.arguments
let mode = words.count > 2 ? words[2] : "call"
let log = open(words.count > 1 ? words[1] : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)

func note(_ line: String) {
  let bytes = Array("\(line)\n".utf8)
  _ = write(log, bytes, bytes.count)
}

let environment = TerminalCapabilities.variables.reduce(into: [String: String]()) { result, name in
  result[name] = getenv(name).map { String(cString: $0) }
}
let styles: [String: PictureStyle] = [
  "kitty": .kitty, "sixel": .sixel, "iterm2": .iterm2, "symbols": .symbols, "ascii": .ascii,
]
let capabilities = TerminalCapabilities(environment: environment)

// Before the terminal is taken over, so that there is no moment in which a signal leaves it raw.
let signals = SignalWatch.stream(of: [SIGINT, SIGTERM, SIGHUP])
guard let device = try? TerminalDevice() else {
  note("no terminal")
  exit(64)
}
let state = CallState(ownName: "Ada", showsSelfView: true)
let (commands, continuation) = AsyncStream<CallCommand>.makeStream()
let display = CallDisplay(
  device: device, capabilities: capabilities, style: words.count > 3 ? styles[words[3]] : nil,
  state: state
) { continuation.yield($0) }

display.send(.connection(.connected))
display.send(.shareURL("http://127.0.0.1:8080/?room=kitchen"))
if mode != "alone" { display.send(.subscriberAdded(CallSubscriber(streamID: "1", name: "Béla 猫"))) }
display.send(
  .statistics(
    CallStatistics(received: [
      "1": CallFlow(
        width: 640, height: 480, framesPerSecond: 30, bitsPerSecond: 812_000, packetLoss: 0.002,
        roundTripTime: .milliseconds(23))
    ])))
display.send(.chat(from: "Béla 猫", text: "hello \u{1B}]0;evil\u{7}there", isOwn: false))

_ = MediaThread(name: "pictures") {
  var number = 0
  while true {
    let frame =
      mode == "portrait" ? movingPicture(number, width: 180, height: 320) : movingPicture(number)
    display.show(frame, from: .own)
    display.show(frame, from: .stream("1"))
    number += 1
    usleep(33_000)
    if number == 10 { fault() }
    if mode == "counting", number % 10 == 0 { note("picture \(number)") }
  }
}

@Sendable func fault() {
  switch mode {
  case "segv": kill(getpid(), SIGSEGV)
  case "null": UnsafeMutablePointer<Int>(bitPattern: 8)?.pointee = 1
  case "trap":
    let numbers = [Int](repeating: 0, count: getpid() > 0 ? 1 : 9)
    note("\(numbers[Int(getpid() > 0 ? 5 : 0)])")
  case "abort": abort()
  case "exit": exit(3)
  default: break
  }
}

Task.detached {
  for await signal in signals { leave(128 + signal) }
}

@Sendable func leave(_ status: Int32) -> Never {
  display.stop()
  let counters = display.counters
  note("drawn \(counters.screensDrawn) dropped \(counters.picturesDropped) bytes \(counters.bytesWritten)")
  note("left \(status)")
  exit(status)
}

var microphone = true
var camera = true
for await command in commands {
  note("\(command)")
  switch command {
  case .quit: leave(0)
  case .interrupt: leave(0)
  case .microphone(let change):
    microphone = change.applied(to: microphone)
    display.send(.microphone(microphone))
  case .camera(let change):
    camera = change.applied(to: camera)
    display.send(.camera(camera))
  case .say(let text): display.send(.chat(from: "Ada", text: text, isOwn: true))
  default: display.send(.notice("\(command)"))
  }
}
