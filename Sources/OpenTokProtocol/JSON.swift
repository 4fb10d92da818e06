/// A JSON value (RFC 8259). Objects keep the order of their members, so that what was parsed from compact
/// text serialises to the same bytes.
package enum JSON: Sendable, Equatable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// A number with a fraction or an exponent, or one beyond 64 bits. Never infinite when parsed.
  case number(Double)
  case string(String)
  case array([JSON])
  case object(Object)

  package var boolValue: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The value of a number without a fraction that fits; nil for everything else.
  package var integerValue: Int64? {
    switch self {
    case .integer(let value): value
    case .number(let value): Int64(exactly: value)
    default: nil
    }
  }

  package var doubleValue: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  package var stringValue: String? {
    if case .string(let value) = self { value } else { nil }
  }

  package var arrayValue: [JSON]? {
    if case .array(let value) = self { value } else { nil }
  }

  package var objectValue: Object? {
    if case .object(let value) = self { value } else { nil }
  }

  /// A member of an object; nil if there is none or this is no object. Setting makes this an object.
  package subscript(_ key: String) -> JSON? {
    get { objectValue?[key] }
    set {
      var object = objectValue ?? [:]
      object[key] = newValue
      self = .object(object)
    }
  }

  /// An element of an array; nil outside of its bounds or if this is no array.
  package subscript(_ index: Int) -> JSON? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }
}

extension JSON {
  /// The members of a JSON object in their order. Two are equal whatever the order.
  package struct Object: Sendable, Equatable, Sequence, ExpressibleByDictionaryLiteral {
    package typealias Member = (key: String, value: JSON)
    private var members: [Member] = []

    package init() {}

    package init(dictionaryLiteral elements: (String, JSON)...) {
      for (key, value) in elements { self[key] = value }
    }

    package var count: Int { members.count }
    package var isEmpty: Bool { members.isEmpty }
    package var keys: [String] { members.map(\.key) }

    /// Of members with the same name the last one counts, as in browsers.
    package subscript(key: String) -> JSON? {
      get { members.last { $0.key == key }?.value }
      set {
        let index = members.lastIndex { $0.key == key }
        switch (index, newValue) {
        case (let index?, let value?): members[index].value = value
        case (let index?, nil): members.remove(at: index)
        case (nil, let value?): members.append((key, value))
        case (nil, nil): break
        }
      }
    }

    /// Adds a member without a look at the ones there are: parsing stays linear.
    mutating func append(_ key: String, _ value: JSON) {
      members.append((key, value))
    }

    package func makeIterator() -> IndexingIterator<[Member]> { members.makeIterator() }

    package static func == (left: Object, right: Object) -> Bool {
      left.count == right.count && left.members.allSatisfy { left[$0.key] == right[$0.key] }
    }
  }
}

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  package init(nilLiteral: ()) { self = .null }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .number(value) }
  package init(stringLiteral value: String) { self = .string(value) }
  package init(arrayLiteral elements: JSON...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, JSON)...) {
    var object = Object()
    for (key, value) in elements { object[key] = value }
    self = .object(object)
  }
}
