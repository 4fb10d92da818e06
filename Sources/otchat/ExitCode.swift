/// What a process ends with (sysexits.h where there is a number for it).
enum ExitCode: Int32 {
  case success = 0
  case expectationFailed = 1
  case usage = 64
  case badInput = 65
  case inputMissing = 66
  case unavailable = 69
  case internalError = 70
  case cannotWrite = 73
  case timedOut = 75
  case protocolError = 76
  case refused = 77
  case badConfiguration = 78
  case hangup = 129
  case interrupted = 130
  case terminated = 143
}
