"""OpenTok's Python server SDK, unchanged, against `otchat serve`."""
import json
import pathlib
import subprocess
import time
import urllib.request

import pytest
from opentok import ArchiveModes, Client, MediaModes, OutputModes, StreamModes
from opentok.exceptions import ArchiveError, NotFoundError, OpenTokException, RequestError
from otchat import LIMIT, Otchat, Server, Timeout

KEY, SECRET = "4711", "a secret of this test and no other one"


@pytest.fixture
def app(binary, home, monkeypatch):
    """An app server's client, and the session server that it talks to."""
    monkeypatch.setenv("OTCHAT_API_SECRET", SECRET)
    with Server(binary, "--api-key", KEY, "--archive-dir", str(home / "archives")) as server:
        client = Client(KEY, SECRET, api_url=server.url)
        client.server = server
        yield client


@pytest.fixture
def publisher(app, binary):
    """publisher(session) is an otchat that publishes into it; ended with the test."""
    started = []

    def start(session):
        one = Otchat([
            binary, "connect", "--api-url", app.server.url, "--api-key", KEY, "--session-id", session.session_id,
            "--token", app.generate_token(session.session_id), "--events", "-", "--stats", "0.5",
            "--audio-source", "tone:440", "--video-source", "test"])
        started.append(one)
        one.event("publisherStreamCreated")
        return one

    yield start
    for one in started:
        one.end()


