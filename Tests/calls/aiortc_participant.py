"""An OpenTok participant whose WebRTC is aiortc: an independent third stack for a call.

  aiortc_participant.py URL [--publish] [--subscribe [--pictures 150]]

Stays until it has seen so many pictures and heard as long; a publisher until its standard input ends. Prints one
JSON object at the end: what it received. Speaks as much Rumor and Raptor as a relayed call needs.
"""
import argparse
import asyncio
import json
import math
import sys
import urllib.request
import uuid

import numpy
import websockets
from aiortc import RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import AudioStreamTrack, VideoStreamTrack
from aiortc.sdp import candidate_from_sdp
from av import VideoFrame

from otchat import LIMIT
from rumor import CONNECT, DISCONNECT, MESSAGE, PING, STATUS, SUBSCRIBE, decode, encode


class Bar(VideoStreamTrack):
    """640x480 at 30/s: a white bar moving over grey."""
    number = 0

    async def recv(self):
        pts, base = await self.next_timestamp()
        pixels = numpy.full((480, 640, 3), 60, numpy.uint8)
        at = self.number * 8 % 600
        pixels[:, at:at + 40] = 255
        self.number += 1
        frame = VideoFrame.from_ndarray(pixels, format="bgr24")
        frame.pts, frame.time_base = pts, base
        return frame


class Tone(AudioStreamTrack):
    async def recv(self):
        frame = await super().recv()
        t = (numpy.arange(frame.samples) + frame.pts) / frame.sample_rate
        frame.planes[0].update((numpy.sin(2 * math.pi * 700 * t) * 8000).astype(numpy.int16).tobytes())
        return frame


