"""Everybody at once, as a developer has it: an app server in Python with OpenTok's own SDK, a moderator's page, an otchat
that publishes and one that watches and moderates, too. Two sessions, archived both ways, moderated and signalled each way."""
import asyncio, json, pathlib, statistics, sys, time, urllib.request, zipfile

import numpy
from opentok import Client, MediaModes, OutputModes, Roles

from servers import API_KEY, API_SECRET, LIMIT

sys.path.append(str(pathlib.Path(__file__).parents[1] / "calls"))
import recordings  # noqa: E402
from appserver import AppServer  # noqa: E402

SECONDS = 20


class App:
    """What an app server does: it has the secret, makes sessions and tokens, and gives them out at /ROLE/room/NAME."""

    def __init__(self, server, mode, room):
        self.client = Client(API_KEY, API_SECRET, api_url=server.url)
        self.session = self.client.create_session(media_mode=mode).session_id
        answers = {f"/{role.value}/room/{room}": self.answer(role) for role in (Roles.publisher, Roles.moderator)}
        self.http = AppServer(answers)

    def answer(self, role):
        body = {"apiKey": API_KEY, "sessionId": self.session, "token": self.client.generate_token(self.session, role)}
        return 200, {"Content-Type": "application/json", "Access-Control-Allow-Origin": "*"}, json.dumps(body)

    def url(self, role):
        return f"{self.http.url}/{role}"


async def call(function, *arguments, **options):
    """Of the SDK, which waits for its answers."""
    return await asyncio.to_thread(function, *arguments, **options)


async def available(app, archive, status="available"):
    end = time.monotonic() + LIMIT
    while (found := await call(app.client.get_archive, archive.id)).status != status:
        assert found.status != "failed" and time.monotonic() < end, found.attrs()
        await asyncio.sleep(0.2)
    return found


async def download(archive, path):
    def read():
        with urllib.request.urlopen(archive.url, timeout=LIMIT) as answer:
            path.write_bytes(answer.read())
    await asyncio.to_thread(read)
    assert path.stat().st_size == archive.size
    return str(path)


def watched_by(participant, count):
    """Whether so many peers have got pictures of it."""
    figures = [event["publisher"] for event in participant.events if event["event"] == "stats" and "publisher" in event]
    return figures and sum(peer.get("video", {}).get("framesSent", 0) > 5 for peer in figures[-1]["subscribers"]) >= count


def lasts(found):
    """Both tracks are as long as the file; its length."""
    length = float(found["format"]["duration"])
    for kind in ("audio", "video"):
        track = found[kind].get("duration") or found[kind].get("tags", {}).get("DURATION")
        if track and ":" in str(track):
            hours, minutes, seconds = track.split(":")
            track = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
        if track:
            assert abs(float(track) - length) <= 0.3, (kind, track, length)
    return length


def check_pattern(path, sent, **size):
    """The test pattern goes on all the time, at the pace of its sender's clock, with its sound beside it."""
    width, height = size.get("width", 640), size.get("height", 480)
    pictures = recordings.luma(path, width, height)
    if part := size.get("part"):
        pictures = [(t, plane[part]) for t, plane in pictures]
    read = [(t, found) for t, plane in pictures if (found := recordings.strip(plane))]
    assert len(read) > 0.8 * len(pictures), f"{len(read)} of {len(pictures)} pictures can be read"
    new = [now for before, now in zip([(0, (None, 0)), *read], read) if before[1][0] != now[1][0]]
    assert len({found[0] for _, found in new}) > 0.5 * sent > 100, f"{len(new)} different pictures of about {sent} sent"
    # The file's time goes as fast as the sender's, from its beginning to its end.
    middle, apart = len(new) // 2, [sent_at / 1e6 - t for t, (_, sent_at) in new]
    drift = statistics.median(apart[middle:]) - statistics.median(apart[:middle])
    assert abs(drift) <= 0.3, f"{drift:.3f} s longer or shorter than what was recorded"
    return pictures


