"""test.html as a person uses it: buttons, keys, words."""
import asyncio, json, re, urllib.request

from servers import LIBRARY, LIMIT, PAGE


async def test_page_buttons_and_keys(room):
    page = await room.join(name="Anna")
    await page.until("(await report()).publishing")
    pressed = "['mic', 'camera', 'sound'].map((id) => document.getElementById(id).getAttribute('aria-pressed'))"
    assert await page.js(pressed) == ["false"] * 3
    for key in "mvs":
        await page.press(key)
    await page.until(f"{pressed}.every((value) => value === 'true')")
    assert (await page.js("report()"))["muted"] is True
    await page.js("document.getElementById('mic').click()")
    await page.until("(await report()).muted === false && publisher.stream.hasAudio && !publisher.stream.hasVideo")

    await page.js("toggleChat(false)")
    await page.press("t")
    await page.until("document.activeElement.id === 'message'")
    await page.press("m")  # a letter of the message now, not a command
    await page.js("document.querySelector('#chat form').requestSubmit()")
    await page.until("(await report()).signals.some(({data, fromSelf}) => data === 'm' && fromSelf)")
    assert (await page.js("report()"))["muted"] is False
    said = await page.js("document.querySelector('#log .said').textContent")
    assert re.fullmatch(r"You \d\d?:\d\d(\s[AP]M)?m", said), said
    assert await page.js("Math.abs(Date.now() - new Date(document.querySelector('#log .said time').dateTime)) < 600000")
    await page.js("document.getElementById('leave').click()")
    await page.until("document.getElementById('state').textContent === 'Not connected' && !document.getElementById('join').hidden")


async def test_page_names_everything(room):
    """Each control has a name for those who do not see it, and can be reached by keyboard."""
    page = await room.join(join=0)
    nameless = await page.js("""[...document.querySelectorAll('button, input')].filter((each) =>
      !(each.getAttribute('aria-label') || each.textContent.trim() || each.labels?.length || each.id === 'remedy') || each.tabIndex < 0).map((each) => each.id)""")
    assert nameless == [], nameless
    assert (await page.js("report()"))["connected"] is False
    await page.js("document.getElementById('join').click()")
    await page.until("(await report()).publishing")


async def test_page_says_what_is_wrong(room):
    room.allow("OpenTok: OT_|404|500|Failed to load")
    words = "document.querySelector('#alert:not([hidden]) p')?.textContent"
    page = await room.join(room="", sessionCredentialsUrl=f"{room.files.url}/nothing")
    assert "nothing (404)" in await page.until(words)
    room.files.pages["/html"] = "<h1>Welcome</h1>"
    page = await room.join(room="", sessionCredentialsUrl=f"{room.files.url}/html")
    assert "is not JSON" in await page.until(words)
    room.files.pages["/short"] = '{"apiKey": 1, "sessionId": "x"}'
    page = await room.join(room="", sessionCredentialsUrl=f"{room.files.url}/short")
    assert "has no token" in await page.until(words)
    known = await room.server.credentials(room.name)
    page = await room.join(room="", **known | {"token": "expired"})
    assert "did not accept the pass" in await page.until(words)
    errors = (await page.js("report()"))["errors"]
    assert [each["code"] for each in errors] == [1004], errors
    page = await room.join(sdk=f"{room.files.url}/gone.js")
    assert "does not load" in await page.until(words)


async def test_page_without_camera(room):
    """A denied camera is said in plain words, and a test picture helps out."""
    room.allow("OpenTok: OT_USER_MEDIA_ACCESS_DENIED")
    page = await room.join(source="camera", join=0)
    await page.js("navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', 'NotAllowedError')), 1")
    await page.js("join()")
    await page.until("document.querySelector('#alert p').textContent.startsWith('The browser may not use your camera')")
    await page.js("document.getElementById('remedy').click()")
    await page.until("(await report()).publishing && document.getElementById('alert').hidden")


