"""What is measured where a plain call does not show it: rates that change, links that go away, many subscribers."""
import asyncio, statistics, time

from calls import PEERS, SETTLING, difference
from room import ip

PHASE = 10  # seconds of each rate
CAPACITY = 500  # kbit/s of the slow phase


async def rate_change(stage, case, sending, receiving):
    """2500 kbit/s, 500, and 2500 again: what the sender does, as the link saw it."""
    await stage.pair(sending, receiving, bitrate=2500)
    await asyncio.sleep(PHASE)
    slow = await stage.room.set(f"rate={CAPACITY}")
    await asyncio.sleep(PHASE)
    fast = await stage.room.set("rate=2500")
    await asyncio.sleep(25)
    timeline = (await stage.room.report())["a_to_b"]["timeline"]
    tick = 0.1

    def between(begin, end):
        return [entry for entry in timeline if begin <= entry[0] < end]

    def rate(begin, end, column=1):
        return sum(entry[column] for entry in between(begin, end)) * 8e-3 / (end - begin)

    def first(begin, end, span, condition):
        """Seconds until the rate over `span` fulfils a condition."""
        steps = (step * tick for step in range(round((end - begin) / tick)))
        return next((step for step in steps if condition(rate(begin + step, begin + step + span))), None)
    before = rate(slow - 4, slow)
    return {
        "before": before,
        "reaction": first(slow, fast, 0.3, lambda value: value <= CAPACITY),
        "queueWorst": max((entry[3] for entry in between(slow, fast)), default=None),
        "queueSettled": statistics.fmean(entry[3] for entry in between(fast - PHASE / 2, fast)),
        "use": 100 * rate(slow, fast, 2) / CAPACITY,
        "recovery": first(fast, fast + 24, 1, lambda value: value >= 0.9 * before)}


async def shared_link(stage, case, sending, receiving):
    """Two calls over one bottleneck, the second 5 s after the first: their shares once both have settled."""
    receivers = []
    for name in ("one", "two"):
        receivers.append((await stage.pair(sending, receiving, bitrate=2500, name=name))[1])
        await asyncio.sleep(5)
    await asyncio.sleep(10)
    begin = [await receiver.snapshot() for receiver in receivers]
    await asyncio.sleep(20)
    end = [await receiver.snapshot() for receiver in receivers]
    rates = [difference(*both)["bitrate"] for both in zip(begin, end)]
    mean = statistics.fmean(rates)
    return {"share": 100 * max(abs(rate - mean) for rate in rates) / mean, "bitrate": sum(rates)}


async def blackout(stage, case, sending, receiving, seconds):
    """Nothing passes for a while; how soon the picture moves again."""
    _, receiver = await stage.pair(sending, receiving)
    await asyncio.sleep(SETTLING + 2)
    await stage.room.set("blackout=1")
    await asyncio.sleep(seconds)
    back = await stage.room.set("blackout=0")
    return {"back": await resumption(receiver, back)}


async def address_change(stage, case, sending, receiving):
    """The receiver's address is replaced by another one."""
    _, receiver = await stage.pair(sending, receiving)
    await asyncio.sleep(SETTLING + 2)
    namespace, address = stage.room.namespaces["b"], stage.room.addresses["b"]
    ip("-n", namespace, "addr", "del", f"{address}/24", "dev", "link0")
    ip("-n", namespace, "addr", "add", "10.99.0.3/24", "dev", "link0")
    ip("-n", namespace, "route", "replace", "default", "dev", "link0")
    return {"back": await resumption(receiver, time.time())}


async def connection(stage, case, sending, receiving):
    """How soon a subscriber who comes has a picture, and whether it goes on."""
    _, receiver = await stage.pair(sending, receiving)
    await asyncio.sleep(SETTLING)
    begin = await receiver.snapshot()
    await asyncio.sleep(5)
    return {"connected": stage.connected_after, "fps": difference(begin, await receiver.snapshot())["fps"]}


async def resumption(receiver, moment):
    """Seconds from a moment to the end of the freeze around it; None if there is no such end for 20 s."""
    for _ in range(20):
        await asyncio.sleep(1)
        if (seconds := await receiver.resumed(moment)) is not None:
            return seconds
    return None


async def fan_out(stage, case, sending, receiving):
    """One publisher, and one, four, ten subscribers; the last has 300 kbit/s, the others the best of links."""
    sender = await stage.add(PEERS[sending].Sender(), "a")
    slow = await stage.add(PEERS[receiving].Receiver(), "b")
    await slow.first_frame()
    receivers, cost = [], {}
    for count in (1, 4, 10):
        if count == 1:
            await asyncio.sleep(SETTLING)
            cost[count] = await cpu(sender)
            await stage.room.set("rate=300")
            continue
        while len(receivers) < count - 1:
            receivers.append(await stage.add(PEERS[receiving].Receiver(), "a"))
        await asyncio.gather(*(receiver.first_frame() for receiver in receivers))
        await asyncio.sleep(SETTLING)
        cost[count] = await cpu(sender)
    begin = [await receiver.snapshot() for receiver in (slow, *receivers)]
    await asyncio.sleep(10)
    figures = [difference(first, await receiver.snapshot()) for first, receiver in zip(begin, (slow, *receivers))]
    return {
        "cpu": 100 * cost[1], "cpu4": cost[4] / cost[1], "cpu10": cost[10] / cost[1],
        "fpsNine": min(one["fps"] for one in figures[1:]), "frozenNine": max(one["frozen"] for one in figures[1:]),
        "bitrateNine": min(one["bitrate"] for one in figures[1:]),
        "fpsSlow": figures[0]["fps"], "frozenSlow": figures[0]["frozen"]}


async def cpu(sender, seconds=8):
    """CPU seconds a second."""
    begin = await sender.snapshot()
    await asyncio.sleep(seconds)
    end = await sender.snapshot()
    return (end["cpu"] - begin["cpu"]) / (end["time"] - begin["time"])


async def minutes(stage, case, sending, receiving, seconds=600):
    """A long call: what grows in it."""
    _, receiver = await stage.pair(sending, receiving, blips=True)
    await stage.room.set(case.impairment)
    await asyncio.sleep(60)
    begin = await receiver.snapshot()
    await asyncio.sleep(seconds - 60)
    end = await receiver.snapshot()

    async def growth(measured):
        early, late = (await measured(begin["time"], begin["time"] + 30), await measured(end["time"] - 30, end["time"]))
        return None if None in (early, late) else abs(late) - abs(early)
    return difference(begin, end) | {
        "rss": (end["rss"] - begin["rss"]) / 2**20, "latencyGrowth": await growth(receiver.latency),
        "offsetGrowth": await growth(receiver.offset)}
