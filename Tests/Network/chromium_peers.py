"""Chromium in a room: sender, receiver, each a page of a browser of its own."""
import asyncio, base64, pathlib, statistics, time

import numpy
import websockets

from browsers import Chromium
from room import socket_in
from servers import FileServer

FREEZE = 0.183  # seconds between pictures, at 30 a second
PAGE = pathlib.Path(__file__).with_name("peer.html")


class RoomFileServer(FileServer):
    """The page, the library and the speech on a side's own loopback address, which browsers trust as they do https."""

    async def start(self, namespace, clip):
        self.clip = clip
        listening = socket_in(namespace)
        listening.bind(("127.0.0.1", 0))
        self.server = await asyncio.start_server(self.serve, sock=listening)
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        return self

    def content(self, path):
        if path == "/peer.html":
            return PAGE.read_bytes(), "text/html; charset=utf-8"
        if path == "/speech.wav":
            return self.clip.read_bytes(), "audio/wav"
        return super().content(path)


class RoomChromium(Chromium):
    """Runs on a side; DevTools are reached through a socket that was made there."""

    def __init__(self, room, side, video):
        self.prefix, self.namespace, self.video = room.inside(side), room.namespaces[side], video

    def command(self):
        command, environment = super().command()
        return [*self.prefix, *command, f"--use-file-for-fake-video-capture={self.video}"], environment

    async def connect(self, url):
        port = int(url.split("/")[2].split(":")[1])
        connected = socket_in(self.namespace)
        try:
            connected.connect(("127.0.0.1", port))
        except OSError:
            connected.close()
            raise
        self.socket, self.calls, self.number = await websockets.connect(
            url, sock=connected, max_size=None, ping_interval=None), {}, 0
        self.reader = asyncio.create_task(self.read())


class Peer:
    name = "chromium"

    async def launch(self, room, side, server, media):
        self.files = await RoomFileServer().start(room.namespaces[side], media.speech)
        self.browser = RoomChromium(room, side, media.video)
        await self.browser.start()
        self.page = await self.browser.open(f"{self.files.url}/peer.html?api={server.url}")

    async def stop(self):
        if hasattr(self, "browser"):
            await self.browser.stop()
        if hasattr(self, "files"):
            await self.files.stop()

    async def entries(self, kind):
        """What `statistics` of the page says, with the entries by kind of media."""
        answer = await self.page.js(f"statistics('{kind}')")
        return answer | {entry["kind"]: entry for entry in reversed(answer["entries"])}


class Sender(Peer):
    async def start(self, room, side, server, folder, media, name="sender", bitrate=0):
        await self.launch(room, side, server, media)
        await self.page.js(f"send('{name}', {bitrate * 1000})")
        return self

    async def snapshot(self):
        stats = await self.entries("outbound-rtp")
        return {"time": stats["time"], "encoded": stats["video"]["bytesSent"]}


class Receiver(Peer):
    async def start(self, room, side, server, folder, media, name=""):
        await self.launch(room, side, server, media)
        self.started = time.time()
        await self.page.js(f"receive('{name}')")
        return self

    async def first_frame(self):
        """Waits for it; how many seconds it took from when the page began to connect."""
        await self.page.until("frames.length > 0 && samples > 0", 30)
        return await self.page.js("frames[0][0]") / 1000 - self.started

    async def snapshot(self):
        stats = await self.entries("inbound-rtp")
        video, audio = stats["video"], stats["audio"]
        return {
            "time": stats["time"], "frames": stats["frames"], "frozen": video["totalFreezesDuration"],
            "freezes": video["freezeCount"], "bytes": video["bytesReceived"], "nacks": video["nackCount"],
            "plis": video["pliCount"], "packets": video["packetsReceived"], "samples": audio["totalSamplesReceived"],
            "concealed": audio["concealedSamples"], "position": stats["position"]}

    async def latency(self, begin, end):
        frames = await self.page.js("frames")
        seen = [latency for came, latency in frames if latency is not None and begin <= came / 1000 <= end]
        return statistics.median(seen) if seen else None

    async def offset(self, begin, end):
        return None

    async def sound_between(self, begin, end):
        text = await self.page.js(f"soundBetween({begin['position']}, {end['position']})")
        return numpy.frombuffer(base64.b64decode(text), "<i2"), 48000

    async def resumed(self, moment):
        """When the first gap of a freeze's length that ends after a moment ended, in seconds after it."""
        came = [came / 1000 for came, _ in await self.page.js("frames")]
        return next((after - moment for before, after in zip(came, came[1:])
                     if after > moment and after - before > FREEZE), None)
