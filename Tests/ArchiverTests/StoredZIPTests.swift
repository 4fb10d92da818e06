import Base
import Foundation
import SessionServer
import Testing

@testable import Archiver

@Suite struct StoredZIPTests {
  @Test func membersAndTheirDirectoryAreWhereTheyShouldBe() throws {
    let folder = NSTemporaryDirectory() + "otchat-zip-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // More than one block, so that the checksum goes on from one to the next.
    let content = (0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }
    try Data(content).write(to: URL(filePath: folder + "/film"))
    let path = folder + "/a.zip"
    var zip = try StoredZIP(path: path)
    try zip.add("ü.webm", contentsOf: folder + "/film")
    try zip.add("manifest.json", Array("{}".utf8))
    try zip.finish()
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    #expect(Array(bytes[0..<4]) == [0x50, 0x4B, 3, 4])
    // Header, name, and the sizes in 64 bits; then the content itself.
    let start = 30 + "ü.webm".utf8.count + 20
    #expect(Array(bytes[start..<start + content.count]) == content)
    var checksum = CRC32()
    checksum.add(content[...])
    #expect(Array(bytes[14..<18]) == withUnsafeBytes(of: checksum.value.littleEndian) { Array($0) })
    #expect(Array(bytes.suffix(22).prefix(4)) == [0x50, 0x4B, 5, 6])
    #expect(Array(bytes.suffix(42).prefix(4)) == [0x50, 0x4B, 6, 7])
  }

  /// As others read it.
  @Test func pythonReadsIt() throws {
    let python = "/usr/bin/python3"
    try #require(FileManager.default.isExecutableFile(atPath: python))
    let folder = NSTemporaryDirectory() + "otchat-zip-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var zip = try StoredZIP(path: folder + "/b.zip")
    try zip.add("one.json", Array("{\"a\":1}".utf8))
    try zip.add("two", [])
    try zip.finish()
    let process = Process()
    process.executableURL = URL(filePath: python)
    process.arguments = [
      "-c",
      """
      import sys, zipfile
      z = zipfile.ZipFile(sys.argv[1])
      assert z.testzip() is None
      print([(i.filename, i.file_size, i.compress_type) for i in z.infolist()], z.read("one.json"))
      """, folder + "/b.zip",
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    process.waitUntilExit()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(text == "[('one.json', 7, 0), ('two', 0, 0)] b'{\"a\":1}'\n")
    #expect(process.terminationStatus == 0)
  }

  @Test func aFolderThatCannotBeWrittenIsTold() {
    #expect(throws: ArchiveError.output("No such file or directory")) {
      _ = try StoredZIP(path: "/proc/none/a")
    }
  }
}
