"""The session server under load: 200 idle connections and 50 signals a second to all of them, on one core; in the middle
kill -9 and a new server in its place.

  Tests/Bench/bench_server.py [MINUTES]       half a minute by default

The connections are as cheap as can be (a WebSocket is an asyncio.Protocol of its own), so that what is measured is mostly
the server; the time that this process takes is in the delivery times all the same.
"""
import argparse
import asyncio
import base64
import json
import os
import pathlib
import statistics
import struct
import sys
import tempfile
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "Tests/calls")]
from otchat import Server  # noqa: E402
from rumor import CONNECT, MESSAGE, STATUS, decode, encode  # noqa: E402

OTCHAT = os.environ.get("OTCHAT", str(ROOT / ".build/release/otchat"))
IDLE, SENDERS, RATE = 200, 5, 50
DELIVERY_P99, GROWTH = 20, 2  # ms, MB
LIMIT = 120
SIGNAL = b'"type":"bench"'


class Connection(asyncio.Protocol):
    """A client that acknowledges what it gets, and comes back when its socket is lost, as OpenTok's do."""

    def __init__(self, bench, name):
        self.bench, self.id = bench, name
        self.waiting, self.requests, self.seen = {}, 0, {}
        self.closed_with = None

    async def open(self, resumes=False):
        self.buffer, self.is_upgraded = b"", asyncio.get_running_loop().create_future()
        await asyncio.get_running_loop().create_connection(lambda: self, self.bench.host, self.bench.port)
        key = base64.b64encode(os.urandom(16)).decode()
        self.transport.write((
            f"GET /rumorwebsocketsv2?socketId=socket-{self.id}&attempt=1{'&reconnect=true' * resumes} HTTP/1.1\r\nHost: "
            f"{self.bench.host}:{self.bench.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\n\r\n").encode())
        await asyncio.wait_for(self.is_upgraded, LIMIT)

    async def join(self, token):
        await self.open()
        self.write(encode(CONNECT, (), [("uniqueId", self.id)]))
        return await self.request("create", f"/connection/{self.id}", {}, [("X-TB-TOKEN-AUTH", token)])

    def request(self, method, path, content, more=()):
        self.requests += 1
        transaction = f"{self.id}-{self.requests}"
        answer = self.waiting[transaction] = asyncio.get_running_loop().create_future()
        payload = json.dumps({"method": method, "uri": self.bench.base + path, "content": content}).encode()
        self.write(encode(MESSAGE, ["symphony.otchat"], [
            ("Content-Type", "application/x-raptor+v2"), ("TRANSACTION-ID", transaction), ("X-TB-FROM-ADDRESS", self.id),
            *more], payload))
        return asyncio.wait_for(answer, LIMIT)

    def write(self, data, opcode=2):
        """One frame; masked with zeros (RFC 6455 wants a mask, not which one)."""
        if self.transport.is_closing():
            return  # It is asked again, or sent again, after the return.
        size = len(data)
        head = struct.pack(">BB", 0x80 | opcode, 0x80 | size) if size < 126 else struct.pack(">BBH", 0x80 | opcode, 0xFE, size)
        self.transport.write(head + b"\0\0\0\0" + data)

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.buffer += data
        if not self.is_upgraded.done():
            head, end, rest = self.buffer.partition(b"\r\n\r\n")
            if not end:
                return
            assert head.startswith(b"HTTP/1.1 101"), head
            self.buffer = rest
            self.is_upgraded.set_result(None)
        at, buffer = 0, self.buffer
        while len(buffer) - at >= 2:
            size, begin = buffer[at + 1], at + 2
            if size == 126:
                if len(buffer) < at + 4:
                    break
                size, begin = struct.unpack_from(">H", buffer, at + 2)[0], at + 4
            elif size == 127:
                if len(buffer) < at + 10:
                    break
                size, begin = struct.unpack_from(">Q", buffer, at + 2)[0], at + 10
            if len(buffer) < begin + size:
                break
            self.frame(buffer[at] & 15, buffer[begin:begin + size])
            at = begin + size
        self.buffer = buffer[at:]

    def frame(self, opcode, data):
        if opcode == 8:
            self.closed_with = struct.unpack(">H", data[:2])[0] if len(data) > 1 else 1005
        elif opcode == 9:
            self.write(data, 10)
        elif opcode == 2:
            kind, headers, payload = decode(data)
            if kind == MESSAGE:
                now = time.monotonic()
                transaction = headers["TRANSACTION-ID"]
                self.write(encode(STATUS, [headers.get("X-TB-FROM-ADDRESS", "")], [
                    ("TRANSACTION-ID", transaction), ("X-TB-FROM-ADDRESS", self.id)]))
                if SIGNAL in payload:
                    number = int(json.loads(payload)["content"]["data"])
                    self.bench.times.append(now - self.bench.sent[number])
                    self.seen[number] = self.seen.get(number, 0) + 1
            elif kind == STATUS and (future := self.waiting.pop(headers.get("TRANSACTION-ID"), None)):
                assert headers["STATUS"].startswith("2"), (headers["STATUS"], payload)
                future.set_result(json.loads(payload) if payload else {})

    def connection_lost(self, _):
        if not self.bench.is_over:
            self.bench.returning.add(asyncio.ensure_future(self.come_back()))

    async def come_back(self):
        deadline = time.monotonic() + LIMIT
        while True:
            await asyncio.sleep(0.5)
            try:
                return await self.open(resumes=True)
            except OSError:
                assert time.monotonic() < deadline, "the server did not come back"


