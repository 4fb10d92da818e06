"""The API as pages for OpenTok.js use it, on a page that has nothing but the library."""
import json
import pathlib
import re

# A page's own few lines: promises of events and of completion handlers, media without devices.
HELPERS = """<script>
const event = (target, name) => new Promise((resolve) => target.once(name, resolve));
const done = (run) => new Promise((resolve, reject) => run((error, value) => (error ? reject(error) : resolve(value))));
const code = (run) => done(run).then(() => 'no error', ({code, name}) => [code, name]);
const streamOf = (session, name) => session.streams.find({name}) || new Promise((resolve) => session.on('streamCreated', ({stream}) => stream.name === name && resolve(stream)));
const log = [];
const note = (target, names) => target.on(Object.fromEntries(names.split(' ').map((name) => [name, (e) => log.push(name + (e.reason ? ':' + e.reason : ''))])));
function media(hertz = 660) {
  const canvas = Object.assign(document.createElement('canvas'), {width: 320, height: 240});
  const paint = canvas.getContext('2d');
  setInterval(() => { paint.fillStyle = `hsl(${Date.now() / 10 % 360} 50% 50%)`; paint.fillRect(0, 0, 320, 240); }, 33);
  return {videoSource: canvas.captureStream(30).getVideoTracks()[0], audioSource: tone(hertz)};
}
function tone(hertz) {
  const audio = new AudioContext();
  const oscillator = new OscillatorNode(audio, {frequency: hertz});
  const output = audio.createMediaStreamDestination();
  oscillator.connect(output);
  oscillator.start();
  return output.stream.getAudioTracks()[0];
}
async function connected({apiKey, sessionId, token}) {
  const session = OT.initSession(apiKey, sessionId);
  await done((handler) => session.connect(token, handler));
  return session;
}
</script>"""


async def page_of(room, browser="chromium", body="", **options):
    page = await room.blank(browser, body=body + HELPERS, **options)
    page.credentials = await room.server.credentials(room.name)
    await page.js(f"window.credentials = {json.dumps(page.credentials)}, 1")
    return page


def declared():
    """What opentok.d.ts says that there is, by class; OT's own under "OT"."""
    text = (pathlib.Path(__file__).parents[2] / "Sources/Browser/opentok.d.ts").read_text()
    found = {"OT": set(re.findall(r"^  (?:function|const) (\w+)", text, re.M))}
    for name, body in re.findall(r"^  class (\w+).*?\{\n(.*?)^  \}", text, re.M | re.S):
        found[name] = set(re.findall(r"^    (?:readonly )?(\w+)\??[<(:]", body, re.M))
    return found


async def test_declarations(room):
    """opentok.d.ts declares what there is, and nothing else."""
    page = await page_of(room)
    there = await page.js("""(async () => {
      const session = await connected(credentials);
      const publisher = OT.initPublisher(null, media());
      await done((handler) => session.publish(publisher, handler));
      const subscriber = session.subscribe(publisher.stream, null);
      const names = (...objects) => objects.flatMap(Object.getOwnPropertyNames).filter((name) => name !== 'constructor' && name[0] !== '_');
      const both = (object) => names(object, Object.getPrototypeOf(object));
      const emitter = names(Object.getPrototypeOf(Object.getPrototypeOf(session)));
      return {OT: [...names(OT), ...emitter], Session: both(session), Publisher: both(publisher), Subscriber: both(subscriber), EventEmitter: emitter};
    })()""")
    said = declared()
    assert set(said) == set(there)
    for name, members in said.items():
        missing, invented = set(there[name]) - members, members - set(there[name])
        assert not missing and not invented, f"{name}: not declared: {sorted(missing)}; not there: {sorted(invented)}"


