import Base

/// The page that plays an archive, or waits until it is there.
enum ArchivePage {
  /// - Parameter file: the address of the file, behind the archive's own.
  static func html(_ archive: Archive, file: String?) -> String {
    let name = archive.options.name.isEmpty ? "Archive" : archive.options.name.markupEscaped
    let refresh =
      archive.status == .started || archive.status == .stopped
      ? #"<meta http-equiv="refresh" content="2">"# : ""
    return """
      <!DOCTYPE html>
      <html lang="en">
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <link rel="icon" href="data:,">
      \(refresh)
      <title>\(name)</title>
      <style>
      body { margin: 0; min-height: 100vh; display: grid; place-content: center; gap: 1rem; padding: 1rem;
        box-sizing: border-box; background: #111; color: #eee; font: 1rem system-ui, sans-serif; }
      h1 { font-size: 1.2rem; margin: 0; overflow-wrap: anywhere; }
      video { max-width: 100%; max-height: 80vh; background: #000; }
      a { color: #8cf; }
      </style>
      <h1>\(name)</h1>
      <main data-status="\(archive.status.rawValue)">
      \(content(archive, file: file.map { "/archive/\(archive.id)/\($0)".markupEscaped }))
      </main>
      </html>

      """
  }

  private static func content(_ archive: Archive, file: String?) -> String {
    switch archive.status {
    case .started: return "<p>It is being recorded. This page shows it when it is finished.</p>"
    case .stopped: return "<p>It is being finished. This page shows it then.</p>"
    case .failed: return "<p>It failed: \(archive.reason.markupEscaped).</p>"
    case .available:
      guard let file else { return "<p>Its file is missing.</p>" }
      let seconds = Int(archive.durationSeconds.rounded())
      let about = "\(seconds / 60) min \(seconds % 60) s, \((archive.sizeBytes + 1023) / 1024) KiB"
      let video =
        archive.options.outputMode == .composed
        ? #"<video controls autoplay playsinline src="\#(file)"></video>"# : ""
      return #"\#(video)<p><a href="\#(file)" download>Download</a> (\#(about))</p>"#
    }
  }
}
