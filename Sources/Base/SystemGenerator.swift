/// The system's random numbers, good for secrets. Unlike the standard library's generator it is not empty: an
/// empty value has no address, and ThreadSanitizer ends the process at whatever it takes for the address of one
/// that is passed `inout`.
package struct SystemGenerator: RandomNumberGenerator, Sendable {
  private var numbers: UInt64 = 0

  package init() {}

  package mutating func next() -> UInt64 {
    var system = SystemRandomNumberGenerator()
    numbers &+= 1
    return system.next()
  }
}
