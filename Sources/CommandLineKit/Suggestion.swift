/// The candidate that a misspelt word was probably meant to be.
package enum Suggestion {
  /// - Returns: the nearest candidate within about a third of the word's length, first of equals.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    let word = Array(word.lowercased().unicodeScalars.prefix(40))
    var best: (distance: Int, candidate: String)?
    for candidate in candidates {
      let distance = editDistance(word, Array(candidate.lowercased().unicodeScalars))
      guard distance <= max(1, max(word.count, candidate.unicodeScalars.count) / 3) else { continue }
      if best.map({ distance < $0.distance }) ?? true { best = (distance, candidate) }
    }
    return best?.candidate
  }

  /// Optimal string alignment: insertions, deletions, replacements, and swaps of neighbours cost 1.
  static func editDistance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for i in 0..<left.count {
      var row = [i + 1]
      for j in 0..<right.count {
        var cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (left[i] == right[j] ? 0 : 1))
        if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
          cost = min(cost, beforeLast[j - 1] + 1)
        }
        row.append(cost)
      }
      beforeLast = last
      last = row
    }
    return last[right.count]
  }
}
