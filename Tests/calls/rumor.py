"""Frames of Rumor, the messaging of OpenTok."""
import struct

SUBSCRIBE, MESSAGE, CONNECT, DISCONNECT, PING, PONG, STATUS = 0, 2, 3, 4, 7, 8, 9


def text(value):
    data = value.encode()
    return struct.pack(">H", len(data)) + data


def encode(kind, addresses=(), headers=(), payload=b""):
    body = struct.pack(">HBB", 0, kind, len(addresses)) + b"".join(map(text, addresses))
    body += bytes([len(headers)]) + b"".join(text(k) + text(v) for k, v in headers) + payload
    return struct.pack(">I", len(body)) + body


def decode(data):
    """Kind, headers, payload."""
    kind, count, at = data[6], data[7], 8

    def string():
        nonlocal at
        size, = struct.unpack_from(">H", data, at)
        at += 2 + size
        return data[at - size:at].decode()

    for _ in range(count):
        string()
    count, at = data[at], at + 1
    headers = {}
    for _ in range(count):
        key = string()
        headers[key] = string()
    return kind, headers, data[at:]
