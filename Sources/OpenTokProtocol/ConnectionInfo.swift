/// A participant's connection to a session, as clients are told of it.
package struct ConnectionInfo: Equatable, Sendable {
  package var id: String
  /// Milliseconds since 1970.
  package var creationTime: Int64
  /// The connection data of its token.
  package var data: String
  package var permissions: Permissions

  package init(id: String, creationTime: Int64, data: String = "", permissions: Permissions = []) {
    self.id = id
    self.creationTime = creationTime
    self.data = data
    self.permissions = permissions
  }

  /// Nil without an id; everything else may be missing.
  package init?(_ json: JSON) {
    guard let id = json["id"]?.stringValue else { return nil }
    self.init(
      id: id, creationTime: json["creationTime"]?.integerValue ?? 0, data: json["data"]?.stringValue ?? "",
      permissions: Permissions(names: (json["permissions"]?.arrayValue ?? []).compactMap(\.stringValue)))
  }

  package var json: JSON {
    [
      "id": .string(id), "creationTime": .integer(creationTime), "data": .string(data),
      "permissions": .array(permissions.names.map(JSON.string)),
    ]
  }
}
