import Base

/// Memory for pictures of one size, taken from those that nobody holds any more: from the heap, each would
/// be hundreds of pages for the kernel to map, clear and take back.
package final class VideoFramePool: Sendable {
  /// Memory that nobody uses.
  private struct Block: @unchecked Sendable {
    // Safe to send: only its holder knows the address.
    let memory: UnsafeMutableRawPointer
  }

  private struct State {
    var blocks: [Block] = []
    /// Of each block, in bytes.
    var size = 0
  }

  /// Blocks kept for later: one is being shown, one decoded, one waits in between.
  private static let capacity = 3
  static let alignment = 32

  private let state = Lock(State())

  package init() {}

  deinit {
    for block in state.withLock({ $0.blocks }) { block.memory.deallocate() }
  }

  /// Memory with any content, to be given back.
  func take(_ size: Int) -> UnsafeMutableRawPointer {
    let spare = state.withLock { state -> Block? in
      if state.size != size {
        for block in state.blocks { block.memory.deallocate() }
        state.blocks = []
        state.size = size
      }
      return state.blocks.popLast()
    }
    return spare?.memory ?? .allocate(byteCount: size, alignment: Self.alignment)
  }

  /// - Parameter memory: of that size, from `take`.
  func give(back memory: UnsafeMutableRawPointer, _ size: Int) {
    let block = Block(memory: memory)
    let isKept = state.withLock { state in
      guard state.size == size, state.blocks.count < Self.capacity else { return false }
      state.blocks.append(block)
      return true
    }
    if !isKept { memory.deallocate() }
  }
}
