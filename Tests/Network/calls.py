"""One call over the bad link, measured by who receives."""
import asyncio, contextlib

import chromium_peers
import otchat_peers
import speech

PEERS = {"otchat": otchat_peers, "chromium": chromium_peers}
SETTLING = 3  # seconds from the first picture to the measurement


class Stage:
    """A room with the session server in it, and participants that end with it."""

    def __init__(self, room, media, folder):
        self.room, self.media, self.folder = room, media, folder
        self.exits = contextlib.AsyncExitStack()

    async def __aenter__(self):
        async with contextlib.AsyncExitStack() as exits:
            await exits.enter_async_context(self.room)
            flags = await self.room.furnish(exits, self.folder)
            self.server = await otchat_peers.Server().start(self.room, self.folder, *flags)
            exits.push_async_callback(self.server.stop)
            self.exits = exits.pop_all()
        return self

    async def __aexit__(self, *_):
        await self.exits.aclose()

    async def add(self, participant, side, **settings):
        self.exits.push_async_callback(participant.stop)
        return await participant.start(self.room, side, self.server, self.folder, self.media, **settings)

    async def pair(self, sending, receiving, **settings):
        """A sender on side A and a receiver on side B, from the first picture on."""
        sender = await self.add(PEERS[sending].Sender(), "a", **settings)
        name = {"name": settings["name"]} if "name" in settings else {}
        receiver = await self.add(PEERS[receiving].Receiver(), "b", **name)
        self.connected_after = await receiver.first_frame()
        return sender, receiver


async def quality(stage, case, sending, receiving, seconds=14):
    """Picture and sound of a plain call, while the link is as bad as the case says."""
    sender, receiver = await stage.pair(sending, receiving)
    if case.impairment:
        await stage.room.set(case.impairment)
    await asyncio.sleep(SETTLING)
    begin = await receiver.snapshot()
    await asyncio.sleep(seconds)
    end = await receiver.snapshot()
    figures = difference(begin, end)
    figures["latency"] = await receiver.latency(begin["time"], end["time"])
    figures["avOffset"] = await receiver.offset(begin["time"], end["time"])
    if not speech.missing():
        figures["pesq"] = speech.score(stage.media.speech, *await receiver.sound_between(begin, end))
    return figures


def difference(begin, end):
    seconds = end["time"] - begin["time"]

    def change(name):
        return end[name] - begin[name]
    return {
        "seconds": seconds, "fps": change("frames") / seconds, "freezes": change("freezes"),
        "frozen": change("frozen") * 12 / seconds, "nacks": change("nacks") / seconds, "plis": change("plis"),
        "concealed": 100 * change("concealed") / max(1, change("samples")),
        "bitrate": change("bytes") * 8e-3 / seconds}


def trust(report):
    """How late the link was at its worst (ms), and how many packets it was too slow to read."""
    return {
        "lag": max(way["worstLag"] for way in report.values()) * 1000,
        "overruns": sum(way["overruns"] + way.get("writeErrors", 0) for way in report.values())}
