"""A server that dies, or is started again, under a call: nobody leaves it, nothing is forgotten."""
import json
import signal
import time
import urllib.request

import pytest
from otchat import LIMIT, PICTURES, Otchat, Server, figure
from tokens import KEY, SECRET


def rest(server, method, path, body=None):
    request = urllib.request.Request(
        server.url + f"/v2/project/{KEY}{path}", method=method, data=body and json.dumps(body).encode(),
        headers={"X-TB-PARTNER-AUTH": f"{KEY}:{SECRET}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=LIMIT) as answer:
        return json.loads(answer.read() or b"{}")


def more_pictures(one, count):
    start = one.stats(lambda s: figure(s, PICTURES), "a picture")
    one.stats(lambda s: figure(s, PICTURES) >= figure(start, PICTURES) + count, f"{count} pictures more")


def size_of(path):
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:
        return 0  # A draft that has been renamed.


def wait_for_fragments(directory, count):
    """The recording grows by about one a second."""
    deadline, size = time.monotonic() + LIMIT, 0
    while count > 0:
        assert time.monotonic() < deadline, f"the recording does not grow beyond {size} bytes"
        now = sum(size_of(path) for path in directory.rglob("*"))
        if now > size:
            size, count = now, count - 1
            time.sleep(0.9)
        time.sleep(0.1)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGUSR1])
def test_a_call_outlives_its_server(binary, home, monkeypatch, end):
    monkeypatch.setenv("OTCHAT_API_SECRET", SECRET)
    places = ["--api-key", KEY, "--archive-dir", str(home / "archives")]
    media = ["--video-source", "test", "--audio-source", "tone:440", "--audio-sink", "null", "--events", "-", "--stats", "0.5"]
    with Server(binary, *places) as server:
        port = int(server.url.rpartition(":")[2])
        anna = Otchat([binary, "connect", "--server", server.url, "--name", "anna", "--subscribe", "none", *media])
        bert = Otchat([binary, "connect", "--server", server.url, "--no-publish", *media])
        late = None
        try:
            session = anna.event("sessionConnected")["sessionId"]
            stream = anna.event("publisherStreamCreated")["streamId"]
            more_pictures(bert, 10)
            rest(server, "PUT", f"/session/{session}/stream", {"items": [{"id": stream, "layoutClassList": ["focus"]}]})
            rest(server, "POST", f"/session/{session}/mute", {"active": True, "excludedStreams": [stream]})
            archive = rest(server, "POST", "/archive", {"sessionId": session, "name": "film"})["id"]
            for one in (anna, bert):
                one.event("archiveStarted", archiveId=archive)
            wait_for_fragments(home / "archives", 4)
            server.process.send_signal(end)
            assert server.exit_code() == (-9 if end == signal.SIGKILL else 0)
            with Server(binary, *places, port=port) as again:
                for one in (anna, bert):
                    back = one.event("sessionReconnected")
                    one.event("archiveStopped", archiveId=archive)
                more_pictures(bert, 30)
                # The same stream, with all that was said of it; and who comes now is muted.
                items = rest(again, "GET", f"/session/{session}/stream")["items"]
                assert [(item["id"], item["layoutClassList"]) for item in items] == [(stream, ["focus"])]
                late = Otchat([binary, "connect", "--server", again.url, "--name", "late", *media])
                late.event("publisherStreamCreated")
                assert late.event("firstVideoFrame")
                bert.event("streamCreated", after=back, name="late", hasAudio=False)
                # Signals pass, both ways.
                anna.command_line("say still here")
                bert.event("signal", data="still here")
                deadline = time.monotonic() + LIMIT
                while (found := rest(again, "GET", f"/archive/{archive}"))["status"] != "available":
                    assert found["status"] != "failed" and time.monotonic() < deadline, found
                    time.sleep(0.2)
                assert found["duration"] >= 1
                for one in (anna, bert):
                    assert not one.all("sessionDisconnected") and len(one.all("sessionConnected")) == 1
                assert not bert.all("streamDestroyed") and not anna.all("publisherStreamDestroyed")
        finally:
            for one in (anna, bert, late):
                if one:
                    one.end()
