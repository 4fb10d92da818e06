"""How long two pages of headless Chromium take to the first decoded frame of the other's picture."""
import asyncio
import tempfile

from browsers import Chromium
from otchat import Server

FIRST_FRAME = """(async () => {
  while (!((await report()).subscribers[0]?.framesDecoded > 0)) await new Promise(done => setTimeout(done, 10));
  return performance.now();
})()"""


async def measure(url, repeats):
    browser = await Chromium().start()
    times = []
    try:
        there = await browser.open(f"{url}/test.html?source=canvas&name=there")
        await there.until("(await report()).publishing")
        for _ in range(repeats):
            page = await browser.open(f"{url}/test.html?source=none&publish=0")
            times.append(await page.js(FIRST_FRAME) / 1000)
            await page.close()
    finally:
        await browser.stop()
    return times


def first_frames(otchat, repeats):
    """Seconds from navigation, one a repeat."""
    with Server(otchat) as server:
        return asyncio.run(measure(server.url, repeats))
