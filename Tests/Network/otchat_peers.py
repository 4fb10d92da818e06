"""`otchat` in a room: server, sender, receiver."""
import asyncio, os, signal, statistics, time

from participant import Participant
from servers import end, otchat
import speech

PORT = 8080


class Server:
    """`otchat serve` where a room wants it."""

    async def start(self, room, folder, *flags):
        self.url = f"http://{room.server_address}:{PORT}"
        self.process = await asyncio.create_subprocess_exec(
            *room.inside(room.server_side), otchat(), "serve", "--host", room.server_address, "--port", str(PORT), "--open",
            *flags,
            env=os.environ | {"XDG_STATE_HOME": str(folder)}, start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
        async with asyncio.timeout(20):
            while line := await self.process.stdout.readline():
                if line.startswith(b"listening on "):
                    self.reader = asyncio.create_task(self.process.stdout.read())
                    return self
        raise AssertionError("otchat serve ended before it listened")

    async def stop(self):
        await end(self.process, signal.SIGTERM)


class Peer(Participant):
    """`otchat connect --events -` on a side of the room."""

    async def launch(self, room, side, server, folder, *arguments):
        self.command = [
            *room.inside(side), otchat(), "connect", "--server", server.url, "--events", "-", "--stats", "0.2", *arguments]
        self.events, self.errors, self.started = [], [], time.time()
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=os.environ | {"XDG_CONFIG_HOME": str(folder)}, start_new_session=True, limit=1 << 20)
        self.readers = [asyncio.create_task(self.read_events()), asyncio.create_task(self.read_errors())]
        return self

    async def next_stats(self):
        """The first stats event that is made from now on."""
        seen = len(self.events)
        return await self.until(
            lambda: next((e for e in self.events[seen:] if e["event"] == "stats"), None), "a stats event")


class Sender(Peer):
    name = "otchat"

    async def start(self, room, side, server, folder, media, name="sender", bitrate=None, blips=False):
        """With a bitrate (kbit/s, at most) it sends pictures that can use it, else the test pattern; with it blips, by
        which the A/V offset is measured, or speech."""
        video = ["--video-source", f"file:{media.video}", "--video-bitrate", str(bitrate)] if bitrate else \
            ["--video-source", "test"]
        await self.launch(
            room, side, server, folder, "--name", name, "--subscribe", "none", "--audio-source",
            "test" if blips else f"file:{media.speech}",
            *video)
        await self.event("publisherStreamCreated")
        return self

    async def snapshot(self):
        stats = await self.next_stats()
        return {"time": stats["time"], "cpu": stats["process"]["cpuSeconds"],
                "encoded": stats["publisher"]["video"].get("bytesEncoded", 0)}


class Receiver(Peer):
    name = "otchat"

    async def start(self, room, side, server, folder, media, name=None):
        self.sound = folder / f"{side}{id(self)}.wav"
        await self.launch(
            room, side, server, folder, "--no-publish", "--subscribe", f"name:{name}" if name else "first",
            "--audio-sink", f"file:{self.sound}")
        return self

    async def first_frame(self):
        """Waits for it; how many seconds it took."""
        return (await self.event("firstVideoFrame", seconds=30))["time"] - self.started

    async def snapshot(self):
        """Counters of now, by W3C's names, of video and sound together."""
        stats = await self.next_stats()
        video, audio = stats["subscribers"][0]["video"], stats["subscribers"][0]["audio"]
        return {
            "time": stats["time"], "rss": stats["process"]["rssBytes"], "frames": video["framesRendered"],
            "frozen": video["totalFreezesDuration"], "freezes": video["freezeCount"], "bytes": video["bytesReceived"],
            "nacks": video["nackCount"], "plis": video["pliCount"], "repaired": video["retransmittedPacketsReceived"],
            "packets": video["packetsReceived"], "missing": video.get("framesMissing"),
            "samples": audio["totalSamplesReceived"], "concealed": audio["concealedSamples"],
            "position": len(speech.load(self.sound)[0])}

    async def latency(self, begin, end):
        """Median in ms between two moments, from drawing to showing; None if the strip was not there."""
        seen = [e["subscribers"][0]["video"]["endToEndLatency"] for e in self.stats_between(begin, end)
                if "endToEndLatency" in e["subscribers"][0]["video"]]
        return statistics.median(seen) if seen else None

    async def offset(self, begin, end):
        """The worst A/V offset in ms between two moments."""
        seen = [e["subscribers"][0]["video"]["avOffset"] for e in self.stats_between(begin, end)
                if "avOffset" in e["subscribers"][0]["video"]]
        return max(seen, key=abs) if seen else None

    def stats_between(self, begin, end):
        return [e for e in self.events if e["event"] == "stats" and begin <= e["time"] <= end and e["subscribers"]]

    async def resumed(self, moment):
        """When the first freeze that ends after a moment ended, in seconds after it."""
        known = [e | e["subscribers"][0]["video"] for e in self.events if e["event"] == "stats" and e["subscribers"]]
        known = [e for e in known if e["framesRendered"] > 0]
        # W3C's sum of the times between pictures ends at the last picture: with the first one's time, found as the
        # earliest that fits, it gives the last one's. The freeze began there.
        first = min(e["time"] - e["totalInterFrameDelay"] for e in known)
        for before, after in zip(known, known[1:]):
            freeze = after["totalFreezesDuration"] - before["totalFreezesDuration"]
            if after["time"] > moment and freeze > 0:
                return first + before["totalInterFrameDelay"] + freeze - moment
        return None

    async def sound_between(self, begin, end):
        samples, rate = speech.load(self.sound)
        return samples[begin["position"]:end["position"]], rate