async def test_events(room):
    """on, once and off in all their forms; what a handler throws stops nobody else."""
    page = await page_of(room)
    room.allow("thrown by a handler")
    told = await page.js("""(async () => {
      const session = OT.initSession('1', 'x'), told = [], me = {name: 'me'};
      const tell = (name) => function () { told.push(this === me ? name + '@me' : name); };
      const removed = tell('removed');
      session.on('a b', tell('both'));
      session.on({a: tell('hash')}, me);
      session.on('a', tell('context'), me);
      session.once('a', tell('once'));
      session.on('a', () => { throw new Error('thrown by a handler'); });
      session.on('a', tell('after'));
      session.on('a', removed).off('a', removed);
      session.on('c', tell('never')).off('c');
      session.on('d', tell('never'), me).off('d', null, me);
      session.on({e: tell('never')}).off({e: undefined});
      for (const name of ['a', 'b', 'a', 'c', 'd', 'e']) session._emit(name);
      told.push('sync');
      await new Promise((resolve) => setTimeout(resolve));
      session.off();
      session._emit('a');
      await new Promise((resolve) => setTimeout(resolve));
      return told;
    })()""")
    first = ["both", "hash@me", "context@me", "once", "after"]
    assert told == ["sync", *first, "both", *[name for name in first if name != "once"]], told


async def test_requirements_and_devices(room):
    page = await page_of(room)
    assert await page.js("OT.checkSystemRequirements()") == 1
    kinds = await page.js("done(OT.getDevices).then((list) => [...new Set(list.map(({kind}) => kind))].sort())")
    assert kinds == ["audioInput", "videoInput"], kinds
    assert await page.js("OT.getUserMedia({videoSource: null}).then((stream) => stream.getTracks().map(({kind}) => kind))") == ["audio"]
    assert "VP8" in (await page.js("OT.getSupportedCodecs()"))["videoEncoders"]
    sharing = await page.js("new Promise((resolve) => OT.checkScreenSharingCapability(resolve))")
    assert sharing["supported"] is True, sharing


async def test_order_of_events(room):
    """Joining tells first of oneself, then of who and what is there; leaving tells why."""
    a, b = await page_of(room), await page_of(room)
    await a.js("connected(credentials).then(async (session) => { window.session = session; note(session, 'connectionCreated connectionDestroyed streamCreated streamDestroyed'); window.publisher = OT.initPublisher(null, media()); note(publisher, 'accessAllowed streamCreated streamDestroyed destroyed'); await done((handler) => session.publish(publisher, handler)); })")
    names = "sessionConnected connectionCreated streamCreated streamDestroyed connectionDestroyed sessionDisconnected"
    await b.js(f"""(async () => {{
      window.session = OT.initSession(credentials.apiKey, credentials.sessionId);
      note(session, '{names}');
      await done((handler) => session.connect(credentials.token, handler));
    }})()""")
    await b.until("log.length === 4")
    assert await b.js("log") == ["sessionConnected", "connectionCreated", "connectionCreated", "streamCreated"]
    stream = await b.js("(({streamId, name, hasAudio, hasVideo, videoType, videoDimensions, connection}) => ({streamId, name, hasAudio, hasVideo, videoType, videoDimensions, data: connection.data}))(session.streams.where()[0])")
    assert stream == {"streamId": await a.js("publisher.stream.streamId"), "name": "", "hasAudio": True, "hasVideo": True, "videoType": "custom", "videoDimensions": {"width": 320, "height": 240}, "data": "publisher"}, stream
    assert await b.js("[session.connections.length(), session.streams.length(), session.isConnected(), session.capabilities.publish, session.capabilities.forceMute]") == [2, 1, True, 1, 0]

    await a.until("log.includes('connectionCreated')")
    await a.js("session.unpublish(publisher), 1")
    await b.until("log.includes('streamDestroyed:clientDisconnected')")
    await a.until("log.includes('destroyed:clientDisconnected')")
    await b.js("session.disconnect(), log.push('sync'), 1")
    await a.until("log.includes('connectionDestroyed:clientDisconnected')")
    assert (await b.js("log"))[-2:] == ["sync", "sessionDisconnected:clientDisconnected"]
    assert await a.js("log") == [
        "accessAllowed", "streamCreated", "connectionCreated", "streamDestroyed:clientDisconnected",
        "destroyed:clientDisconnected", "connectionDestroyed:clientDisconnected"], await a.js("log")


