/// A first-in, first-out queue; both ends in constant time (amortised).
struct FIFO<Element> {
  fileprivate var elements: [Element?] = []
  fileprivate var head = 0

  var count: Int { elements.count - head }
  var isEmpty: Bool { head == elements.count }
  var first: Element? { isEmpty ? nil : elements[head] }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    let element = elements[head]
    elements[head] = nil
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= 64, head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  mutating func removeAll() {
    elements.removeAll(keepingCapacity: true)
    head = 0
  }

  mutating func removeAll(where condition: (Element) -> Bool) {
    elements = elements[head...].filter { $0.map { !condition($0) } ?? false }
    head = 0
  }
}

extension FIFO {
  func forEach(_ body: (Element) -> Void) {
    for case .some(let element) in elements[head...] { body(element) }
  }
}
