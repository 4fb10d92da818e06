import CAV

/// libavformat and its siblings.
enum MediaLibrary {
  /// Loads them with the first file; nil if that worked.
  static let fault: String? = {
    if let reason = otchat_av_load() { return String(cString: reason) }
    av_log_set_level(AV_LOG_QUIET)
    return nil
  }()

  /// In words, what an answer below zero means.
  static func text(of status: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 128)
    av_strerror(status, &buffer, buffer.count)
    return buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
  }
}