async def test_hello_world(room):
    """A page in the manner of the OpenTok samples, unchanged: element ids, options, handlers."""
    sample = """
      <div id="videos"><div id="subscriber"></div><div id="publisher"></div></div>
      <script>
        function handleError(error) { if (error) window.problem = error.message; }
        function start(apiKey, sessionId, token) {
          const session = window.session = OT.initSession(apiKey, sessionId);
          session.on({
            streamCreated: function (event) {
              window.subscriber = session.subscribe(event.stream, 'subscriber', {
                insertMode: 'append', width: '100%', height: '100%' }, handleError);
            },
            sessionDisconnected: function (event) { window.gone = event.reason; },
          });
          const publisher = window.publisher = OT.initPublisher('publisher', {
            insertMode: 'append', width: '100%', height: '100%', name: 'sample', resolution: '320x240' }, handleError);
          session.connect(token, function (error) {
            if (error) handleError(error);
            else session.publish(publisher, handleError);
          });
        }
      </script>"""
    a, b = await page_of(room, body=sample), await page_of(room, "firefox", body=sample)
    for page in (a, b):
        await page.js("start(credentials.apiKey, credentials.sessionId, credentials.token)")
    for page in (a, b):
        await page.until("document.querySelector('#subscriber > .OT_subscriber:not(.OT_loading) video.OT_video-element')?.videoWidth > 0")
        assert await page.js("window.problem") is None
        assert await page.js("document.querySelector('#publisher > .OT_publisher:not(.OT_loading)') !== null")
    await a.js("session.disconnect(), 1")
    await a.until("window.gone === 'clientDisconnected'")
    await b.until("document.querySelector('.OT_subscriber') === null")


async def test_publish_again(room):
    """A publisher whose streamDestroyed is prevented lives on and is published again."""
    a, b = await page_of(room), await page_of(room)
    room.allow("OpenTok: OT_STREAM_(NOT_FOUND|DESTROYED)")  # the first one may be over before it is subscribed to
    await b.js("""connected(credentials).then((session) => {
      note(session, 'streamCreated streamDestroyed');
      session.on('streamCreated', ({stream}) => { window.subscriber = session.subscribe(stream); });
    })""")
    state = await a.js("""(async () => {
      const session = await connected(credentials), publisher = OT.initPublisher(null, media());
      publisher.on('streamDestroyed', (e) => e.preventDefault());
      await done((handler) => session.publish(publisher, handler));
      session.unpublish(publisher);
      await done((handler) => session.publish(publisher, handler));
      return [publisher.stream !== undefined, document.querySelectorAll('.OT_publisher').length];
    })()""")
    assert state == [True, 1]
    await b.until("log.length === 3 && subscriber.videoWidth() === 320")
    assert await b.js("log") == ["streamCreated", "streamDestroyed:clientDisconnected", "streamCreated"]
    assert await b.js("document.querySelectorAll('.OT_subscriber').length") == 1


async def test_subscribe_again(room):
    a, b = await page_of(room), await page_of(room)
    await a.js("connected(credentials).then((session) => done((handler) => session.publish(window.publisher = OT.initPublisher(null, media()), handler))).then(() => 1)")
    told = await b.js("""(async () => {
      const session = await connected(credentials);
      const stream = session.streams.where()[0] || (await event(session, 'streamCreated')).stream;
      const widths = [];
      for (const round of [1, 2]) {
        const subscriber = await done((handler) => session.subscribe(stream, null, {}, handler));
        widths.push(subscriber.videoWidth(), session.getSubscribersForStream(stream).length);
        note(subscriber, 'destroyed');
        session.unsubscribe(subscriber);
      }
      await new Promise((resolve) => setTimeout(resolve));
      return [...widths, document.querySelectorAll('.OT_subscriber').length, ...log];
    })()""")
    assert told == [320, 1, 320, 1, 0, "destroyed:clientDisconnected", "destroyed:clientDisconnected"], told
    await a.until("publisher.getRtcStatsReport().then((reports) => reports.length === 0)")  # both peers are closed


