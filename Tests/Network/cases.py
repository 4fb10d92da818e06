"""The links, and what media has to hold on them."""
import dataclasses, functools
from collections.abc import Callable

from calls import quality
from nat import BlockedRoom, NATRoom
from room import Room
from scenarios import address_change, blackout, connection, fan_out, minutes, rate_change, shared_link


@dataclasses.dataclass
class Case:
    name: str
    title: str
    limits: dict  # metric → (relation, limit)
    link: str = "delay=50"  # from the beginning
    impairment: str = ""  # from the first picture on
    room: Callable = Room
    measure: Callable = quality
    short: Callable | None = None  # in place of `measure` with --quick
    repeats: int = 3
    pairs: tuple = ("otchat-otchat", "otchat-chromium", "chromium-otchat", "chromium-chromium")


# metric → (words, unit, digits)
METRICS = {
    "connected": ("first picture after", "s", 2),
    "fps": ("frame rate", "/s", 1),
    "freezes": ("freezes", "", 0),
    "frozen": ("frozen, of 12 s", "s", 2),
    "latency": ("video latency", "ms", 0),
    "concealed": ("audio concealed", "%", 2),
    "pesq": ("PESQ", "", 2),
    "avOffset": ("A/V offset, worst", "ms", 0),
    "nacks": ("NACK messages", "/s", 1),
    "plis": ("key-frame requests", "", 0),
    "before": ("rate before", "kb/s", 0),
    "reaction": ("below capacity after", "s", 1),
    "queueWorst": ("queue, worst", "ms", 0),
    "queueSettled": ("queue, settled", "ms", 0),
    "use": ("use of the slow phase", "%", 0),
    "recovery": ("90 % of before after", "s", 1),
    "share": ("off the fair share", "%", 0),
    "bitrate": ("received", "kb/s", 0),
    "back": ("moving picture after", "s", 2),
    "cpu": ("publisher's CPU at 1", "%", 1),
    "cpu4": ("at 4", "x", 2),
    "cpu10": ("at 10", "x", 2),
    "fpsNine": ("the nine: frame rate", "/s", 1),
    "frozenNine": ("the nine: frozen", "s", 2),
    "bitrateNine": ("the nine: received", "kb/s", 0),
    "fpsSlow": ("the slow: frame rate", "/s", 1),
    "frozenSlow": ("the slow: frozen", "s", 2),
    "rss": ("RSS, growth", "MiB", 1),
    "latencyGrowth": ("video latency, growth", "ms", 0),
    "offsetGrowth": ("A/V offset, growth", "ms", 0),
}

CASES = [
    Case("clean", "clean, 50 ms each way", {
        "freezes": ("<=", 0), "latency": ("<=", 90), "concealed": ("<=", 0.1), "pesq": (">=", 4.0)}),
    Case("loss5", "loss 5 % random", {
        "freezes": ("<=", 0), "concealed": ("<=", 0.5), "pesq": (">=", 4.0)}, impairment="loss=5"),
    Case("loss10", "loss 10 % random", {
        "frozen": ("<=", 0.5), "latency": ("<=", 300), "concealed": ("<=", 1), "pesq": (">=", 3.6)}, impairment="loss=10"),
    Case("loss20", "loss 20 % random", {
        "fps": (">=", 25), "frozen": ("<=", 1.5), "concealed": ("<=", 3), "pesq": (">=", 3.0)}, impairment="loss=20"),
    Case("burst", "bursty loss 5 %, mean burst 4", {
        "frozen": ("<=", 0.2), "concealed": ("<=", 1.5)}, impairment="loss=5 burst=4"),
    Case("jitter", "jitter 30 ms, reorder 2 %, duplicates 2 %", {
        "freezes": ("<=", 0), "concealed": ("<=", 0.3), "nacks": ("<=", 5)},
        impairment="jitter=30 reorder=2 duplicate=2"),
    Case("rate", "rate 2500 → 500 → 2500 kb/s, 10 s each, 30 ms each way", {
        "reaction": ("<=", 0.5), "queueWorst": ("<=", 600), "queueSettled": ("<=", 60), "use": (">=", 90),
        "recovery": ("<=", 8)}, link="delay=30 rate=2500", measure=rate_change),
    Case("share", "two flows on one 1500 kb/s link", {"share": ("<=", 30)}, link="delay=30 rate=1500",
         measure=shared_link),
    Case("blackout3", "blackout 3 s", {"back": ("<=", 0.2)}, measure=functools.partial(blackout, seconds=3)),
    Case("blackout20", "blackout 20 s", {"back": ("<=", 2)}, measure=functools.partial(blackout, seconds=20)),
    Case("address", "address swapped in a call", {"back": ("<=", 2)}, measure=address_change),
    Case("nat", "symmetric NAT on both sides, TURN", {"connected": ("<=", 3), "fps": (">=", 25)}, room=NATRoom,
         measure=connection),
    Case("turn-tcp", "UDP blocked, TURN over TCP", {"connected": ("<=", 3), "fps": (">=", 25)}, room=BlockedRoom,
         measure=connection),
    Case("fanout", "1 publisher → 1, 4, 10 subscribers (one at 300 kb/s)", {
        "cpu10": ("<=", 1.6), "fpsNine": (">=", 29), "frozenNine": ("<=", 0)}, link="delay=20", measure=fan_out,
        pairs=("otchat-otchat",)),
    Case("minutes", "10 minutes, 1 % loss", {
        "rss": ("<=", 2), "latencyGrowth": ("<=", 20), "offsetGrowth": ("<=", 20)}, impairment="loss=1",
        measure=minutes, short=functools.partial(minutes, seconds=180), repeats=1, pairs=("otchat-otchat",)),
]
