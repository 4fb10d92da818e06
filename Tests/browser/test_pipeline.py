"""A pipeline's question to a page, asked by `otchat connect --expect`: a good page passes, and each way in
which it can be broken is named."""
import asyncio, os, re, tempfile

from servers import LIMIT, SessionServer, otchat

WAITS = True  # most of the time: several run side by side

def expectations(seconds):
    return [f"{each} for 2s within {seconds}s" for each in (
        "subscriber.video.framesPerSecond >= 8", "subscriber.video.brightness > 0.1", "subscriber.video.stillDuration < 1",
        "subscriber.audio.audioLevel > -40")]


# What holds is waited for as long as it takes; what does not has to be waited for to the end.
GOOD, BAD = expectations(100), expectations(30)


async def verdict(room, *expectations, server=None, name=None, arguments=(), during=None):
    """Exit status and standard error of `otchat connect` with these expectations."""
    address = ["--server", server or room.server.url, "--room", name or room.name] if server != "" else []
    command = [otchat(), "connect", *address, "--no-publish", "--name", "CI", "--duration", "110", *arguments]
    for each in expectations or BAD:
        command += ["--expect", each]
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE, env=os.environ | {"XDG_CONFIG_HOME": str(room.state)}, start_new_session=True)
    try:
        if during:
            await during()
        _, errors = await asyncio.wait_for(process.communicate(), 2 * LIMIT)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, errors.decode()


async def page_with(room, **query):
    page = await room.join(**({"source": "pattern", "tone": 500, "name": "Page"} | query))
    await page.until("(await report()).connected")
    return page


async def fails(room, cause, *expectations, status=1, **options):
    code, errors = await verdict(room, *expectations, **options)
    assert code == status, (code, errors)
    assert cause in errors, errors


async def test_pipeline_passes(room):
    await page_with(room)
    code, errors = await verdict(room, *GOOD)
    assert code == 0 and errors.count("expect: ok") == len(GOOD), errors


async def test_pipeline_reads_the_pattern_of_a_page(room):
    """Latency, missing pictures and A/V offset of a browser's stream, as of an otchat's."""
    page = await room.join(source="pattern", name="Page")
    await page.until("(await report()).publishing")
    terminal = await room.participant("--no-publish")
    got = await terminal.stats(
        lambda s: abs(s["video"].get("avOffset", 1000)) < 250 and 0 < s["video"]["endToEndLatency"] < 2000
        and s["video"]["framesDecoded"] > 150, "A/V offset and latency of a page")
    video = got["video"]
    assert video["framesMissing"] < 3 * video["framesDecoded"] and video["framesUnreadable"] < video["framesDecoded"] / 4, video
    code, errors = await verdict(room, "subscriber.video.endToEndLatency < 2000 within 100s")
    assert code == 0, errors


# Far from both: with bits enough it is 45 dB and 0.98, of a picture that was damaged before it was sent 12 dB and 0.1.
NEAR = ("subscriber.video.psnr > 28", "subscriber.video.ssim > 0.9")


async def compares_the_picture_of_a_page(room, browser):
    """otchat draws the very picture that the page has drawn."""
    await page_with(room, browser=browser)
    code, errors = await verdict(room, *(f"{each} within 100s" for each in NEAR))
    assert code == 0 and errors.count("expect: ok") == 2, errors


async def test_pipeline_compares_the_picture_of_a_chromium(room):
    await compares_the_picture_of_a_page(room, "chromium")


async def test_pipeline_compares_the_picture_of_a_firefox(room):
    await compares_the_picture_of_a_page(room, "firefox")


async def test_pipeline_picture_is_damaged(room):
    page = await page_with(room)
    await page.until("(await report()).publishing")
    # all of the picture is lost but what moves; the strip is there, so it is known what should be
    await page.js("CanvasRenderingContext2D.prototype.drawImage = function () { this.clearRect(0, 0, 640, 480); }, 1")
    code, errors = await verdict(room, *(f"{each} for 3s within 30s" for each in NEAR))
    assert code == 1, errors
    for each in NEAR:
        assert re.search(rf"{each} .*it is \d", errors), errors