async def test_own_stream(room):
    """One's own stream is shown without the server, and with testNetwork goes over the network."""
    page = await page_of(room)
    told = await page.js("""(async () => {
      const session = await connected(credentials), publisher = OT.initPublisher(null, media());
      await done((handler) => session.publish(publisher, handler));
      const local = await done((handler) => session.subscribe(publisher.stream, handler));
      const through = await done((handler) => session.subscribe(publisher.stream, null, {testNetwork: true}, handler));
      const stats = await done((handler) => through.getStats(handler));
      const state = [local.videoWidth(), through.videoWidth(), stats.video.bytesReceived > 0];
      session.unsubscribe(local);
      return [...state, publisher._stream.getTracks().every((track) => track.enabled && track.readyState === 'live')];
    })()""")
    assert told == [320, 320, True, True], told


async def test_signals(room):
    """To all, to one, with and without type and data; who gets what, from whom, in which order."""
    pages = [await page_of(room) for _ in range(3)]
    for page in pages:
        await page.js("""connected(credentials).then((session) => {
          window.session = session;
          session.on('signal', ({type, data, from}) => log.push([type, data ?? null, from.connectionId === session.connection.connectionId]));
          session.on('signal:news', ({data}) => log.push(['by type', data]));
        })""")
    a, b, c = pages
    await a.until("session.connections.length() === 3")
    target = await b.js("session.connection.connectionId")
    await a.js(f"""(async () => {{
      const send = (signal) => done((handler) => session.signal(signal, handler));
      await send({{type: 'news', data: 'ä€👋'}});
      await send({{data: 'untyped'}});
      await send({{type: 'bare'}});
      await send({{type: 'to-one', data: 'b', to: session.connections.get('{target}')}});
      await send({{type: 'end', data: 'x'.repeat(8190)}});
    }})()""")
    everybody = [["signal:news", "ä€👋"], ["by type", "ä€👋"], ["signal", "untyped"], ["signal:bare", None], ["signal:end", "x" * 8190]]
    for page in pages:
        await page.until("log.some(([type]) => type === 'signal:end')")
        got = await page.js("log")
        assert all(own == (page is a) for _, _, *rest in got for own in rest), got
        expected = list(everybody)
        if page is b:
            expected.insert(4, ["signal:to-one", "b"])
        assert [entry[:2] for entry in got] == expected, got


async def test_stats_levels_and_sources(room):
    """getStats of both sides, audioLevelUpdated, volume, images, another microphone without a new stream."""
    a, b = await page_of(room), await page_of(room)
    await a.js("connected(credentials).then((session) => done((handler) => session.publish(window.publisher = OT.initPublisher(null, media()), handler))).then(() => 1)")
    await b.js("""(async () => {
      const session = window.session = await connected(credentials);
      const stream = session.streams.where()[0] || (await event(session, 'streamCreated')).stream;
      window.subscriber = await done((handler) => session.subscribe(stream, null, {audioVolume: 40}, handler));
      window.level = 0;
      subscriber.on('audioLevelUpdated', ({audioLevel}) => { level = audioLevel; });
    })()""")
    await b.until("level > 0.5")
    assert await b.js("subscriber.setAudioVolume(75).getAudioVolume()") == 75
    await b.until("done((handler) => subscriber.getStats(handler)).then(({audio, video}) => audio.bytesReceived > 0 && audio.packetsLost < 0.05 * audio.packetsReceived && video.frameRate > 3 && video.width === 320)")
    sent = await a.js("done((handler) => publisher.getStats(handler))")
    assert len(sent) == 1 and sent[0]["connectionId"] == await b.js("session.connection.connectionId"), sent
    assert sent[0]["stats"]["audio"]["packetsSent"] > 0 and sent[0]["stats"]["video"]["bytesSent"] > 0, sent
    assert (await b.js("subscriber.getImgData().slice(0, 8)")) == "iVBORw0K"
    await a.js("publisher.setAudioSource(tone(0.01)).then(() => 1)")  # as good as silence
    await b.until("level < 0.05")
    assert await b.js("session.streams.length()") == 1
    await a.js("publisher.publishVideo(false), 1")
    await b.until("subscriber.stream.hasVideo === false && subscriber.element.classList.contains('OT_audio-only')")


