const Frame = {
  SUBSCRIBE: 0, UNSUBSCRIBE: 1, MESSAGE: 2, CONNECT: 3, DISCONNECT: 4, PING: 7, PONG: 8, STATUS: 9 };
const RAPTOR_TYPE = 'application/x-raptor+v2';
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * A frame as bytes: u32 length of the rest, u16 zero, u8 type, u8 count and that many addresses,
 * u8 count and that many pairs of header name and value, payload. Texts are UTF-8 with a u16
 * length before them.
 * @param {{type: number, addresses?: string[], headers?: Object<string, string>, payload?: string}} frame
 * @returns {ArrayBuffer}
 */
function encodeFrame({ type, addresses = [], headers = {}, payload = '' }) {
  const pieces = [];
  const count = (number) => pieces.push(Uint8Array.of(number));
  const text = (string) => {
    const bytes = encoder.encode(string);
    pieces.push(Uint8Array.of(bytes.length >> 8, bytes.length & 0xff), bytes);
  };
  count(addresses.length);
  addresses.forEach(text);
  count(Object.keys(headers).length);
  for (const [name, value] of Object.entries(headers)) {
    text(name);
    text(value);
  }
  pieces.push(encoder.encode(payload));

  const size = pieces.reduce((sum, piece) => sum + piece.length, 7);
  const bytes = new Uint8Array(size);
  new DataView(bytes.buffer).setUint32(0, size - 4);
  bytes[6] = type;
  let at = 7;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes.buffer;
}

/**
 * The frame in a binary message.
 * @param {ArrayBuffer} buffer
 * @throws {RangeError} if it is cut short
 */
function decodeFrame(buffer) {
  const view = new DataView(buffer);
  let at = 7;
  const text = () => {
    const size = view.getUint16(at);
    const bytes = new Uint8Array(buffer, at + 2, size);
    at += 2 + size;
    return decoder.decode(bytes);
  };
  const addresses = Array.from({ length: view.getUint8(at++) }, text);
  const headers = {};
  for (let left = view.getUint8(at++); left > 0; left--) {
    const name = text();
    headers[name] = text();
  }
  return { type: view.getUint8(6), addresses, headers, payload: decoder.decode(new Uint8Array(buffer, at)) };
}
