"""What goes wrong, by OpenTok's codes and names."""
import json

from servers import API_KEY, token
from test_api import page_of


async def test_errors_of_connecting(room):
    page = await page_of(room)
    room.allow("OpenTok: OT_")
    session = page.credentials["sessionId"]
    other = (await room.server.credentials(room.name + "-other"))["sessionId"]
    cases = {
        "forged": (session, token(session, secret="wrong"), 1004),
        "cut short": (session, token(session)[:-20], 1004),
        "no token at all": (session, "nonsense", 1004),
        "expired": (session, token(session, lifetime=-300), 1004),
        "of another session": (session, token(other), 1004),
        "no session": ("nonsense", token(session), 1005),
        "session of another project": ("1_MX45OTl-fjE3OTYwNDcyMjE3Nzd-QUFBQX5-", token(session), 1005),
    }
    names = {1004: "OT_AUTHENTICATION_ERROR", 1005: "OT_INVALID_SESSION_ID"}
    for case, (id, pass_, expected) in cases.items():
        seen = await page.js(f"code((handler) => OT.initSession('{API_KEY}', '{id}').connect({json.dumps(pass_)}, handler))")
        assert seen == [expected, names[expected]], (case, seen)
    seen = await page.js(f"code((handler) => OT.initSession('999', '{session}').connect(credentials.token, handler))")
    assert seen == [1004, "OT_AUTHENTICATION_ERROR"], seen
    assert await page.js("code((handler) => OT.initSession('1', 'x').connect(undefined, handler))") == [1004, "OT_AUTHENTICATION_ERROR"]
    assert await page.js("(() => { try { OT.initSession('1'); } catch ({code}) { return code; } })()") == 1011


async def test_errors_of_a_server_that_is_not_there(room):
    page = await page_of(room, api="http://127.0.0.1:9")
    room.allow("OpenTok: OT_CONNECT_FAILED|ERR_UNSAFE_PORT|ERR_CONNECTION_REFUSED")
    assert await page.js("code((handler) => OT.initSession('1', 'x').connect('t', handler))") == [1006, "OT_CONNECT_FAILED"]


async def test_errors_without_connection(room):
    page = await page_of(room)
    room.allow("OpenTok: OT_")
    seen = await page.js("""(async () => {
      const session = OT.initSession(credentials.apiKey, credentials.sessionId);
      const exceptions = [];
      OT.on('exception', ({code}) => exceptions.push(code));
      return [
        await code((handler) => session.publish(OT.initPublisher(null, media()), handler)),
        await code((handler) => session.subscribe({streamId: 'x'}, handler)),
        await code((handler) => session.subscribe(undefined, handler)),
        await code((handler) => session.forceDisconnect('x', handler)),
        await code((handler) => session.signal({data: 'x'}, handler)),
        await session.forceMuteAll().catch(({code}) => code),
        exceptions,
      ];
    })()""")
    assert seen == [
        [1010, "OT_NOT_CONNECTED"], [1010, "OT_NOT_CONNECTED"], [1011, "OT_INVALID_PARAMETER"],
        [1010, "OT_NOT_CONNECTED"], [500, "OT_NOT_CONNECTED"], 1010, [1010, 1010, 1011, 1010, 500]], seen


async def test_errors_of_signals(room):
    page = await page_of(room)
    room.allow("OpenTok: OT_")
    seen = await page.js("""(async () => {
      const session = await connected(credentials);
      const of = (signal) => code((handler) => session.signal(signal, handler));
      return Promise.all([
        of({data: 'x'.repeat(8191)}), of({type: 'x'.repeat(129)}), of({type: 'spa ce', data: 'x'}), of({to: {}, data: 'x'}),
        of({to: '00000000-0000-4000-8000-000000000000', data: 'x'}), of({data: 'x'.repeat(8190)}),
      ]);
    })()""")
    assert [each if each == "no error" else each[0] for each in seen] == [413, 413, 400, 400, 404, "no error"], seen


async def test_errors_by_role(room):
    """A subscriber may not publish; a publisher may not moderate. The server refuses too, not only the page."""
    page = await page_of(room)
    room.allow("OpenTok: OT_")
    watcher = await room.server.credentials(room.name, "subscriber")
    seen = await page.js(f"""(async () => {{
      const session = await connected({json.dumps(watcher)}), publisher = await connected(credentials);
      const local = [
        await code((handler) => session.publish(OT.initPublisher(null, media()), handler)),
        await code((handler) => publisher.forceDisconnect(session.connection, handler)),
        await code((handler) => publisher.forceUnpublish('x', handler)),
        await publisher.forceMuteAll().catch(({{code}}) => code)];
      Object.assign(session.capabilities, {{publish: 1}});
      Object.assign(publisher.capabilities, {{forceDisconnect: 1, forceMute: 1}});
      return [...local,
        await code((handler) => session.publish(OT.initPublisher(null, media()), handler)),
        await code((handler) => publisher.forceDisconnect(session.connection, handler)),
        await publisher.forceMuteAll().catch(({{code}}) => code)];
    }})()""")
    assert seen == [
        [1500, "OT_PERMISSION_DENIED"], [1520, "OT_PERMISSION_DENIED"], [1530, "OT_PERMISSION_DENIED"], 1540,
        [1500, "OT_STREAM_CREATE_FAILED"], [1520, "OT_UNABLE_TO_FORCE_DISCONNECT"], 1540], seen


async def test_errors_of_subscribing(room):
    """To a stream that is over."""
    page = await page_of(room)
    room.allow("OpenTok: OT_STREAM_NOT_FOUND")
    seen = await page.js("""(async () => {
      const one = await connected(credentials), other = await connected(credentials);
      const publisher = OT.initPublisher(null, media()), created = event(other, 'streamCreated');
      one.publish(publisher);
      const {stream} = await created, destroyed = event(other, 'streamDestroyed');
      one.unpublish(publisher);
      await destroyed;
      return [await code((handler) => other.subscribe(stream, handler)), document.querySelectorAll('.OT_subscriber').length];
    })()""")
    assert seen == [[1501, "OT_STREAM_NOT_FOUND"], 0], seen


async def test_errors_of_media(room):
    page = await page_of(room)
    room.allow("OpenTok: OT_")
    seen = await page.js("""(async () => {
      const ask = navigator.mediaDevices.getUserMedia, told = [];
      for (const name of ['NotAllowedError', 'NotFoundError', 'NotReadableError', 'OverconstrainedError']) {
        navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', name));
        let publisher;
        const denied = done((handler) => { publisher = OT.initPublisher(null, {videoSource: 'some camera'}, handler); }).catch((e) => [e.code, e.name]);
        publisher.on('accessDenied', () => told.push('accessDenied'));
        told.push(await denied, publisher.accessAllowed);
      }
      navigator.mediaDevices.getUserMedia = ask;
      told.push(await code((handler) => OT.initPublisher(null, {videoSource: null, audioSource: false}, handler)));
      return told;
    })()""")
    assert seen == [
        "accessDenied", [1500, "OT_USER_MEDIA_ACCESS_DENIED"], False, [1500, "OT_NO_DEVICES_FOUND"], False,
        [1500, "OT_HARDWARE_UNAVAILABLE"], False, [1500, "OT_CONSTRAINTS_NOT_SATISFIED"], False,
        [1011, "OT_INVALID_PARAMETER"]], seen
