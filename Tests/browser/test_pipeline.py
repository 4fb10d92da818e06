"""A pipeline's question to a page, asked by `otchat connect --expect`: a good page passes, and each way in
which it can be broken is named."""
import asyncio, os, re, tempfile

from servers import SessionServer, otchat

WAITS = True  # most of the time: several run side by side

EXPECTATIONS = [
    "subscriber.video.framesPerSecond >= 15 for 2s within 20s",
    "subscriber.video.brightness > 0.1 for 2s within 20s",
    "subscriber.video.stillDuration < 1 for 2s within 20s",
    "subscriber.audio.audioLevel > -40 for 2s within 20s",
]


async def verdict(room, *expectations, server=None, name=None, arguments=(), during=None):
    """Exit status and standard error of `otchat connect` with these expectations."""
    address = ["--server", server or room.server.url, "--room", name or room.name] if server != "" else []
    command = [otchat(), "connect", *address, "--no-publish", "--name", "CI", "--duration", "40", *arguments]
    for each in expectations or EXPECTATIONS:
        command += ["--expect", each]
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE, env=os.environ | {"XDG_CONFIG_HOME": str(room.state)}, start_new_session=True)
    try:
        if during:
            await during()
        _, errors = await asyncio.wait_for(process.communicate(), 90)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, errors.decode()


async def page_with(room, **query):
    page = await room.join(**({"source": "pattern", "tone": 500, "name": "Page"} | query))
    await page.until("(await report()).connected", 30)
    return page


async def fails(room, cause, *expectations, status=1, **options):
    code, errors = await verdict(room, *expectations, **options)
    assert code == status, (code, errors)
    assert cause in errors, errors


async def test_pipeline_passes(room):
    await page_with(room)
    code, errors = await verdict(room)
    assert code == 0 and errors.count("expect: ok") == len(EXPECTATIONS), errors


async def test_pipeline_reads_the_pattern_of_a_page(room):
    """Latency, missing pictures and A/V offset of a browser's stream, as of an otchat's."""
    page = await room.join(source="pattern", name="Page")
    await page.until("(await report()).publishing", 30)
    terminal = await room.participant("--no-publish")
    got = await terminal.stats(
        lambda s: s["video"].get("avOffset") is not None and s["video"]["framesDecoded"] > 150, "A/V offset of a page", 60)
    video = got["video"]
    assert 0 < video["endToEndLatency"] < 2000 and abs(video["avOffset"]) < 250, video
    assert video["framesMissing"] < video["framesDecoded"] and video["framesUnreadable"] < video["framesDecoded"] / 4, video
    code, errors = await verdict(room, "subscriber.video.endToEndLatency < 2000 within 30s")
    assert code == 0, errors


async def test_pipeline_page_is_muted(room):
    page = await page_with(room)
    await page.until("(await report()).publishing", 30)
    await page.js("mute(true)")
    await fails(room, "'Page' has muted the microphone")


async def test_pipeline_page_never_publishes(room):
    await page_with(room, publish=0)
    await fails(room, "no stream is received (the other one in the session publishes nothing)")


async def test_pipeline_picture_is_frozen(room):
    page = await page_with(room)
    await page.until("(await report()).publishing", 30)

    # drawn on, but always the same
    await page.js("""(() => {
      const proto = CanvasRenderingContext2D.prototype, fill = proto.fillRect;
      for (const name of ['fillText', 'arc', 'fill']) proto[name] = () => {};
      proto.fillRect = function () { this.fillStyle = '#0a0'; fill.call(this, 0, 0, 640, 480); };
    })(), 1""")
    await fails(room, "the picture of 'Page' has not changed for")


async def test_pipeline_picture_stops(room):
    page = await page_with(room)
    await page.until("(await report()).publishing", 30)
    await page.js("(() => { for (const name of ['fillRect', 'fillText', 'arc', 'fill']) CanvasRenderingContext2D.prototype[name] = () => {}; })(), 1")
    await fails(room, "no new picture comes from 'Page'", "subscriber.video.framesPerSecond >= 15 for 8s within 20s")


async def test_pipeline_wrong_room(room):
    await page_with(room)
    await fails(room, "no stream is received (nobody else is in the session)", name="another")


async def test_pipeline_expired_token(room):
    known = await room.server.credentials(room.name, lifetime=-60)
    await fails(
        room, "token expired", status=77, server="",
        arguments=["--api-key", known["apiKey"], "--session-id", known["sessionId"], "--token", known["token"],
                   "--api-url", room.server.url])


async def with_server_of_its_own(room, end, cause, *expectations, **options):
    """A server of its own is ended after 4 s; the others keep theirs."""
    room.allow("WebSocket|Failed to load|ERR_|OpenTok|net::")
    with tempfile.TemporaryDirectory() as state:
        server = await SessionServer().start(state)

        async def later():
            await asyncio.sleep(4)
            end(server.process)
        try:
            await page_with(room, api=server.url)
            await fails(room, cause, *expectations, server=server.url, during=later, **options)
        finally:
            await server.stop()


async def test_pipeline_server_is_ended(room):
    await with_server_of_its_own(
        room, lambda process: process.terminate(), "the call is over: its server was ended",
        "subscriber.video.framesPerSecond >= 15 for 30s within 35s", status=69)


async def test_pipeline_server_is_killed(room):
    """Media goes on without it, for a while."""
    await with_server_of_its_own(
        room, lambda process: process.kill(), "it is 1 (the connection to the server is lost)",
        "events.sessionReconnecting.count == 0 for 12s within 12s")


async def test_pipeline_picture_is_black(room):
    page = await page_with(room)
    await page.until("(await report()).publishing", 30)
    await page.js("""(() => {
      const proto = CanvasRenderingContext2D.prototype, fill = proto.fillRect;
      for (const name of ['fillText', 'arc', 'fill']) proto[name] = () => {};
      proto.fillRect = function () { this.fillStyle = '#000'; fill.call(this, 0, 0, 640, 480); };
    })(), 1""")
    await fails(room, "the picture of 'Page' is black")


async def test_pipeline_sound_is_silent(room):
    page = await room.join(source="pattern", tone=500, name="Page", join=0)
    await page.js("window.GainNode = class extends GainNode { constructor(context) { super(context, { gain: 0 }); } }, 1")
    await page.js("join(), 1")
    await page.until("(await report()).publishing", 30)
    await fails(room, "the sound of 'Page' is silent")


async def test_pipeline_latency_is_too_high(room):
    page = await page_with(room)
    # the camera is 900 ms late
    await page.js("(() => { const now = performance.now.bind(performance); performance.now = () => now() - 900; })(), 1")
    await fails(room, "endToEndLatency", "subscriber.video.endToEndLatency <= 600 for 2s within 15s")


async def test_pipeline_wrong_tone(room):
    await page_with(room, tone=700)
    code, errors = await verdict(room, "subscriber.audio.toneHz < 510 within 12s")
    assert code == 1 and re.search(r"toneHz.*it is (699|700|701)", errors), errors