async def test_ice_restart(room):
    """A connection that is repaired keeps its tracks and goes on."""
    for sender, receiver in (("chromium", "firefox"), ("firefox", "chromium")):
        a, b = await page_of(room, sender), await page_of(room, receiver)
        await a.js("connected(credentials).then((session) => done((handler) => session.publish(window.publisher = OT.initPublisher(null, media()), handler))).then(() => 1)")
        await b.js("""(async () => {
          const session = await connected(credentials);
          const stream = session.streams.find(({hasVideo}) => hasVideo) || (await event(session, 'streamCreated')).stream;
          window.subscriber = await done((handler) => session.subscribe(stream, handler));
        })()""")
        frames = "done((handler) => subscriber.getStats(handler)).then(({video}) => video.framesDecoded)"
        ufrag = "subscriber._peer.pc.remoteDescription.sdp.match(/a=ice-ufrag:(.*)/)[1]"
        await b.until(f"{frames}.then((count) => count > 10)")
        before = await b.js(ufrag)
        await a.js("[...publisher._peers.values()].forEach((peer) => peer.restart())")
        await b.until(f"{ufrag} !== '{before}' && subscriber._peer.pc.signalingState === 'stable'")
        count = await b.js(frames)
        await b.until(f"subscriber._peer.pc.connectionState === 'connected' && {frames}.then((count) => count > {count} + 30)")
        await a.close()
        await b.close()
        room.opened.remove(a), room.opened.remove(b)
        assert not [line for page in (a, b) for line in page.console if line[0] in ("exception", "error")]


async def test_stats_while_it_ends(room):
    """Figures asked for at the moment when the connection ends: an answer or an error, never silence."""
    for browser in ("chromium", "firefox"):
        a, b = await page_of(room), await page_of(room, browser)
        await a.js("connected(credentials).then((session) => done((handler) => session.publish(OT.initPublisher(null, media()), handler))).then(() => 1)")
        outcomes = await b.js("""(async () => {
          const session = await connected(credentials);
          const stream = session.streams.find(({hasVideo}) => hasVideo) || (await event(session, 'streamCreated')).stream;
          const subscriber = await done((handler) => session.subscribe(stream, handler));
          const asked = [];
          const ask = () => asked.push(subscriber.getRtcStatsReport().then(() => 'answer', ({code}) => code));
          for (let i = 0; i < 5; i++) ask();
          session.unsubscribe(subscriber);
          ask();
          return (await Promise.all(asked)).filter((outcome) => outcome !== 'answer' && outcome !== 1015);
        })()""")
        assert outcomes == [], outcomes


