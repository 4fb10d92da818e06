"""A socket that is lost: what happens meanwhile arrives, once and in order, and media goes on."""
import json

from servers import SessionServer
from test_api import page_of

PARTNER = "(await report()).subscribers[0]"


async def test_reconnect_loses_nothing(room):
    wire = await room.wire()
    a = await room.join(name="Anna")
    b = await room.join(name="Berta", api=wire.url)
    room.allow("WebSocket connection to")
    for page in (a, b):
        await page.until(f"{PARTNER}?.framesDecoded > 10")
    for refused in (False, True):
        start = (await b.js("report()"))["events"].count("sessionReconnected")
        frames = (await b.js(PARTNER))["framesDecoded"]
        wire.cut(refuse=refused)
        if refused:
            await b.until("(await report()).events.filter((name) => name === 'sessionReconnecting').length >= 2")
            assert await b.js("document.getElementById('state').dataset.state") == "reconnecting"
        for i in range(3):
            await a.js(f"say('from a {refused} {i}')")
            await b.js(f"say('from b {refused} {i}')")
        await b.js("mute(true)")
        if refused:
            await b.until(f"{PARTNER}.framesDecoded > {frames} + 10")  # media does not need the socket
            wire.mend()
        await b.until(f"(await report()).events.filter((name) => name === 'sessionReconnected').length > {start}")
        await a.until(f"{PARTNER}.hasAudio === false")
        await b.js("mute(false)")
        await a.until(f"{PARTNER}.hasAudio === true")
    expected = {who: [f"from {who} {refused} {i}" for refused in (False, True) for i in range(3)] for who in "ab"}
    for page in (a, b):
        await page.until("(await report()).signals.length >= 12")
        said = [each["data"] for each in (await page.js("report()"))["signals"]]
        assert len(said) == 12, said
        for who in "ab":
            assert [text for text in said if text.startswith(f"from {who}")] == expected[who], said
    events = (await a.js("report()"))["events"]
    assert "streamDestroyed" not in events and "connectionDestroyed" not in events, events
    frames = (await b.js(PARTNER))["framesDecoded"]
    await b.until(f"{PARTNER}.framesDecoded > {frames} + 10")


async def test_reconnect_refused(room):
    """A server that does not know the socket any more: the session ends, and says why."""
    wire = await room.wire()
    room.allow("WebSocket connection to")
    page = await page_of(room, api=wire.url)
    await page.js("""connected(credentials).then((session) => {
      note(session, 'sessionReconnecting sessionReconnected sessionDisconnected');
      note(session.publish(OT.initPublisher(null, media())), 'streamDestroyed destroyed');
      session.publish;
    })""")
    await page.until("document.querySelector('.OT_publisher:not(.OT_loading)') !== null")
    other = await SessionServer(room.server.command).start(room.state)
    try:
        wire.target = other.port
        wire.cut()
        await page.until("log.includes('sessionDisconnected:networkDisconnected')")
        assert "sessionReconnected" not in await page.js("log")
        await page.until("document.querySelector('.OT_publisher') === null")
    finally:
        await other.stop()


async def test_reconnect_when_it_is_silent(room):
    """A wire that passes nothing, without a word: found out by pings, and resumed."""
    wire = await room.wire()
    room.allow("WebSocket connection to")
    page = await page_of(room, api=wire.url)
    await page.js("connected(credentials).then((session) => { window.session = session; note(session, 'sessionReconnecting sessionReconnected'); session.on('signal', ({data}) => log.push(data)); })")
    wire.stall()
    await page.js("session.signal({data: 'kept'}), 1")
    await page.until("log.includes('sessionReconnected') && log.includes('kept')")
    assert json.dumps(await page.js("log")) == '["sessionReconnecting", "sessionReconnected", "kept"]', await page.js("log")