async def service(room, mode, folder):
    app = await call(App, room.server, mode, room.name)
    with app.http:
        page = await room.join(name="Page", tone=660, sessionCredentialsUrl=f"{app.url('moderator')}/room/{room.name}")
        options = ("--api-url", room.server.url)
        publisher = await room.participant(
            "--name", "Publisher", "--video-source", "test", "--audio-source", "test", "--subscribe", "all",
            server=app.url("publisher"), *options)
        watcher = await room.participant("--no-publish", "--subscribe", "all", server=app.url("moderator"), *options)
        entered = {one: await one.event("sessionConnected") for one in (publisher, watcher)}
        assert {one["sessionId"] for one in entered.values()} == {app.session}
        await page.until("(await report()).publishing && (await report()).subscribers[0]?.framesDecoded > 5")
        assert (await page.js("report()"))["sessionId"] == app.session
        own = (await publisher.event("publisherStreamCreated"))["streamId"]
        pages = (await publisher.event("streamCreated", name="Page"))["streamId"]
        listed = await call(app.client.list_streams, app.session)
        assert sorted((stream.id, stream.name) for stream in listed) == sorted([(own, "Publisher"), (pages, "Page")])

        await signal(app, page, publisher, watcher, entered)
        await archive(app, page, publisher, watcher, own, pages, folder)
        await moderate(app, page, publisher, watcher, entered, own, pages)


async def signal(app, page, publisher, watcher, entered):
    """From each to all; from the app server also to one."""
    await page.js("say('from the page')")
    await publisher.say("say from the publisher")
    await watcher.say("signal note from the watcher")
    await call(app.client.signal, app.session, {"type": "note", "data": "from the app server"})
    await call(app.client.signal, app.session, {"type": "private", "data": "x"}, entered[watcher]["connectionId"])
    for one in (publisher, watcher):
        for text in ("from the page", "from the publisher"):
            await one.until(lambda: any(e["event"] == "signal" and text in e["data"] for e in one.events), f"'{text}'")
        for text in ("from the watcher", "from the app server"):
            await one.event("signal", type="note", data=text)
    await watcher.event("signal", type="private")
    for text in ("from the publisher", "from the watcher", "from the app server"):
        await page.until(f"JSON.stringify((await report()).signals).includes('{text}')")
    await call(app.client.signal, app.session, {"type": "last", "data": "x"})
    await publisher.event("signal", type="last")
    assert not [e for e in publisher.events if e["event"] == "signal" and e["type"] == "private"], "meant for one"
    for one in (publisher, watcher):
        told = [(e["type"], e["data"]) for e in one.events if e["event"] == "signal"]
        assert len(told) == len(set(told)), f"twice: {told}"


async def archive(app, page, publisher, watcher, own, pages, folder):
    composed = await call(app.client.start_archive, app.session, name="film", resolution="1280x720")
    single = await call(app.client.start_archive, app.session, name="parts", output_mode=OutputModes.individual, multi_archive_tag="parts")
    for one in (publisher, watcher):
        for each in (composed, single):
            await one.event("archiveStarted", archiveId=each.id)
    await page.until("(await report()).archives.filter(({status}) => status === 'started').length === 2")
    # Page, watcher and two recorders.
    await publisher.until(lambda: watched_by(publisher, 4), "pictures for both recorders")
    began, sent = time.time(), publisher.frames_sent()
    await asyncio.sleep(SECONDS)
    sent, lasted = (publisher.frames_sent() - sent) / 4, time.time() - began
    stopping = time.time()
    for each in (composed, single):
        assert (await call(app.client.stop_archive, each.id)).status == "stopped"
    stopped = time.time()
    for one in (publisher, watcher):
        for each in (composed, single):
            await one.event("archiveStopped", archiveId=each.id)
    composed, single = await available(app, composed), await available(app, single)
    assert {stream["streamId"] for stream in composed.streams} == {own, pages}

    film = await download(composed, folder / f"{composed.id}.mp4")
    parts = await download(single, folder / f"{single.id}.zip")
    await asyncio.to_thread(check_film, film, composed, sent, lasted, stopping, stopped)
    await asyncio.to_thread(check_parts, parts, single, sent, lasted, own, pages, folder)
    await call(app.client.delete_archive, composed.id)
    await call(app.client.delete_archive, single.id)


