"""A server that dies, or is started again, under a call: nobody leaves it, nothing is forgotten."""
import concurrent.futures
import contextlib
import json
import pathlib
import signal
import sqlite3
import subprocess
import time
import urllib.request

import pytest
from otchat import LIMIT, PICTURES, Otchat, Server, figure
from tokens import KEY, SECRET, t1


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


@pytest.mark.parametrize("secret", [SECRET, "another" + SECRET[7:]], ids=["the same secret", "another secret"])
def test_a_call_is_made_anew_on_a_server_that_has_forgotten_it(binary, home, monkeypatch, secret):
    """As after an outage longer than the grace period: media goes on until then, and again after it."""
    media = ["--video-source", "test", "--audio-source", "tone:440", "--audio-sink", "null", "--events", "-", "--stats", "0.5"]
    monkeypatch.setenv("OTCHAT_API_SECRET", SECRET)
    with Server(binary, "--api-key", KEY) as server:
        port = int(server.url.rpartition(":")[2])
        anna = Otchat([binary, "connect", "--server", server.url, "--name", "anna", "--subscribe", "none", *media])
        bert = Otchat([binary, "connect", "--server", server.url, "--no-publish", *media])
        try:
            more_pictures(bert, 10)
            server.process.kill()
            server.exit_code()
            for one in (anna, bert):
                one.event("sessionReconnecting", reason="connectionClosed")
            more_pictures(bert, 60)
            with contextlib.closing(sqlite3.connect(home / "xdg_state_home/otchat/otchat.db")) as database, database:
                assert database.execute("DELETE FROM session").rowcount == 1
            monkeypatch.setenv("OTCHAT_API_SECRET", secret)
            with Server(binary, "--api-key", KEY, port=port):
                for one in (anna, bert):
                    lost = one.event("sessionReconnecting", reason="connectionForgotten")
                    back = one.event("sessionConnected", after=lost)
                    first = one.all("sessionConnected")[0]
                    assert back["connectionId"] != first["connectionId"]
                    assert (back["sessionId"] == first["sessionId"]) == (secret == SECRET)
                    renewals = [e for e in one.all("warning") if "the app server has given fresh credentials" in e["message"]]
                    assert len(renewals) == (0 if secret == SECRET else 1)
                    assert [e["reason"] for e in one.all("sessionDisconnected")] == ["networkDisconnected"]
                anna.event("publisherStreamCreated", after=lost)
                bert.event("subscriberConnected", after=lost)
                more_pictures(bert, 30)
                for one in (anna, bert):
                    assert not one.all("sessionReconnected") and not one.all("error")
                    one.command_line("quit")
                    assert one.exit_code() == 0
        finally:
            for one in (anna, bert):
                one.end()


def records(home):
    """What is on the disk of sessions."""
    with contextlib.closing(sqlite3.connect(home / "xdg_state_home/otchat/otchat.db")) as database:
        return " ".join(record for (record,) in database.execute("SELECT record FROM session"))


def wait_for_records(home, *words):
    deadline = time.monotonic() + LIMIT
    while not all(word in records(home) for word in words):
        assert time.monotonic() < deadline, f"not written: {words}"
        time.sleep(0.05)


@pytest.fixture
def hanging_disk(home):
    """hanging_disk.environment makes a process's renaming and locking of files wait as long as hanging_disk.on is there."""
    library, on = home / "hanging-disk.so", home / "hangs"
    source = pathlib.Path(__file__).parent / "hanging_disk.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, source, "-ldl"], check=True)

    class Disk:
        environment = {"LD_PRELOAD": str(library), "HANGING_DISK": str(on)}

        def set(self, hangs):
            on.touch() if hangs else on.unlink(missing_ok=True)

    yield Disk()
    on.unlink(missing_ok=True)


