/// Which of a publisher's cameras have gone and are waited for: indices of its sources, what is wanted most first.
struct LostCameras: Equatable {
  private(set) var indices: [Int] = []

  init() {}

  /// There is no camera yet, and something stands in for it.
  init(waitingFor index: Int) { indices = [index] }

  /// A source has failed. Cameras are waited for; those in whose place this one stood are wanted more.
  mutating func failed(_ index: Int, isCamera: Bool) {
    indices.removeAll { $0 == index }
    if isCamera { indices.append(index) }
  }

  /// A source is used. If it is one that had gone, those that are wanted less are not waited for any more.
  mutating func used(_ index: Int) { indices = Array(indices.prefix { $0 != index }) }
}