def eventually(condition, what, seconds=LIMIT):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Timeout(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def until(client, archive_id, status, seconds=LIMIT):
    deadline = time.monotonic() + seconds
    while (archive := client.get_archive(archive_id)).status != status:
        if archive.status == "failed" or time.monotonic() > deadline:
            raise Timeout(f"the archive is {archive.status}, not {status}")
        time.sleep(0.1)
    return archive


def test_archives_of_an_app_server(app, publisher, home):
    """Start, layout, stop, list, get, delete, and what everybody in the session hears."""
    session = app.create_session(media_mode=MediaModes.routed)
    with pytest.raises(RequestError):  # nobody is there
        app.start_archive(session.session_id)
    anna = publisher(session)
    archive = app.start_archive(session.session_id, name="the film", resolution="640x480", layout={"type": "bestFit"})
    assert (archive.status, archive.name, archive.output_mode) == ("started", "the film", OutputModes.composed)
    assert archive.session_id == session.session_id and archive.has_audio and archive.has_video
    told = anna.event("archiveStarted", archiveId=archive.id)
    assert told["name"] == "the film"
    with pytest.raises(OpenTokException):  # it is being recorded
        app.start_archive(session.session_id)
    with pytest.raises(RequestError):  # while it is
        app.delete_archive(archive.id)
    app.set_archive_layout(archive.id, "pip")
    late = publisher(session)
    late.event("archiveStarted", archiveId=archive.id)
    time.sleep(6)
    stopped = app.stop_archive(archive.id)
    assert stopped.status == "stopped"
    for one in (anna, late):
        one.event("archiveStopped", archiveId=archive.id, name="the film")
    with pytest.raises(ArchiveError):  # twice
        app.stop_archive(archive.id)
    done = until(app, archive.id, "available")
    # The SDK's archives have no reason; the server's have.
    assert app.server.get(f"/archive/{archive.id}")["reason"] == "user initiated"
    assert done.duration >= 3 and done.size > 10_000
    # A player takes it in pieces.
    request = urllib.request.Request(done.url, headers={"Range": "bytes=4-7"})
    with urllib.request.urlopen(request, timeout=LIMIT) as part:
        assert (part.status, part.read()) == (206, b"ftyp")
        assert part.headers["Content-Range"] == f"bytes 4-7/{done.size}"
    with urllib.request.urlopen(done.url, timeout=LIMIT) as whole:
        assert len(whole.read()) == done.size
    listed = app.list_archives(session_id=session.session_id)
    assert [one.id for one in listed] == [archive.id] and listed.count == 1
    # The disk may follow what the server says.
    directory = home / "archives" / archive.id
    eventually(lambda: sorted(path.name for path in directory.iterdir()) == ["archive.mp4"], "a directory in order")
    app.delete_archive(archive.id)
    eventually(lambda: not directory.exists(), "no directory")
    with pytest.raises(NotFoundError):
        app.get_archive(archive.id)
    with pytest.raises(NotFoundError):
        app.stop_archive(archive.id)


def test_chosen_streams_and_individual_files(app, publisher):
    session = app.create_session()
    anna, bert = publisher(session), publisher(session)
    stream = anna.all("publisherStreamCreated")[0]["streamId"]
    archive = app.start_archive(
        session.session_id, output_mode=OutputModes.individual, stream_mode=StreamModes.manual)
    anna.event("archiveStarted")
    app.add_archive_stream(archive.id, stream, has_audio=True, has_video=True)
    with pytest.raises(RequestError):  # there is none
        app.add_archive_stream(archive.id, "ab" * 16, has_audio=True, has_video=True)
    # A peer more than nobody: the recorder gets its pictures.
    anna.stats(lambda s: s["publisher"]["video"]["framesSent"] > 60, "pictures for the recorder")
    app.remove_archive_stream(archive.id, stream)
    app.stop_archive(archive.id)
    done = until(app, archive.id, "available")
    assert done.url.split("?")[0].endswith("/archive.zip")
    assert [one["streamId"] for one in done.streams] == [stream]
    bert.event("archiveStopped")


def test_a_session_that_is_always_recorded(app, publisher):
    session = app.create_session(
        media_mode=MediaModes.routed, archive_mode=ArchiveModes.always, archive_name="always",
        archive_resolution="1280x720")
    anna = publisher(session)
    told = anna.event("archiveStarted")
    assert told["name"] == "always"
    archive = app.get_archive(told["archiveId"])
    assert (archive.status, archive.resolution) == ("started", "1280x720")
    app.stop_archive(archive.id)
    anna.event("archiveStopped")


def test_archives_outlive_a_killed_server(binary, home, monkeypatch):
    """kill -9 in the middle of a recording: what there is is an archive after the next start."""
    monkeypatch.setenv("OTCHAT_API_SECRET", SECRET)
    places = ["--api-key", KEY, "--archive-dir", str(pathlib.Path(home) / "archives")]
    with Server(binary, *places) as server:
        app = Client(KEY, SECRET, api_url=server.url)
        session = app.create_session()
        with Otchat([binary, "connect", "--api-url", server.url, "--api-key", KEY, "--session-id", session.session_id,
                     "--token", app.generate_token(session.session_id), "--events", "-", "--audio-source", "tone:440",
                     "--video-source", "test"]) as anna:
            anna.event("publisherStreamCreated")
            archive = app.start_archive(session.session_id)
            anna.event("archiveStarted")
            time.sleep(9)
            server.process.kill()
            server.process.wait()
    with Server(binary, *places) as server:
        app = Client(KEY, SECRET, api_url=server.url)
        done = until(app, archive.id, "available")
        assert server.get(f"/archive/{archive.id}")["reason"] == "the server ended while it was recording"
        # The last 2 s may be missing.
        assert done.duration >= 3
        with urllib.request.urlopen(done.url, timeout=LIMIT) as whole:
            assert len(whole.read()) == done.size > 10_000


def test_strangers_are_refused(app):
    session = app.create_session()
    stranger = Client(KEY, "another secret", api_url=app.server.url)
    for call in (
            lambda: stranger.list_archives(), lambda: stranger.start_archive(session.session_id),
            lambda: stranger.stop_archive("6f0b5d5e-0000-4000-8000-000000000000")):
        with pytest.raises(OpenTokException):
            call()


def test_a_server_from_a_file(binary, home):
    """`serve --config`: flags and secrets from a file, beneath those of the command line; diagnostics as JSON."""
    path = home / "serve.json"
    path.write_text(json.dumps({"api-key": KEY, "api-secret": SECRET, "port": 1, "archive-dir": str(home / "films"), "log-format": "json"}))
    with Server(binary, "--config", str(path), "-v", port=0) as server:  # the port of the command line goes before
        session = Client(KEY, SECRET, api_url=server.url).create_session()
        assert session.session_id and json.loads(urllib.request.urlopen(server.url + "/session", timeout=LIMIT).read())["apiKey"] == KEY
        entries = server.wait_until(lambda: [json.loads(line) for line in list(server.errors) if "/session" in line], "a request in the log")
        assert entries[0].keys() == {"time", "level", "module", "message"}
        assert (entries[0]["level"], entries[0]["module"]) == ("info", "web") and abs(entries[0]["time"] - time.time()) < 3600
        assert SECRET not in "\n".join(server.errors)
    for text, word in (('{"prot": 1}', "did you mean"), ("{", "is not JSON"), ("[]", "holds no JSON object")):
        path.write_text(text)
        done = subprocess.run([binary, "serve", "--config", str(path)], capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode in (64, 78) and word in done.stderr, done
    missing = subprocess.run([binary, "serve", "--config", str(home / "no.json")], capture_output=True, text=True, timeout=LIMIT)
    assert missing.returncode == 66, missing
