"""What a receiver of one 640x480 stream costs: otchats that count packets, that decode, and headless Chromium's tabs.
Server and publisher run in processes of their own, which are not counted."""
import asyncio
import json
import os
import pathlib
import subprocess
import time

from browsers import Chromium

COUNTING, DECODING, TABS = 40, 10, 4
TICKS = os.sysconf("SC_CLK_TCK")


def receivers(otchat, server, count, decode, seconds):
    """Cores and MB a receiver, of a process that has them all, and what they got."""
    subprocess.run(
        [otchat, "load", "--server", server.url, "--room", "load", "--publishers", "0", "--subscribers", str(count),
         "--decode", decode, "--ramp-up", str(count / 10), "--hold", str(seconds), "--json", "load.json", "-q"],
        check=True, timeout=seconds + 180, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    found = json.loads(pathlib.Path("load.json").read_text())
    assert found["joined"] == count and found["errors"] == 0, found
    return {"cores": found["cpuCores"] / count, "MB": found["rssBytes"] / 1e6 / count,
            "framesPerSecond": found["framesPerSecond"]["median"], "lost": found["lossShare"]}


def processes(session):
    """Of a session: those of a browser, all of them."""
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                yield path, fields
        except (OSError, ValueError):
            pass  # it has ended


def cpu(session):
    return sum(int(fields[11]) + int(fields[12]) for _, fields in processes(session)) / TICKS


def memory(session):
    """MB; what processes share is counted once (PSS)."""
    total = 0
    for path, _ in processes(session):
        try:
            total += next(int(line.split()[1]) for line in open(path / "smaps_rollup") if line.startswith("Pss:"))
        except (OSError, StopIteration):
            pass
    return total / 1000


async def _tabs(server, seconds):
    browser = await Chromium().start()
    try:
        async def look():
            """Cores over some seconds, and MB at their end."""
            before, began = cpu(browser.process.pid), time.monotonic()
            await asyncio.sleep(seconds)
            return (cpu(browser.process.pid) - before) / (time.monotonic() - began), memory(browser.process.pid)

        await asyncio.sleep(3)
        empty = await look()
        pages = [await browser.open(f"{server.url}/test.html?room=load&publish=0&source=none&name=Tab%20{n}") for n in range(TABS)]
        for page in pages:
            await page.until("(await report()).subscribers[0]?.framesDecoded > 30", 60)
        await asyncio.sleep(3)
        decoded = [(await page.js("report()"))["subscribers"][0]["framesDecoded"] for page in pages]
        began = time.monotonic()
        full = await look()
        frames = [(await page.js("report()"))["subscribers"][0]["framesDecoded"] - d for page, d in zip(pages, decoded)]
        return {"cores": (full[0] - empty[0]) / TABS, "MB": (full[1] - empty[1]) / TABS,
                "framesPerSecond": min(frames) / (time.monotonic() - began), "whole": full}
    finally:
        await browser.stop()


def tabs(server, seconds):
    """Cores and MB that each tab adds to a Chromium with an empty one."""
    return asyncio.run(_tabs(server, seconds))