async def test_pipeline_picture_is_no_pattern(room):
    page = await page_with(room, source="canvas")
    await page.until("(await report()).publishing")
    await fails(room, "the picture of 'Page' is no test pattern", "subscriber.video.psnr > 28 within 30s")


async def test_pipeline_page_is_muted(room):
    page = await page_with(room)
    await page.until("(await report()).publishing")
    await page.js("mute(true)")
    await fails(room, "'Page' has muted the microphone")


async def test_pipeline_page_never_publishes(room):
    await page_with(room, publish=0)
    await fails(room, "no stream is received (the other one in the session publishes nothing)")


async def test_pipeline_picture_is_frozen(room):
    page = await page_with(room)
    await page.until("(await report()).publishing")

    # drawn on, but always the same
    await page.js("""(() => {
      const proto = CanvasRenderingContext2D.prototype, fill = proto.fillRect;
      proto.drawImage = () => {};
      proto.fillRect = function () { this.fillStyle = '#0a0'; fill.call(this, 0, 0, 640, 480); };
    })(), 1""")
    await fails(room, "the picture of 'Page' has not changed for")


async def test_pipeline_picture_stops(room):
    page = await page_with(room)
    await page.until("(await report()).publishing")
    await page.js("(() => { for (const name of ['fillRect', 'drawImage']) CanvasRenderingContext2D.prototype[name] = () => {}; })(), 1")
    await fails(room, "no new picture comes from 'Page'", "subscriber.video.framesPerSecond >= 15 for 8s within 40s")


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
    """A server of its own is ended when the two have been in a call for 2 s; the others keep theirs."""
    room.allow("WebSocket|Failed to load|ERR_|OpenTok|net::")
    with tempfile.TemporaryDirectory() as state:
        server = await SessionServer().start(state)

        async def later():
            await page.until("session.connections.length() === 2")
            await asyncio.sleep(2)
            end(server.process)
        try:
            page = await page_with(room, api=server.url)
            await fails(room, cause, *expectations, server=server.url, during=later, **options)
        finally:
            await server.stop()


async def test_pipeline_server_is_ended(room):
    await with_server_of_its_own(
        room, lambda process: process.terminate(), "the call is over: its server was ended",
        "subscriber.video.framesPerSecond >= 0 for 100s within 100s", status=69)


async def test_pipeline_server_is_killed(room):
    """Media goes on without it, for a while."""
    await with_server_of_its_own(
        room, lambda process: process.kill(), "it is 1 (the connection to the server is lost)",
        "events.sessionReconnecting.count == 0 for 40s within 40s")


async def test_pipeline_picture_is_black(room):
    page = await page_with(room)
    await page.until("(await report()).publishing")
    await page.js("""(() => {
      const proto = CanvasRenderingContext2D.prototype, fill = proto.fillRect;
      proto.drawImage = () => {};
      proto.fillRect = function () { this.fillStyle = '#000'; fill.call(this, 0, 0, 640, 480); };
    })(), 1""")
    await fails(room, "the picture of 'Page' is black")


async def test_pipeline_sound_is_silent(room):
    page = await room.join(source="pattern", tone=500, name="Page", join=0)
    await page.js("window.GainNode = class extends GainNode { constructor(context) { super(context, { gain: 0 }); } }, 1")
    await page.js("join(), 1")
    await page.until("(await report()).publishing")
    await fails(room, "the sound of 'Page' is silent")


async def test_pipeline_latency_is_too_high(room):
    page = await page_with(room)
    # the camera is 900 ms late
    await page.js("(() => { const now = performance.now.bind(performance); performance.now = () => now() - 900; })(), 1")
    await fails(room, "endToEndLatency", "subscriber.video.endToEndLatency <= 600 for 2s within 30s")


async def test_pipeline_wrong_tone(room):
    await page_with(room, tone=700)
    code, errors = await verdict(room, "subscriber.audio.toneHz < 510 within 30s")
    assert code == 1 and re.search(r"toneHz.*it is (69|70)\d", errors), errors
