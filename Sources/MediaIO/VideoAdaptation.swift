import Base
import Codecs

/// How many of a source's pictures are encoded and how large, when the bitrate is too small for all of them:
/// first the bitrate goes down (the encoder's quantizer rises), then the frame rate, then the size; and back
/// in the same order. A screen keeps its size: its text has to be legible.
///
/// What is too small depends on the content, so the quantizer decides, and whether the rate control has to
/// leave pictures out. Of a screen only the latter counts: coarse while it moves, it is sharp soon after it stops.
struct VideoAdaptation {
  /// What is encoded of a source's pictures.
  struct Level: Equatable {
    /// Share of the frame rate.
    var rate: Double
    /// How often width and height are halved.
    var halvings: Int
  }

  private static let levelsOfText = [
    Level(rate: 1, halvings: 0), Level(rate: 2.0 / 3, halvings: 0), Level(rate: 0.5, halvings: 0),
    Level(rate: 1.0 / 3, halvings: 0), Level(rate: 0.2, halvings: 0),
  ]
  static let levels = [
    Level(rate: 1, halvings: 0), Level(rate: 2.0 / 3, halvings: 0), Level(rate: 0.5, halvings: 0),
    Level(rate: 0.5, halvings: 1), Level(rate: 0.5, halvings: 2),
  ]
  /// Of VP8's quantizers, 0...63: above it pictures are coarse, below it bits are left over.
  private static let (coarse, fine) = (51.0, 26.0)
  private static let coarsest = 63.0
  /// Share of pictures that the rate control left out: above it there are too many of them.
  private static let considerableDrops = 0.25
  private static let window = Duration.seconds(1)
  private static let minimumPictures = 5
  /// Windows in a row that call for less.
  private static let patience = 2
  private static let shortestStay = Duration.seconds(5)
  private static let longestStay = Duration.seconds(80)
  /// A level that has not held so long was left too early.
  private static let trial = Duration.seconds(15)

  private let levels: [Level]
  private let tolerated: Double
  private(set) var index = 0
  private var windowStart: Instant?
  private var pictures = 0
  private var drops = 0
  private var quantizers = 0
  private var coarseWindows = 0
  private var lastChange: Instant?
  private var lastRise: Instant?
  /// How long a level stays before more is tried; doubled each time that more turned out too much.
  private var stay = shortestStay
  private var nextPicture: Instant?

  init(_ content: ContentHint = .motion) {
    levels = content == .text ? Self.levelsOfText : Self.levels
    tolerated = content == .text ? Self.coarsest : Self.coarse
  }

  var level: Level { levels[index] }

  /// Whether the picture taken at `time` is to be encoded.
  ///
  /// - Parameter frameRate: of the source.
  mutating func takes(_ time: Instant, frameRate: Int) -> Bool {
    guard level.rate < 1 else {
      nextPicture = nil
      return true
    }
    let interval = Duration.seconds(1 / (Double(frameRate) * level.rate))
    guard let next = nextPicture, time - next < interval * 2 else {
      nextPicture = time + interval
      return true
    }
    guard time >= next - interval / 4 else { return false }
    nextPicture = next + interval
    return true
  }

  /// - Parameter quantizer: of the encoded picture, 0...63; nil if the rate control left it out.
  mutating func encoded(quantizer: Int?, at now: Instant) {
    let start = windowStart ?? now
    windowStart = start
    pictures += 1
    if let quantizer { quantizers += quantizer } else { drops += 1 }
    guard now - start >= Self.window, pictures >= Self.minimumPictures else { return }
    evaluate(at: now)
    windowStart = now
    (pictures, drops, quantizers) = (0, 0, 0)
  }

  private mutating func evaluate(at now: Instant) {
    let quantizer = pictures > drops ? Double(quantizers) / Double(pictures - drops) : .infinity
    let dropped = Double(drops) / Double(pictures)
    if quantizer > tolerated || dropped > Self.considerableDrops {
      coarseWindows += 1
      if coarseWindows >= Self.patience, index < levels.count - 1 { fall(at: now) }
      return
    }
    coarseWindows = 0
    guard index > 0, quantizer < Self.fine, dropped == 0, now - (lastChange ?? now) >= stay else { return }
    index -= 1
    (lastChange, lastRise) = (now, now)
  }

  private mutating func fall(at now: Instant) {
    if let lastRise {
      stay = now - lastRise < Self.trial ? min(stay * 2, Self.longestStay) : Self.shortestStay
    }
    index += 1
    coarseWindows = 0
    lastChange = now
  }
}
