// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]

/// Relocations in a few kilobytes in place of two megabytes, all of which a start reads (DT_RELR: glibc 2.36).
let linking: [LinkerSetting] = [
  .unsafeFlags(["-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"])
]

/// A C library: a module map and inline shims, no logic.
func library(_ name: String, pkgConfig: String? = nil, apt: String? = nil) -> Target {
  .systemLibrary(
    name: name, path: "Sources/C/\(name)", pkgConfig: pkgConfig, providers: apt.map { [.apt([$0])] })
}

/// A Swift module with its test target of the same name.
func module(
  _ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = [],
  testing: [Target.Dependency] = []
) -> [Target] {
  [
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings),
    .testTarget(
      name: "\(name)Tests", dependencies: [.target(name: name), "TestSupport"] + testing,
      resources: [.copy("Fixtures")], swiftSettings: settings),
  ]
}

let libraries: [Target] = [
  library("CALSA", pkgConfig: "alsa", apt: "libasound2-dev"),
  .target(name: "CAV", path: "Sources/C/CAV"),
  .target(
    name: "CAudioProcessing", dependencies: ["CWebRTC"], path: "Sources/C/CAudioProcessing",
    cxxSettings: [.define("WEBRTC_AUDIO_PROCESSING_ONLY_BUILD"), .define("WEBRTC_POSIX")]),
  library("CChafa", pkgConfig: "chafa", apt: "libchafa-dev"),
  library("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
  .target(name: "CLinux", path: "Sources/C/CLinux"),
  library("CNice", pkgConfig: "nice", apt: "libnice-dev"),
  library("COpenSSL", pkgConfig: "openssl", apt: "libssl-dev"),
  library("COpus", pkgConfig: "opus", apt: "libopus-dev"),
  library("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
  library("CSRTP", pkgConfig: "libsrtp2", apt: "libsrtp2-dev"),
  library("CV4L2"),
  library("CVPX", pkgConfig: "vpx", apt: "libvpx-dev"),
  library("CWebRTC", pkgConfig: "webrtc-audio-processing", apt: "libwebrtc-audio-processing-dev"),
  library("CWebSockets", pkgConfig: "libwebsockets", apt: "libwebsockets-dev"),
  .target(name: "CXCB", path: "Sources/C/CXCB"),
]

// Lowest layer first: a module may depend only on those above its line in this list.
// `scripts/check-layers` holds the numbers and fails on an import that points up.
let modules: [Target] =
  module("Base", ["CLinux"])
  + module("SDP", ["Base"])
  + module("OpenTokProtocol", ["Base", "COpenSSL"])
  + module("RTP", ["Base"])
  + module("Codecs", ["Base", "RTP", "COpus", "CVPX"])
  + module(
    "MediaIO", ["Base", "RTP", "Codecs", "CALSA", "CAV", "CAudioProcessing", "CLinux", "CV4L2", "CXCB"])
  + module("Peer", ["Base", "RTP", "SDP", "CNice", "COpenSSL", "CSRTP", "CLinux"])
  + module(
    "OTKit",
    ["Base", "RTP", "SDP", "OpenTokProtocol", "Codecs", "MediaIO", "Peer", "CCurl", "CWebSockets", "CLinux"])
  + module(
    "SessionServer", ["Base", "OpenTokProtocol", "COpenSSL", "CSQLite", "CWebSockets", "CLinux"],
    resources: [.embedInCode("Resources")])
  + module(
    "Archiver", ["Base", "RTP", "Codecs", "MediaIO", "OpenTokProtocol", "OTKit", "SessionServer"])
  + module("CommandLineKit", ["Base"])
  + module("Terminal", ["Base", "Codecs", "MediaIO", "CChafa", "CLinux"])
  + module(
    "Participant", ["Base", "MediaIO", "OpenTokProtocol", "OTKit", "CLinux"],
    testing: ["Base", "OTKit", "OpenTokProtocol", "SessionServer"])
  + module(
    "Scenario",
    ["Base", "CommandLineKit", "OpenTokProtocol", "OTKit", "Participant", "Peer", "Terminal"],
    resources: [.embedInCode("Resources")],
    testing: ["Base", "CommandLineKit", "OpenTokProtocol", "Participant"])

/// Built by `scripts/fuzz` only: it needs libFuzzer's `main`.
let fuzzing: [Target] =
  Context.environment["OTCHAT_FUZZ"] == nil
  ? []
  : [
    .executableTarget(
      name: "fuzz", dependencies: ["Base", "OpenTokProtocol", "Peer", "RTP", "SDP", "SessionServer"],
      path: "Tests/Fuzz", exclude: ["Corpus"], swiftSettings: settings)
  ]

/// Programs on `OTKit`, each with its page in docs/custom-media.md.
let examples: [Target] = [
  ("HelloWorld", []), ("NoiseCapturer", []), ("MonoRenderer", []), ("NoiseAudioDevice", []),
  ("FileBroadcaster", []), ("CameraCapturer", ["CV4L2"]), ("ScreenCapturer", ["CAV"]),
].map { (name: String, libraries: [Target.Dependency]) in
  .executableTarget(
    name: name, dependencies: ["OTKit"] + libraries, path: "Examples/\(name)", swiftSettings: settings)
}

let package = Package(
  name: "otchat",
  products: [
    .executable(name: "otchat", targets: ["otchat"]),
    .library(name: "OTKit", targets: ["OTKit"]),
  ],
  targets: libraries + modules + examples + fuzzing + [
    .target(
      name: "TestSupport", dependencies: ["Base"], path: "Tests/TestSupport", resources: [.copy("Fixtures")],
      swiftSettings: settings),
    .testTarget(
      name: "CallTests", dependencies: ["OTKit", "SessionServer", "OpenTokProtocol", "Base", "TestSupport"],
      swiftSettings: settings),
    .executableTarget(
      name: "peer-probe", dependencies: ["Base", "Codecs", "MediaIO", "OpenTokProtocol", "Peer", "RTP"],
      path: "Tests/PeerProbe", swiftSettings: settings),
    .executableTarget(
      name: "otchat",
      dependencies: [
        "Archiver", "Base", "CommandLineKit", "OTKit", "OpenTokProtocol", "Participant", "Peer", "Scenario",
        "SessionServer",
        "Terminal", "CLinux",
        "Codecs", "MediaIO",
      ],
      swiftSettings: settings, linkerSettings: linking),
    .executableTarget(
      name: "bench", dependencies: ["MediaIO", "Peer"], path: "Tests/Bench",
      exclude: [
        "bench.py", "bench_chromium.py", "bench_load.py", "bench_server.py", "bench_terminal.py", "run",
        "server", "smoke",
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "terminal-probe", dependencies: ["Base", "Codecs", "Terminal"], path: "Tests/TerminalProbe",
      swiftSettings: settings),
    .testTarget(
      name: "otchatTests",
      dependencies: [
        "otchat", "Base", "CommandLineKit", "OTKit", "OpenTokProtocol", "Participant", "SessionServer",
        "Terminal", "TestSupport",
      ],
      resources: [.copy("Fixtures")], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