def test_a_disk_that_hangs_holds_up_no_call(binary, home, monkeypatch, hanging_disk):
    """Joining, publishing, pictures, signals and what is asked go on; what was not written is, once it can be, and is
    answered then."""
    monkeypatch.setenv("OTCHAT_API_SECRET", SECRET)
    for name, value in hanging_disk.environment.items():
        monkeypatch.setenv(name, value)
    places = ["--api-key", KEY, "--archive-dir", str(home / "archives")]
    media = ["--video-source", "test", "--audio-source", "silence", "--audio-sink", "null", "--events", "-", "--stats", "0.5"]
    people = []
    threads = concurrent.futures.ThreadPoolExecutor(1)
    with Server(binary, *places) as server:
        port = int(server.url.rpartition(":")[2])
        for name in hanging_disk.environment:
            monkeypatch.delenv(name)

        def join(name, *arguments):
            people.append(Otchat([binary, "connect", "--server", server.url, "--name", name, *arguments, *media]))
            return people[-1]

        try:
            anna = join("anna", "--subscribe", "none")
            session = anna.event("sessionConnected")["sessionId"]
            anna.event("publisherStreamCreated")
            hanging_disk.set(True)
            bert = join("bert")
            bert.event("publisherStreamCreated")
            more_pictures(bert, 30)
            asked = threads.submit(rest, server, "POST", "/archive", {"sessionId": session, "name": "film"})
            for number in range(40):
                anna.command_line(f"say {number}")
                bert.event("signal", data=str(number))
                time.sleep(0.05)
            assert [item["status"] for item in rest(server, "GET", "/archive")["items"]] == ["started"]
            assert not anna.all("archiveStarted"), "nothing is recorded without a disk"
            assert "bert" not in records(home) and not asked.done()
            hanging_disk.set(False)
            archive = asked.result(LIMIT)
            assert archive["status"] == "started"
            anna.event("archiveStarted", archiveId=archive["id"])
            wait_for_records(home, "bert")
            server.process.kill()
            server.exit_code()
            with Server(binary, *places, port=port) as again:
                for one in (anna, bert):
                    one.event("sessionReconnected")
                more_pictures(bert, 10)
                names = sorted(item["name"] for item in rest(again, "GET", f"/session/{session}/stream")["items"])
                assert names == ["anna", "bert"]
        finally:
            for one in people:
                one.end()


def test_a_disk_that_hangs_holds_up_no_end(binary, home, monkeypatch, hanging_disk):
    """SIGTERM tells the clients and ends the server although what it has to keep cannot be written."""
    monkeypatch.setenv("OTCHAT_API_SECRET", SECRET)
    for name, value in hanging_disk.environment.items():
        monkeypatch.setenv(name, value)
    with Server(binary, "--api-key", KEY) as server:
        for name in hanging_disk.environment:
            monkeypatch.delenv(name)
        anna = Otchat([
            binary, "connect", "--server", server.url, "--name", "anna", "--events", "-", "--video-source", "test", "--audio-source", "silence"])
        try:
            anna.event("publisherStreamCreated")
            wait_for_records(home, "anna")  # which is to go
            hanging_disk.set(True)
            server.process.terminate()
            assert anna.event("sessionDisconnected")["reason"] == "networkDisconnected"
            assert server.exit_code() == 0
            assert any("the disk does not answer" in line for line in server.errors), server.errors
        finally:
            anna.end()


def test_who_does_not_come_back_is_not_recorded(binary, home, monkeypatch):
    """A session that records itself does so again once somebody who publishes is back, and not before."""
    monkeypatch.setenv("OTCHAT_API_SECRET", SECRET)
    places = ["--api-key", KEY, "--archive-dir", str(home / "archives")]

    def create(server):
        request = urllib.request.Request(server.url + "/session/create", b"archiveMode=always", {"X-TB-PARTNER-AUTH": f"{KEY}:{SECRET}"})
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return json.load(answer)[0]["session_id"]

    people = {}
    with Server(binary, *places) as server:
        port = int(server.url.rpartition(":")[2])
        for name in ("gone", "back"):
            session = create(server)
            people[session] = one = Otchat([
                binary, "connect", "--api-url", server.url, "--api-key", KEY, "--session-id", session, "--token", t1(session),
                "--name", name, "--events", "-", "--video-source", "test", "--audio-source", "silence"])
            one.event("archiveStarted")
        (gone, absent), (back, present) = people.items()
        try:
            wait_for_records(home, *(one.event("publisherStreamCreated")["streamId"] for one in people.values()))
            server.process.kill()
            server.exit_code()
            absent.process.kill()
            with Server(binary, *places, port=port) as again:
                present.event("sessionReconnected")
                first = present.all("archiveStarted")[0]
                present.event("archiveStarted", after=first)
                counts = [rest(again, "GET", f"/archive?sessionId={one}")["count"] for one in (gone, back)]
                assert counts == [1, 2]
        finally:
            for one in people.values():
                one.end()
