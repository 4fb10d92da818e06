/// How a session whose `archiveMode` is `always` is recorded; part of its id.
package struct AutomaticArchive: Equatable, Sendable {
  package var name: String
  /// As in `1280x720`; empty for the usual one.
  package var resolution: String

  package init(name: String = "", resolution: String = "") {
    self.name = name
    self.resolution = resolution
  }

  /// Nil if the field says that there is none.
  init?(field: String) {
    let fields = FormEncoding.fields(field)
    guard fields.contains(where: { $0.key == "archive" && $0.value == "always" }) else { return nil }
    func value(_ key: String) -> String { fields.first { $0.key == key }?.value ?? "" }
    self.init(name: value("name"), resolution: value("resolution"))
  }

  /// Without `~`, which parts the fields of an id.
  var field: String {
    var fields = [(key: "archive", value: "always")]
    if !name.isEmpty { fields.append((key: "name", value: name)) }
    if !resolution.isEmpty { fields.append((key: "resolution", value: resolution)) }
    return FormEncoding.text(fields).replacing("~", with: "%7E")
  }
}