class Bench:
    def __init__(self, seconds):
        self.seconds, self.failures, self.is_over = seconds, 0, False
        self.returning = set()
        self.sent, self.times = [], []

    def row(self, what, value, limit=None, unit=""):
        bad = limit is not None and not value <= limit
        self.failures += bad
        print(f"{what:58} {value:10.2f} {unit:6} {'' if limit is None else f'limit {limit}'} {'MISSED' if bad else ''}", flush=True)

    def status(self, key):
        return int(next(line.split()[1] for line in open(f"/proc/{self.server.process.pid}/status") if line.startswith(key)))

    def cpu(self):
        fields = open(f"/proc/{self.server.process.pid}/stat").read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def start(self, port=0):
        self.server = Server(OTCHAT, port=port, prefix=["taskset", "-c", "0"])
        url = urllib.parse.urlsplit(self.server.url)
        self.host, self.port = url.hostname, url.port

    async def join(self):
        with urllib.request.urlopen(f"{self.server.url}/room/bench", timeout=LIMIT) as answer:
            self.credentials = json.load(answer)
        self.base = f"/v2/partner/{self.credentials['apiKey']}/session/{self.credentials['sessionId']}"
        self.connections = [Connection(self, f"c{n:03}") for n in range(IDLE + SENDERS)]
        for connection in self.connections:
            await connection.join(self.credentials["token"])
        await self.connections[0].request("create", "/stream/kept", {
            "name": "kept", "channel": [{"id": "audio1", "type": "audio", "active": True}]})

    async def signals(self, name):
        """Signals at their rate for the given time, each to be delivered to everybody once."""
        began, first = time.monotonic(), len(self.sent)
        self.times, memory, used = [], [], self.cpu()
        answers = []
        for number in range(int(self.seconds * RATE)):
            await asyncio.sleep(max(0, began + number / RATE - time.monotonic()))
            sender = self.connections[number % SENDERS]
            self.sent.append(time.monotonic())
            answers.append(asyncio.ensure_future(sender.request(
                "signal", f"/signal/s{len(self.sent)}", {"type": "bench", "data": str(len(self.sent) - 1)})))
            if number % RATE == 0:
                memory.append(self.status("VmRSS") / 1000)
        elapsed = time.monotonic() - began
        used = self.cpu() - used
        await asyncio.gather(*answers)
        expected = (len(self.sent) - first) * len(self.connections)
        deadline = time.monotonic() + LIMIT
        while len(self.times) < expected and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
        wanted = range(first, len(self.sent))
        counts = [connection.seen.get(number, 0) for connection in self.connections for number in wanted]
        times = sorted(self.times)
        print(f"{name}: {len(wanted)} signals in {elapsed:.1f} s to {len(self.connections)} connections", flush=True)
        self.row("  delivery, median", 1000 * statistics.median(times), None, "ms")
        self.row("  delivery, 99 % within", 1000 * times[int(0.99 * len(times))], DELIVERY_P99, "ms")
        self.row("  delivery, slowest", 1000 * times[-1], None, "ms")
        self.row("  lost", sum(1 for count in counts if count == 0), 0)
        self.row("  doubled", sum(1 for count in counts if count > 1), 0)
        self.row("  the server's CPU, of a core", 100 * used / elapsed, None, "%")
        settled = memory[len(memory) // 6:]
        third = max(1, len(settled) // 3)
        self.row("  resident memory at the end", memory[-1], None, "MB")
        self.row("  its growth, last third over first", statistics.median(settled[-third:]) - statistics.median(settled[:third]),
                 GROWTH, "MB")

    async def restart(self):
        """kill -9 in the middle: everybody and everything has to be there again."""
        await asyncio.sleep(0.5)  # What has changed is written within 50 ms, and nothing has for long.
        began = time.monotonic()
        self.server.process.kill()
        self.server.process.wait()
        self.start(self.port)
        self.row("kill -9 to listening again", time.monotonic() - began, None, "s")
        while len(self.returning) < len(self.connections):
            assert time.monotonic() - began < LIMIT, f"{len(self.returning)} of {len(self.connections)} noticed the kill"
            await asyncio.sleep(0.05)
        await asyncio.gather(*self.returning)
        self.row("  to the last connection's return", time.monotonic() - began, None, "s")
        await asyncio.sleep(1)
        self.row("  connections refused", sum(1 for c in self.connections if c.closed_with), 0)
        late = Connection(self, "late")
        state = await late.join(self.credentials["token"])
        there = {c["id"] for c in state["connection"]} - {"late"}
        self.row("  connections not there again", len({c.id for c in self.connections} - there), 0)
        self.row("  streams not there again", len({"kept"} - {s["id"] for s in state["stream"]}), 0)
        self.connections.append(late)

    async def run(self):
        self.start()
        try:
            await self.join()
            await self.signals("first half")
            await self.restart()
            await self.signals("second half")
        finally:
            self.is_over = True
            self.server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minutes", nargs="?", type=float, default=0.5)
    bench = Bench(parser.parse_args().minutes * 60 / 2)
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}
        asyncio.run(bench.run())
    print(f"{bench.failures} missed")
    return min(bench.failures, 1)


if __name__ == "__main__":
    sys.exit(main())
