/// What a stream's pictures are like (W3C, MediaStreamTrack Content Hints): what is given up when bits are few.
package enum ContentHint: Sendable, Equatable {
  /// A camera's or a film's: size, for pictures that move.
  case motion
  /// A screen's: pictures a second, for text that can be read.
  case text
}
