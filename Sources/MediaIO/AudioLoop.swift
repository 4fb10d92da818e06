import Base
import Codecs

/// What the audio thread does, from start to stop.
enum AudioLoop {
  private static let period = Duration.milliseconds(10)
  /// Ticks that are caught up with after the thread was held up; what is beyond is skipped.
  private static let longestCatchUp: Int64 = 20
  /// Ticks that are made up for at once where nobody listens and nobody speaks. Each of them knows only what
  /// had arrived by its time, so what comes of them is the same.
  private static let unheard = 10

  static func run(_ engine: AudioEngine, _ sink: (any AudioSink)?, _ calls: Semaphore) {
    var sender: AudioSender
    do {
      sender = try AudioSender(engine.configuration)
    } catch {
      Log.error("MediaIO", "Opus: \(error)")
      return
    }
    var mixer = AudioMixer(sink)
    var processor: AudioProcessor?
    var due = MonotonicClock.now()
    do {
      try sink?.start(at: due)
    } catch {
      mixer.dropSink()
      engine.failed(error)
    }
    while true {
      // A tick that completes no packet and has nothing to decode is made up for with the next one.
      let isUnheard = sender.source == nil && !mixer.hasSink
      let wake =
        isUnheard
        ? due + period * (unheard - 1) : sender.isAtPacketEnd && mixer.isAhead ? due + period : due
      let isCalled = calls.wait(until: wake)
      let behind = (MonotonicClock.now() - wake).nanoseconds / period.nanoseconds
      if behind > longestCatchUp {
        let skipped = behind - longestCatchUp
        due += .nanoseconds(skipped * period.nanoseconds)
        sender.skip(chunks: Int(skipped))
        engine.published.withLock { $0.skippedTicks += Int(skipped) }
      }
      if behind > 0 { engine.published.withLock { $0.lateTicks += 1 } }

      let control = engine.control.withLock { control in
        defer {
          control.source = nil
          control.sourceChanged = false
        }
        return control
      }
      if control.stopped { break }
      let lateness = max(.zero, MonotonicClock.now() - wake)
      func tick(through last: Instant) {
        while due <= last {
          sender.tick(at: due - period, processor, playoutDelay: mixer.device?.delay ?? 0, engine.output)
          mixer.tick(
            at: due, control.receivers, arrivedBy: isUnheard ? due + lateness : nil,
            muted: control.playoutMuted, processor)
          due += period
        }
      }
      if control.sourceChanged {
        // What has not been made up for yet was before this source.
        if isUnheard { tick(through: MonotonicClock.now() - period) }
        do {
          try sender.setSource(control.source?.source, at: due)
        } catch {
          try? sender.setSource(SilenceSource(), at: due)
          engine.failed(error)
        }
        if engine.processesMicrophone, processor == nil, sender.hasMicrophone { processor = AudioProcessor() }
        if !sender.hasMicrophone { processor = nil }
      }
      sender.update(muted: control.muted, packetLoss: control.packetLoss)
      // The ticks of this wake-up: what was skipped has moved `due` beyond `wake`.
      tick(through: isCalled ? MonotonicClock.now() : max(due, wake))
      if sender.isAtPacketEnd { engine.publish(sender.statistics, playout: mixer.device) }
    }
    sender.source?.stop()
    mixer.stop()
  }
}

extension AudioEngine {
  /// The sender's figures; those of the ticks are the loop's.
  fileprivate func publish(_ statistics: Statistics, playout: AudioDeviceStatistics?) {
    published.withLock {
      let (late, skipped) = ($0.lateTicks, $0.skippedTicks)
      $0 = statistics
      $0.lateTicks = late
      $0.skippedTicks = skipped
      $0.playout = playout
    }
  }
}
