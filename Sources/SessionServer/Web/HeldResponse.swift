import CWebSockets

/// An answer that waits until what it says has been written down.
struct HeldResponse {
  let number: Int
  let exchange: HTTPExchange
  let response: HTTPResponse
  var isReleased = false
}

extension WebServer {
  /// Of one that waits for so long the connection ends, without an answer.
  private static let heldSeconds: Int32 = 60

  func hold(_ wsi: OpaquePointer, _ exchange: HTTPExchange, _ response: HTTPResponse) {
    heldResponseCount += 1
    heldResponses[wsi] = HeldResponse(number: heldResponseCount, exchange: exchange, response: response)
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, Self.heldSeconds)
    handlers.held(heldResponseCount)
  }

  /// Lets an answer go. Its client may be gone by now.
  package func release(_ number: Int) {
    guard let wsi = heldResponses.first(where: { $0.value.number == number })?.key else { return }
    heldResponses[wsi]?.isReleased = true
    lws_callback_on_writable(wsi)
  }

  /// The client takes what is sent to it. False closes the connection.
  func writable(_ wsi: OpaquePointer) -> Bool {
    guard let held = heldResponses[wsi] else { return continueDownload(wsi) }
    guard held.isReleased else { return true }
    heldResponses[wsi] = nil
    return respond(wsi, held.exchange.request, held.response, closing: held.exchange.closes)
  }
}
