"""One call over the bad link, measured by who receives."""
import asyncio, contextlib

import chromium_peers
import otchat_peers
import speech
from cases import SETTLING
from room import Room

PEERS = {"otchat": otchat_peers, "chromium": chromium_peers}


@contextlib.asynccontextmanager
async def call(case, sending, receiving, seed, folder, clip):
    """A call whose first picture has been shown, and whose link has got its faults."""
    async with contextlib.AsyncExitStack() as stack:
        room = await stack.enter_async_context(Room(seed, case.link))
        server = await otchat_peers.Server().start(room, folder)
        stack.push_async_callback(server.stop)
        sender, receiver = PEERS[sending].Sender(), PEERS[receiving].Receiver()
        stack.push_async_callback(sender.stop)
        await sender.start(room, "a", server, folder, clip)
        stack.push_async_callback(receiver.stop)
        await receiver.start(room, "b", server, folder, clip)
        await receiver.first_frame()
        if case.impairment:
            await room.set(case.impairment)
        yield room, sender, receiver


async def measure(case, sending, receiving, seed, folder, clip):
    """The metrics of a call, by name; and what tells whether they can be trusted."""
    async with call(case, sending, receiving, seed, folder, clip) as (room, sender, receiver):
        await asyncio.sleep(SETTLING)
        begin = await receiver.snapshot()
        await asyncio.sleep(case.seconds)
        end = await receiver.snapshot()
        figures = difference(begin, end)
        figures["latency"] = await receiver.latency(begin["time"], end["time"])
        figures["avOffset"] = await receiver.offset(begin["time"], end["time"])
        if not speech.missing():
            figures["pesq"] = speech.score(clip, *await receiver.sound_between(begin, end))
        return figures, trust(await room.report())


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
        "overruns": sum(way["overruns"] + way.get("writeErrors", 0) for way in report.values()),
        "lost": report["a_to_b"]["lost"], "packets": report["a_to_b"]["packets"]}
