"""pcapng files of exported PDUs, as `--pcap` writes them; read by the specification."""
import struct


class Packet:
    def __init__(self, kind, source, destination, inbound, time, data):
        self.kind, self.source, self.destination = kind, source, destination
        self.inbound, self.time, self.data = inbound, time, data

    @property
    def payload_type(self):
        return self.data[1] & 0x7F

    @property
    def sequence(self):
        return struct.unpack_from(">H", self.data, 2)[0]

    @property
    def ssrc(self):
        return struct.unpack_from(">I", self.data, 4 if self.kind == "rtcp" else 8)[0]


def _tags(data):
    at, found = 0, {}
    while (tag := struct.unpack_from(">HH", data, at))[0]:
        found[tag[0]] = data[at + 4:at + 4 + tag[1]]
        at += 4 + tag[1]
    return found, data[at + 4:]


def _options(data):
    at, found = 0, {}
    while (option := struct.unpack_from("<HH", data, at))[0]:
        found[option[0]] = data[at + 4:at + 4 + option[1]]
        at += 4 + (option[1] + 3) // 4 * 4
    return found


def read(path):
    """The packets, and how many there were and how many of them were left out (None without an end)."""
    data, at, packets, counts = open(path, "rb").read(), 0, [], None
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length >= 12 and struct.unpack_from("<I", data, at + length - 4)[0] == length, "a broken block"
        body = data[at + 8:at + length - 4]
        if kind == 1:
            assert struct.unpack_from("<H", body)[0] == 252
        elif kind == 5:
            found = _options(body[12:])
            counts = [struct.unpack("<Q", found[code])[0] for code in (4, 5)]
        elif kind == 6:
            _, high, low, size, _ = struct.unpack_from("<IIIII", body)
            tags, payload = _tags(body[20:20 + size])
            end = lambda address, port: (bytes(tags[address]), struct.unpack(">I", tags[port])[0])  # noqa: E731
            packets.append(Packet(
                tags[12].rstrip(b"\0").decode(), end(20 if 20 in tags else 22, 25), end(21 if 21 in tags else 23, 26),
                _options(body[20 + (size + 3) // 4 * 4:])[2][0] & 3 == 1, (high << 32 | low) / 1e6, payload))
        at += length
    return packets, counts