async def test_pictures_for_lack_of_bandwidth(room):
    """A publisher, here by hand, says that its picture goes and comes: the subscriber hears OpenTok's events."""
    a, b = await page_of(room), await page_of(room)
    await a.js("""connected(credentials).then(async (session) => {
      window.session = session;
      window.publisher = session.publish(OT.initPublisher(null, media()));
      await event(publisher, 'streamCreated');
    })""")
    await b.js("""(async () => {
      const session = await connected(credentials);
      const stream = session.streams.where()[0] || (await event(session, 'streamCreated')).stream;
      window.subscriber = await done((handler) => session.subscribe(stream, null, {}, handler));
      note(subscriber, 'videoDisableWarning videoDisableWarningLifted videoDisabled videoEnabled');
      note(session, 'streamPropertyChanged');
    })()""")
    await a.js("""(async () => {
      const [{subscriberId}] = publisher._peers.values();
      const [video] = [...publisher.stream._channels.values()].filter(({type}) => type === 'video');
      const path = `stream/${publisher.stream.id}/subscriber/${subscriberId}/channel/${video.id}`;
      for (const content of [{disableWarning: true}, {active: false}, {active: true}, {disableWarning: false}]) {
        await session._request('update', path, {...content, activeReason: 'quality'});
      }
    })()""")
    await b.until("log.includes('videoDisableWarningLifted')")
    assert await b.js("log") == ["videoDisableWarning", "videoDisabled:quality", "videoEnabled:quality", "videoDisableWarningLifted"]
    assert await b.js("subscriber.stream.hasVideo")


async def test_what_a_subscriber_prefers(room):
    """A smaller picture, fewer pictures: sent so to who asked, and to nobody else; and all of it again."""
    for browser in ("chromium", "firefox"):
        a, b, c = await page_of(room, browser), await page_of(room), await page_of(room)
        await a.js("connected(credentials).then((session) => done((handler) => session.publish(window.publisher = OT.initPublisher(null, {name: '%s', ...media()}), handler))).then(() => 1)" % browser)
        for page, options in ((b, "{}"), (c, "{preferredResolution: {width: 160, height: 120}}")):
            await page.js(f"""(async () => {{
              window.session = await connected(credentials);
              const stream = await streamOf(session, '{browser}');
              window.subscriber = await done((handler) => session.subscribe(stream, null, {options}, handler));
              window.count = () => done((handler) => subscriber.getStats(handler)).then(({{video}}) => video.framesDecoded);
            }})()""")
        await b.until("subscriber.videoWidth() === 320")
        await c.until("subscriber.videoWidth() === 160 && subscriber.videoHeight() === 120")
        await b.js("subscriber.setPreferredResolution({width: 80, height: 60}), 1")
        await b.until("subscriber.videoWidth() === 80")
        await c.js("subscriber.setPreferredResolution('auto'), 1")
        await c.until("subscriber.videoWidth() === 320")
        assert await b.js("subscriber.videoWidth()") == 80

        async def pace(slow, fast):
            """How many pictures one gets while the other gets 60."""
            first, other = await slow.js("count()"), await fast.js("count()")
            await fast.until(f"count().then((now) => now >= {other} + 60)")
            return await slow.js("count()") - first

        async def sent_at(rate):
            """Until the publisher's browser has taken it over."""
            await a.until("[...publisher._peers.values()].map(({pc}) => pc.getSenders().find(({track}) => track.kind === 'video')"
                          f".getParameters().encodings[0].maxFramerate ?? null).includes({rate})")

        await b.js("subscriber.restrictFrameRate(true), 1")
        await sent_at(1)
        await pace(b, c)  # what is on its way arrives
        assert await pace(b, c) < 20, browser
        await b.js("(subscriber.restrictFrameRate(false), subscriber.setPreferredFrameRate(6), 1)")
        await sent_at(6)
        await pace(b, c)
        assert await pace(b, c) < 40, browser
        await b.js("subscriber.setPreferredFrameRate('auto'), 1")
        await a.until("[...publisher._peers.values()].every(({pc}) => !pc.getSenders().find(({track}) => track.kind === 'video').getParameters().encodings[0].maxFramerate)")
        before = await b.js("count()")
        await b.until(f"count().then((now) => now >= {before} + 30)")
        for page in (a, b, c):
            await page.close()
            room.opened.remove(page)