async def test_page_recording(room):
    """The buttons ask the server as the sample servers' routes have it; a server that cannot says 501."""
    room.allow("501|Not Implemented")
    page = await room.join()
    await page.until("(await report()).publishing")
    # Of a server that does not record the page knows it.
    await page.js("credentials.archives = false, refresh(), 1")
    assert await page.js("[document.getElementById('record').disabled, document.getElementById('record').title]") == [
        True, "This server does not record"]
    await page.js("delete credentials.archives, refresh(), 1")
    await page.js("""(() => {
      const real = window.fetch;
      window.asked = [];
      window.answer = new Response('{}', {status: 501});
      window.fetch = (url, options) => (/\\/(start|stop)\\//.test(url) ? (asked.push([options.method, new URL(url).pathname]), Promise.resolve(answer)) : real(url, options));
    })()""")
    await page.js("document.getElementById('record').click()")
    await page.until("document.querySelector('#alert:not([hidden]) p')?.textContent === 'This server cannot record.'")
    await page.js("""answer = new Response(JSON.stringify({id: 'A1', name: 'n', status: 'started'})), 1""")
    await page.js("document.getElementById('record').click()")
    await page.until("!document.getElementById('recording').hidden && (await report()).archives.length === 1")
    await page.js("""answer = new Response(JSON.stringify({id: 'A1', name: 'n', status: 'stopped'})), 1""")
    await page.js("document.getElementById('record').click()")
    await page.until("document.getElementById('recording').hidden && !document.getElementById('view').hidden")
    session = (await page.js("report()"))["sessionId"]
    assert await page.js("asked") == [["POST", f"/start/{session}"], ["POST", f"/start/{session}"], ["POST", "/stop/A1"]]


async def test_page_with_credentials_of_its_own(room):
    """apiKey, sessionId and token in the query, from an app server that is not the session server."""
    known = await room.server.credentials(room.name, "moderator")
    a = await room.join(room="", sessionCredentialsUrl="", name="Anna", **known)
    room.files.pages["/app/session"] = json.dumps(known | {"token": (await room.server.credentials(room.name))["token"], "extra": 1})
    b = await room.join(room="", sessionCredentialsUrl=f"{room.files.url}/app/session", name="Berta")
    for page in (a, b):
        await page.until("(await report()).subscribers[0]?.framesDecoded > 5")


async def test_page_is_served(room):
    """`otchat serve` has the page and the library in it, and they need nothing else."""
    for path, file in (("/", PAGE), ("/test.html", PAGE), ("/v2/js/opentok.js", LIBRARY), ("/v2/js/opentok.min.js", LIBRARY)):
        with await asyncio.to_thread(urllib.request.urlopen, room.server.url + path, None, LIMIT) as answer:
            assert answer.read() == file.read_bytes(), path
    a = await room.open(f"{room.server.url}/?room=served&source=canvas&name=Anna")
    b = await room.open(f"{room.server.url}/test.html?room=served&source=pattern&name=Berta", "firefox")
    for page in (a, b):
        await page.until("(await report()).subscribers[0]?.framesDecoded > 5")


async def test_page_asks_for_a_click_before_sound(room):
    """Where the browser keeps sound back, the picture comes without it, and a button brings it."""
    a = await room.join(name="Anna")
    await a.until("(await report()).publishing")
    b = await room.join(publish=0, join=0)
    await b.js("""(() => {
      const play = HTMLMediaElement.prototype.play;
      HTMLMediaElement.prototype.play = function () {
        const silent = this.muted || window.clicked;
        return silent ? play.call(this) : Promise.reject(new DOMException('a click first', 'NotAllowedError'));
      };
      join();
    })()""")
    await b.until("document.getElementById('remedy').textContent === 'Play sound' && (await report()).subscribers[0]?.framesDecoded > 5")
    video = "document.querySelector('.OT_subscriber video').muted"
    assert await b.js(video) is True
    await b.js("window.clicked = true, document.getElementById('remedy').click()")
    await b.until(f"!{video} && document.getElementById('alert').hidden")