def check_film(film, composed, sent, lasted, stopping, stopped):
    found = recordings.probe(film)
    assert (found["video"]["codec_name"], found["audio"]["codec_name"]) == ("h264", "aac")
    assert (found["video"]["width"], found["video"]["height"]) == (1280, 720)
    length = lasts(found)
    assert abs(length - composed.duration) <= 0.5 + 0.3, "the archive's duration is whole seconds"
    # Two of 640x480 beside each other, 640 wide each: the pattern is in one of the halves.
    whole = recordings.luma(film, 1280, 720)
    side = next(part for part in (slice(0, 640), slice(640, 1280)) for _, plane in whole[len(whole) // 2:]
                if recordings.strip(plane[120:600, part]))
    pictures = check_pattern(film, sent, width=1280, height=720, part=(slice(120, 600), side))
    start = recordings.beginning(pictures)
    print(f"      film {length:.3f} s; {lasted:.3f} s waited; ends {start + length - stopping:+.3f} s after stop ({stopped - stopping:.3f} s)")
    assert lasted - 0.3 <= length and stopping - 0.3 <= start + length <= stopped + 0.3
    # The page's tone is there all the time; the pattern's blips stand out at their own.
    sound = recordings.sound(film)
    assert abs(recordings.tone(sound) - 660) < 3, recordings.tone(sound)
    seconds = recordings.seconds_by_picture(pictures)
    apart = [1000 * (blip - min(seconds, key=lambda s: abs(s - blip))) for blip in blips(sound)]
    apart = [offset for offset in apart if abs(offset) < 400]
    print(f"      sound {statistics.median(apart):+.1f} ms after picture, {len(apart)} times")
    assert len(apart) >= 10 and abs(statistics.median(apart)) <= 40, apart


def blips(sound):
    """When the blips of 1000 Hz begin, beside a tone of 660 Hz: a mean over 1/340 s and its multiples has none of it."""
    window = 3 * recordings.RATE // 340
    turned = numpy.cumsum(sound * numpy.exp(-2j * numpy.pi * 1000 * numpy.arange(len(sound)) / recordings.RATE))
    level = numpy.abs(turned[window:] - turned[:-window])
    loud, found, last = numpy.flatnonzero(level > 0.5 * numpy.percentile(level, 99)), [], -recordings.RATE
    for index in loud:
        if index - last > recordings.RATE // 5:
            found.append((index + window / 2) / recordings.RATE)
        last = index
    return found


def check_parts(path, single, sent, lasted, own, pages, folder):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        manifest = json.loads(archive.read(f"{single.id}.json"))
        archive.extractall(folder / single.id)
    files = {entry["streamId"]: entry for entry in manifest["files"]}
    assert set(files) == {own, pages} and manifest["id"] == single.id and manifest["sessionId"] == single.session_id
    for stream, hertz in ((own, 1000), (pages, 660)):
        entry = files[stream]
        file = str(folder / single.id / entry["filename"])
        found = recordings.probe(file)
        assert (found["video"]["codec_name"], found["audio"]["codec_name"]) == ("vp8", "opus")
        length = lasts(found)
        assert lasted - 0.3 <= length, (length, lasted)
        assert abs(1000 * length - (entry["stopTimeOffset"] - entry["startTimeOffset"])) <= 300, (length, entry)
        tone = recordings.tone(recordings.sound(file))
        assert abs(tone - hertz) < (30 if stream == own else 3), (tone, hertz)
        size = (found["video"]["width"], found["video"]["height"])
        print(f"      {entry['filename']}: {length:.3f} s, {size}, {tone:.1f} Hz")
        if stream == own:
            # As it came: a machine that is busy sends it smaller.
            assert size[0] >= 320 and size[0] * 3 == size[1] * 4, size
            check_pattern(file, sent)
            apart = recordings.offsets(file)
            print(f"      sound {statistics.median(apart):+.1f} ms after picture, {len(apart)} times")
            assert len(apart) >= 10 and abs(statistics.median(apart)) <= 40, apart
        else:
            pictures = recordings.luma(file, 160, 120)
            changes = [abs(a.astype(int) - b).mean() > 0 for (_, a), (_, b) in zip(pictures, pictures[1:])]
            assert len(pictures) > 100 and numpy.mean(changes) > 0.3, "the page's picture stands still"


async def moderate(app, page, publisher, watcher, entered, own, pages):
    """The page, the watcher by its lines, the app server: each mutes, ends and disconnects somebody."""
    find = "[...session.streams.where()].find(({{streamId}}) => streamId === '{}')".format
    # The page mutes the publisher, which may speak again.
    await page.js(f"session.forceMuteStream({find(own)}).then(() => 1)")
    await publisher.event("publisherMuted", streamId=own)
    await watcher.event("streamPropertyChanged", streamId=own, property="hasAudio", newValue=False)
    await publisher.say("unmute-mic")
    await watcher.event("streamPropertyChanged", streamId=own, property="hasAudio", newValue=True)
    # The watcher mutes the page.
    await watcher.say("mute Page")
    await page.until("(await report()).muted")
    await publisher.event("streamPropertyChanged", streamId=pages, property="hasAudio", newValue=False)
    await page.js("mute(false)")
    await publisher.event("streamPropertyChanged", streamId=pages, property="hasAudio", newValue=True)
    # The app server mutes all but the page, and lifts it.
    await call(app.client.mute_all, app.session, [pages])
    for one in (publisher, watcher):
        await one.event("muteForced", active=True)
    await publisher.event("publisherMuted", skip=1)
    assert not (await page.js("report()"))["muted"]
    await call(app.client.disable_force_mute, app.session)
    for one in (publisher, watcher):
        await one.event("muteForced", active=False)
    # Without the right to, nobody moderates.
    await publisher.say("disconnect Page")
    refused = await publisher.event("error")
    assert refused["code"] == 1520, refused
    # The page ends the publisher's stream, the watcher the page's, the app server the watcher's connection.
    assert await page.js(f"new Promise((resolve) => session.forceUnpublish({find(own)}, (error) => resolve(error ? error.message : 'done')))") == "done"
    ended = await publisher.event("publisherStreamDestroyed")
    assert ended["reason"] == "forceUnpublished"
    await watcher.event("streamDestroyed", streamId=own, reason="forceUnpublished")
    await watcher.say("unpublish Page")
    await publisher.event("streamDestroyed", streamId=pages, reason="forceUnpublished")
    await page.until("!(await report()).publishing")
    await call(app.client.force_disconnect, app.session, entered[watcher]["connectionId"])
    await watcher.event("sessionDisconnected", reason="forceDisconnected")
    await publisher.event("connectionDestroyed", connectionId=entered[watcher]["connectionId"], reason="forceDisconnected")
    # And the page the publisher.
    connection = entered[publisher]["connectionId"]
    await page.js(f"session.forceDisconnect(session.connections.get('{connection}'), () => {{}}), 1")
    await publisher.event("sessionDisconnected", reason="forceDisconnected")
    assert await asyncio.wait_for(publisher.process.wait(), LIMIT) == 77


async def test_the_service_with_a_routed_session(room):
    await service(room, MediaModes.routed, pathlib.Path(room.state))


async def test_the_service_with_a_relayed_session(room):
    await service(room, MediaModes.relayed, pathlib.Path(room.state))
