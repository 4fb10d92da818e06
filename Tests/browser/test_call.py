"""Two pages in a call: picture, sound, mute, chat, leaving and coming back."""

import asyncio, time

from servers import LIMIT

PARTNER = "(await report()).subscribers[0]"
SENT = """publisher.getRtcStatsReport().then((reports) => Math.max(0, ...reports.map(({rtcStatsReport}) =>
  [...rtcStatsReport.values()].find(({type, kind}) => type === 'outbound-rtp' && kind === 'video')?.framesEncoded || 0)))"""


async def pictures_arrive(page, sent, pictures=40):
    """So many more are decoded, and not far fewer than `sent()` counts meanwhile, however fast the machine is."""
    decoded = f"{PARTNER}?.framesDecoded || 0"
    first, sent_first, end = await page.until(decoded), await sent(), time.monotonic() + LIMIT
    while True:
        sent_last, last = await sent(), await page.js(decoded)
        if last >= first + pictures:
            break
        assert time.monotonic() < end, f"{page.browser.name}: {last - first} pictures in {LIMIT} s of {sent_last - sent_first} sent"
        await asyncio.sleep(0.1)
    assert last - first > 0.5 * (sent_last - sent_first) > 0, (last - first, sent_last - sent_first)


async def media_arrives(page, partner, hertz):
    """What the other one sends is decoded, and its tone heard."""
    await page.until("(await report()).subscribers.length === 1")
    await pictures_arrive(page, lambda: partner.js(SENT))
    await page.until(f"Math.abs({PARTNER}?.toneHz - {hertz}) < 3")
    await page.until(f"{PARTNER}?.totalAudioEnergy > 0")
    seen = await page.js(PARTNER)
    assert seen["width"] >= 160 and seen["width"] * 3 == seen["height"] * 4, seen  # Firefox begins below 640x480
    assert seen["hasAudio"] and seen["hasVideo"] and seen["videoType"] == "custom", seen
    assert seen["framesDecoded"] > 0, seen


async def whole_call(room, first, second):
    a = await room.join(first, name="Anna", tone=660)
    await a.until("(await report()).publishing")
    b = await room.join(second, name="Berta", tone=880)
    await media_arrives(b, a, 660)
    await media_arrives(a, b, 880)
    assert (await a.js(PARTNER))["name"] == "Berta"
    assert (await b.js(PARTNER))["name"] == "Anna"

    await a.js("mute(true)")
    await b.until(f"{PARTNER}.hasAudio === false && {PARTNER}.toneHz === null")
    assert (await a.js("report()"))["muted"] is True
    await a.js("mute(false)")
    await b.until(f"{PARTNER}.hasAudio && Math.abs({PARTNER}.toneHz - 660) < 3")

    await b.js("camera(false)")
    await a.until(f"{PARTNER}.hasVideo === false && (await report()).events.includes('videoDisabled')")
    await b.js("camera(true)")
    await a.until(f"{PARTNER}.hasVideo && (await report()).events.includes('videoEnabled')")
    await pictures_arrive(a, lambda: b.js(SENT))

    await b.js("muteSubscriber(true)")
    await b.until(f"{PARTNER}.toneHz === null && {PARTNER}.hasAudio")
    await b.js("muteSubscriber(false)")
    await b.until(f"Math.abs({PARTNER}.toneHz - 660) < 3")

    await a.js("say('Grüße, <b>Berta</b> 👋')")
    await b.js("say('hello Anna')")
    said = "(await report()).signals.filter(({type}) => type === 'chat').map(({data, fromSelf}) => [data, fromSelf])"
    mine = ["Grüße, <b>Berta</b> 👋", True], ["hello Anna", False]
    for page, expected in ((a, mine), (b, [[data, not own] for data, own in mine])):
        await page.until(f"{said}.length === 2")
        assert sorted(await page.js(said)) == sorted(map(list, expected))

    await b.js("leave()")
    await a.until("(await report()).subscribers.length === 0")
    await b.until("!(await report()).connected")
    told = (await a.js("report()"))["events"]
    assert "streamDestroyed" in told and "connectionDestroyed" in told and "subscriberDestroyed" in told, told
    assert await a.js("document.querySelectorAll('.OT_subscriber').length") == 0

    await b.js("join()")
    await media_arrives(a, b, 880)
    await media_arrives(b, a, 660)
    assert (await a.js("report()"))["errors"] == [] == (await b.js("report()"))["errors"]


async def test_call_chromium_chromium(room):
    await whole_call(room, "chromium", "chromium")


async def test_call_chromium_firefox(room):
    await whole_call(room, "chromium", "firefox")


async def test_call_firefox_chromium(room):
    await whole_call(room, "firefox", "chromium")


async def test_call_camera(room):
    """The browser's (fake) camera and microphone."""
    a = await room.join(source="camera", name="Anna")
    b = await room.join("firefox", source="camera", name="Berta")
    for page, partner in ((a, b), (b, a)):
        await page.until(f"{PARTNER}?.videoType === 'camera'")
        await pictures_arrive(page, lambda: partner.js(SENT))


async def test_call_of_four(room):
    """Everybody sees everybody, whoever came first."""
    pages = [await room.join(name=f"P{i}", tone=400 + 200 * i) for i in range(4)]
    for page in pages:
        await page.until("(await report()).subscribers.filter(({framesDecoded}) => framesDecoded > 30).length === 3")


async def test_watching_only(room):
    """publish=0 sees and is not seen; the one who mutes first is heard when it is lifted."""
    a = await room.join(name="Anna", audio=0)
    b = await room.join(publish=0)
    await b.until(f"{PARTNER}?.framesDecoded > 10 && {PARTNER}.hasAudio === false")
    assert (await b.js("report()"))["publishing"] is False
    assert (await a.js("report()"))["subscribers"] == []
    await a.js("mute(false)")
    await b.until(f"Math.abs({PARTNER}.toneHz - 660) < 3")