async def test_filters_and_media_processors(room):
    """What stands between a source and what is sent: seen by the other one, kept when the source changes, gone without a trace."""
    for browser in ("chromium", "firefox"):
        a, b = await page_of(room, browser), await page_of(room)
        await a.js("""(async () => {
          window.plain = (color) => {
            const canvas = Object.assign(document.createElement('canvas'), {width: 160, height: 120}), paint = canvas.getContext('2d');
            setInterval(() => { paint.fillStyle = color; paint.fillRect(0, 0, 160, 120); }, 33);
            return canvas.captureStream(30).getVideoTracks()[0];
          };
          window.white = plain('white');
          window.publisher = OT.initPublisher(null, {name: '%s', videoSource: white, audioSource: tone(440)});
          const session = await connected(credentials);
          await done((handler) => session.publish(publisher, handler));
        })()""" % browser)
        await b.js("""(async () => {
          const session = await connected(credentials);
          const stream = await streamOf(session, '%s');
          window.subscriber = await done((handler) => session.subscribe(stream, handler));
          const paint = Object.assign(document.createElement('canvas'), {width: 8, height: 8}).getContext('2d', {willReadFrequently: true});
          window.color = () => {
            paint.drawImage(subscriber.element.querySelector('video'), 0, 0, 8, 8);
            return [...paint.getImageData(4, 4, 1, 1).data].slice(0, 3).map((value) => Math.round(value / 255)).join('');
          };
          subscriber.on('audioLevelUpdated', ({audioLevel}) => { window.level = audioLevel; });
        })()""" % browser)
        await b.until("color() === '111'")
        await a.js("publisher.applyVideoFilter({type: 'invert'}).then(() => 1)")
        await b.until("color() === '000'")
        assert await a.js("publisher.getVideoFilter()") == {"type": "invert"}
        assert await a.js("publisher.getVideoSource().track === white")
        # Another source is filtered, too; the last one is the page's and goes on.
        await a.js("publisher.setVideoSource(window.green = plain('#0f0')).then(() => 1)")
        await b.until("color() === '101'")
        assert await a.js("white.readyState") == "live"
        refused = await a.js("publisher.applyVideoFilter({type: 'backgroundBlur'}).catch(({code, name}) => [code, name])")
        assert refused == [1011, "OT_NOT_SUPPORTED"], refused
        await a.js("publisher.clearVideoFilter().then(() => 1)")
        await b.until("color() === '010'")
        assert await a.js("[publisher.getVideoFilter(), publisher._stream.getVideoTracks().length, publisher._stream.getVideoTracks()[0] === green]") == [None, 1, True]
        # A connector of the page's own, as media processor libraries have them, for both kinds.
        told = await a.js("""(async () => {
          window.told = [];
          const connector = (name, track) => ({
            async setTrack(given) { told.push(`${name} ${given.kind} ${given.readyState}`); return track(); }, async destroy() { told.push(name + ' ends'); }});
          publisher.publishVideo(false);
          await publisher.setVideoMediaProcessorConnector(connector('video', () => plain('#00f')));
          await publisher.setAudioMediaProcessorConnector(connector('audio', () => tone(0.01)));
          const muted = publisher._stream.getVideoTracks()[0].enabled;
          publisher.publishVideo(true);
          return [muted, ...told];
        })()""")
        assert told == [False, "video video live", "audio audio live"], told
        await b.until("color() === '001' && level < 0.05")
        await a.js("publisher.setAudioMediaProcessorConnector(null).then(() => publisher.setVideoMediaProcessorConnector(null)).then(() => 1)")
        await b.until("color() === '010' && level > 0.5")
        assert (await a.js("told"))[2:] == ["audio ends", "video ends"]
        await a.js("(publisher.setVideoContentHint('detail'), 1)")
        assert await a.js("[publisher.getVideoContentHint(), green.contentHint]") == ["detail", "detail"]
        wrong = await a.js("publisher.setVideoMediaProcessorConnector({async setTrack() {}}).catch(({code}) => code)")
        assert wrong == 1500
        await b.until("color() === '010'")
        for page in (a, b):
            await page.close()
            room.opened.remove(page)