class Participant:
    def __init__(self, options):
        self.options = options
        self.id = str(uuid.uuid4())
        self.answers, self.peers = {}, {}
        self.seen = {"frames": 0, "distinct": 0, "width": 0, "height": 0, "samples": 0, "toneHz": 0}
        self.last, self.sound, self.connected = None, [], asyncio.Event()

    async def join(self):
        with urllib.request.urlopen(self.options.url + "/session") as answer:
            c = json.load(answer)
        request = urllib.request.Request(f"{c['apiUrl']}/session/{c['sessionId']}?extended=true", headers={
            "X-OPENTOK-AUTH": c["token"], "X-TB-VERSION": "1", "X-TB-CLIENT-VERSION": "js-2.28.0", "X-TB-CONNECTIONID": self.id})
        with urllib.request.urlopen(request) as answer:
            info = json.load(answer)[0]
        self.base, self.symphony = f"/v2/partner/{c['apiKey']}/session/{c['sessionId']}", info["symphony_address"]
        self.socket = await websockets.connect(info["messaging_url"], max_size=None, ping_interval=None)
        await self.socket.send(encode(CONNECT, (), [("uniqueId", self.id), ("notifyDisconnectAddress", self.symphony)]))
        await self.socket.send(encode(SUBSCRIBE, [self.base]))
        self.tasks = [asyncio.create_task(self.read()), asyncio.create_task(self.ping())]
        state = await self.request("create", f"/connection/{self.id}", {"userAgent": "aiortc", "clientVersion": "js-2.28.0",
                                   "capabilities": ["forceMute", "renegotiation"]}, [("X-TB-TOKEN-AUTH", c["token"])])
        if self.options.publish:
            self.stream = str(uuid.uuid4())
            await self.request("create", f"/stream/{self.stream}", {
                "id": self.stream, "name": "aiortc", "audioFallbackEnabled": False, "channel": [
                    {"id": "video1", "type": "video", "active": True, "width": 640, "height": 480, "frameRate": 30, "source": "camera"},
                    {"id": "audio1", "type": "audio", "active": True}]})
        for stream in state.get("stream", []):
            await self.subscribe(stream)

    async def request(self, method, path, content, more=()):
        transaction = str(uuid.uuid4())
        answer = self.answers[transaction] = asyncio.get_running_loop().create_future()
        message = json.dumps({"method": method, "uri": path if path.startswith("/v2") else self.base + path, "content": content}).encode()
        await self.socket.send(encode(MESSAGE, [self.symphony], [
            ("Content-Type", "application/x-raptor+v2"), ("TRANSACTION-ID", transaction), ("X-TB-FROM-ADDRESS", self.id), *more], message))
        status, payload = await asyncio.wait_for(answer, LIMIT)
        if not status.startswith("2"):
            raise RuntimeError(f"{method} {path}: {status} {payload}")
        return payload

    async def ping(self):
        while True:
            await asyncio.sleep(2)
            await self.socket.send(encode(PING))

    async def read(self):
        async for data in self.socket:
            kind, headers, payload = decode(data)
            content = json.loads(payload) if payload else {}
            if kind == STATUS:
                if future := self.answers.pop(headers.get("TRANSACTION-ID"), None):
                    future.set_result((headers.get("STATUS", ""), content))
            elif kind == MESSAGE:
                await self.socket.send(encode(STATUS, [headers.get("X-TB-FROM-ADDRESS", "")], [
                    ("TRANSACTION-ID", headers["TRANSACTION-ID"]), ("X-TB-FROM-ADDRESS", self.id)]))
                asyncio.ensure_future(self.handle(content, headers.get("X-TB-FROM-ADDRESS", "")))

    async def handle(self, message, sender):
        method, uri, content = message["method"], message["uri"], message.get("content") or {}
        if method == "created" and uri.count("/") == 7 and "/stream/" in uri and sender != self.id:
            await self.subscribe(content)
        elif method == "generateoffer":
            peer = self.peers[uri] = RTCPeerConnection()
            self.watch(peer)
            peer.addTrack(Bar())
            peer.addTrack(Tone())
            await peer.setLocalDescription(await peer.createOffer())
            await self.request("offer", uri, {"peerId": content["peerId"], "sourceStreamId": content["sourceStreamId"],
                                              "sdp": peer.localDescription.sdp})
        elif method == "answer":
            await self.peers[uri].setRemoteDescription(RTCSessionDescription(content["sdp"], "answer"))
        elif method == "offer":
            peer = self.peers.setdefault(uri, RTCPeerConnection())
            self.watch(peer)
            peer.on("track", lambda track: asyncio.ensure_future(self.receive(track)))
            await peer.setRemoteDescription(RTCSessionDescription(content["sdp"], "offer"))
            await peer.setLocalDescription(await peer.createAnswer())
            await self.request("answer", uri, {"peerId": content["peerId"], "sourceStreamId": content["sourceStreamId"],
                                               "type": "answer", "sdp": peer.localDescription.sdp})
        elif method == "candidate" and uri in self.peers and content.get("candidate"):
            candidate = candidate_from_sdp(content["candidate"].removeprefix("candidate:"))
            candidate.sdpMid, candidate.sdpMLineIndex = content.get("sdpMid"), content.get("sdpMLineIndex")
            await self.peers[uri].addIceCandidate(candidate)

    def watch(self, peer):
        peer.on("connectionstatechange", lambda: peer.connectionState == "connected" and self.connected.set())

    async def subscribe(self, stream):
        if self.options.subscribe:
            subscriber = str(uuid.uuid4())
            await self.request("create", f"/stream/{stream['id']}/subscriber/{subscriber}", {
                "id": subscriber, "connection": self.id, "keyManagementMethod": "DTLS_SRTP", "bundleSupport": True, "rtcpMuxSupport": True,
                "channel": [{"id": c["id"], "type": c["type"], "active": True} for c in stream["channel"]]})

    async def receive(self, track):
        while True:
            try:
                frame = await track.recv()
            except Exception:
                return
            if track.kind == "video":
                picture = frame.to_ndarray(format="gray")[::8, ::8].astype(int)
                self.seen["distinct"] += int(self.last is None or self.last.shape != picture.shape or abs(picture - self.last).mean() > 0.1)
                self.last = picture
                self.seen |= {"frames": self.seen["frames"] + 1, "width": frame.width, "height": frame.height}
            else:
                channels = 2 if frame.layout.name == "stereo" else 1
                self.sound.append(frame.to_ndarray().reshape(-1)[::channels])
                self.seen["samples"] += frame.samples

    async def run(self):
        await self.join()
        await asyncio.wait_for(self.connected.wait(), LIMIT)
        if self.options.publish:
            await asyncio.to_thread(sys.stdin.read)
        if self.options.subscribe:
            async with asyncio.timeout(LIMIT):
                while self.seen["frames"] < self.options.pictures or self.seen["samples"] < self.options.pictures * 1600:
                    await asyncio.sleep(0.1)
        if self.sound:
            wave = numpy.concatenate(self.sound)[-48000:].astype(float)
            spectrum = abs(numpy.fft.rfft(wave * numpy.hanning(len(wave))))
            self.seen["toneHz"] = round(float(spectrum[20:].argmax() + 20) * 48000 / len(wave), 1)
        await self.socket.send(encode(DISCONNECT, (), [("reconnect", "")]))
        await self.socket.close()
        for task in self.tasks:
            task.cancel()
        for peer in self.peers.values():
            await peer.close()
        return self.seen


p = argparse.ArgumentParser()
p.add_argument("url")
p.add_argument("--publish", action="store_true")
p.add_argument("--subscribe", action="store_true")
p.add_argument("--pictures", type=int, default=150)
if __name__ == "__main__":
    print(json.dumps(asyncio.run(Participant(p.parse_args()).run())), flush=True)
