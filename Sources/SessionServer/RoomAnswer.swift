import OpenTokProtocol

/// STATUS frames.
enum RoomAnswer {
  static func frame(
    _ transactionID: String, to connectionID: String?, status: Int, payload: JSON? = nil, from address: String
  ) -> RumorFrame {
    RumorFrame(
      .status, to: connectionID.map { [$0] } ?? [],
      headers: [
        RumorFrame.Header.transactionID: transactionID, RumorFrame.Header.status: String(status),
        RumorFrame.Header.contentType: RumorFrame.raptorContentType, RumorFrame.Header.from: address,
      ], payload: payload?.serialized() ?? [])
  }

  static func frame(
    _ transactionID: String, to connectionID: String?, refusal: RoomRefusal, from address: String
  ) -> RumorFrame {
    frame(
      transactionID, to: connectionID, status: refusal.status, payload: ["reason": .string(refusal.reason)],
      from: address)
  }
}
