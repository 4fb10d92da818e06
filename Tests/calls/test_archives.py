"""Archives of a real session: composed and of single streams at once, checked by other people's tools."""
import json
import os
import statistics
import time
import urllib.request
import zipfile

import numpy
import pytest

import recordings
from otchat import LIMIT, Server, Timeout


@pytest.fixture
def server(binary, home):
    with Server(binary, "--archive-dir", "archives") as running:
        yield running


def post(server, path, body=None):
    request = urllib.request.Request(server.url + path, json.dumps(body or {}).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=LIMIT) as answer:
        return json.load(answer)


def finished(server, archive, seconds=LIMIT):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = server.get(f"/archive/{archive}")
        if found["status"] in ("available", "failed"):
            return found
        time.sleep(0.2)
    raise Timeout(f"archive {archive}: {found}")


def download(server, archive, path):
    with urllib.request.urlopen(archive["url"], timeout=LIMIT) as answer, open(path, "wb") as file:
        file.write(answer.read())
    return path


def two_publishers(connect):
    alice = connect("--name", "alice", "--video-source", "test", "--audio-source", "test", "--subscribe", "none")
    bob = connect("--name", "bob", "--video-source", "test", "--audio-source", "tone:880", "--subscribe", "none", "--resolution", "320x240")
    for one in (alice, bob):
        one.event("publisherStreamCreated")
    return alice, bob


def test_both_kinds_at_once(connect, server, home):
    alice, bob = two_publishers(connect)
    watcher = connect("--no-publish", "--subscribe", "none", "--audio-sink", "null")
    watcher.event("sessionConnected")
    composed = post(server, "/archive/start", {"name": "together", "resolution": "1280x720"})
    single = post(server, "/archive/start", {"name": "apart", "outputMode": "individual", "multiArchiveTag": "b"})
    alice.event("archiveStarted", archiveId=composed["id"])
    # Two streams beside each other, then one, whose picture is off in the end.
    for one in (alice, bob):
        one.stats(lambda s: sum(peer["video"]["framesSent"] > 30 for peer in s["publisher"]["subscribers"]) == 2, "two recorders")
    together = time.time()
    time.sleep(6)
    bob.command_line("quit")
    together = (together, time.time())
    assert bob.exit_code() == 0
    alone = time.time() + 1
    time.sleep(5)
    alone = (alone, time.time())
    alice.command_line("toggle-camera")
    # Told to all others, and to the recorder.
    watcher.event("streamPropertyChanged", property="hasVideo", newValue=False)
    time.sleep(4)
    ending = time.time()
    for archive in (composed, single):
        post(server, f"/archive/{archive['id']}/stop")
    ended = time.time()
    composed, single = finished(server, composed["id"]), finished(server, single["id"])
    assert composed["status"] == single["status"] == "available", (composed, single)

    film = download(server, composed, "film.mp4")
    found = recordings.probe(film)
    assert (found["video"]["codec_name"], found["audio"]["codec_name"]) == ("h264", "aac")
    assert (found["video"]["width"], found["video"]["height"], found["audio"]["sample_rate"]) == (1280, 720, "48000")
    length = float(found["format"]["duration"])
    assert abs(length - composed["duration"]) <= 1, (length, composed["duration"])
    assert os.path.getsize(film) == composed["size"]
    assert open(film, "rb").read(4096).find(b"moov") > 0, "the index is not at the beginning"

    pictures = recordings.luma(film, 1280, 720)
    # Alone, Alice fills the height: 960 of 1280. Her pictures tell when the film was made.
    large = [(t, plane[:, 160:1120]) for t, plane in pictures]
    start = recordings.beginning(large)
    assert start < together[0] and ending - 2 < start + length < ended + 1, (start, length, together, ending, ended)
    together, alone = ([moment - start for moment in times] for times in (together, alone))
    large = [(t, plane) for t, plane in large if alone[0] < t < alone[1]]
    numbers = [read[0] for _, plane in large if (read := recordings.strip(plane))]
    assert len(numbers) > 0.8 * len(large), "pictures that cannot be read"
    sent = [s["publisher"]["video"]["framesEncoded"] for s in alice.all("stats") if alone[0] < s["time"] - start < alone[1]]
    assert len(set(numbers)) > 0.5 * (sent[-1] - sent[0]) > 0, "the picture stands still"
    both = [plane for t, plane in pictures if together[0] + 1 < t < together[1] - 1]
    assert both and all(recordings.strip(plane[120:600, :640]) or recordings.strip(plane[120:600, 640:]) for plane in both[::20])
    plates = [plane for t, plane in pictures if t > pictures[-1][0] - 1]
    assert any(recordings.strip(plate[:, 160:1120]) is None and 20 < numpy.median(plate) < 80 and plate.max() > 200
               for plate in plates), "no name plate"

    sound = recordings.sound(film)
    bob_speaks, bob_left = (sound[int(a * recordings.RATE):int(b * recordings.RATE)] for a, b in (together, alone))
    assert abs(recordings.tone(bob_speaks) - 880) < 3 and abs(recordings.tone(bob_left) - 1000) < 30
    seconds = recordings.seconds_by_picture(large)
    # Blips can be told from Bob's tone only when he is silent.
    pairs = [(b + alone[0], min(seconds, key=lambda s: abs(s - b - alone[0]))) for b in recordings.blips(bob_left)]
    apart = [1000 * (b - s) for b, s in pairs if abs(b - s) < 0.4]
    assert apart and abs(statistics.median(apart)) <= 40, apart

    with zipfile.ZipFile(download(server, single, "films.zip")) as archive:
        assert archive.testzip() is None
        archive.extractall("films")
        manifest = json.loads(archive.read(f"{single['id']}.json"))
        assert {f["filename"] for f in manifest["files"]} | {f"{single['id']}.json"} == set(archive.namelist())
    assert manifest["id"] == single["id"] and manifest["name"] == "apart" and manifest["sessionId"] == single["sessionId"]
    assert abs(manifest["createdAt"] - single["createdAt"]) < 3000
    ids = {name: one.event("publisherStreamCreated")["streamId"] for name, one in (("alice", alice), ("bob", bob))}
    files = {f["streamId"]: f for f in manifest["files"]}
    assert set(files) == set(ids.values())
    # From the archive's beginning, to which the film's is near.
    created = single["createdAt"] / 1000
    for name, end in (("alice", (ending - created, ended - created)), ("bob", [moment + start - created for moment in (together[1], alone[1])])):
        file = files[ids[name]]
        path = f"films/{file['filename']}"
        assert file["size"] == os.path.getsize(path) and file["videoType"] == "camera"
        assert file["startTimeOffset"] / 1000 < together[0] + start - created, file
        assert end[0] - 2.5 < file["stopTimeOffset"] / 1000 < end[1] + 1, (file, end)
        length = float(recordings.probe(path)["format"]["duration"])
        assert abs(1000 * length - (file["stopTimeOffset"] - file["startTimeOffset"])) < 300
    assert abs(recordings.tone(recordings.sound(f"films/{files[ids['bob']]['filename']}")[recordings.RATE:4 * recordings.RATE]) - 880) < 3
    apart = recordings.offsets(f"films/{files[ids['alice']]['filename']}")
    assert len(apart) >= 5 and abs(statistics.median(apart)) <= 40, apart


def test_a_killed_server_loses_two_seconds(binary, connect, server, home):
    publishers = two_publishers(connect)
    started = {mode: post(server, "/archive/start", {"outputMode": mode, "multiArchiveTag": mode})["id"]
               for mode in ("composed", "individual")}
    for one in publishers:
        one.stats(lambda s: sum(peer["video"]["framesSent"] > 30 for peer in s["publisher"]["subscribers"]) == 2, "two recorders")
    began = time.monotonic()
    time.sleep(8)
    lasted = time.monotonic() - began
    server.process.kill()
    server.process.wait(LIMIT)
    with Server(binary, "--archive-dir", "archives") as again:
        for mode, archive in started.items():
            found = finished(again, archive)
            assert found["status"] == "available", found
            if mode == "composed":
                length = float(recordings.probe(download(again, found, "film.mp4"))["format"]["duration"])
                assert length > lasted - 3, (length, lasted)
            else:
                with zipfile.ZipFile(download(again, found, "films.zip")) as files:
                    manifest = json.loads(files.read(f"{archive}.json"))
                    assert len(manifest["files"]) == 2
                    assert all(f["stopTimeOffset"] > 1000 * (lasted - 3) for f in manifest["files"]), (manifest, lasted)


def test_what_was_answered_outlives_a_kill(binary, connect, server, home):
    """Killed within the next instruction after the answer: started, stopped and deleted archives are so afterwards."""
    def killed(running):
        running.process.kill()
        running.process.wait(LIMIT)

    first = connect("--video-source", "test", "--audio-source", "tone:440", "--subscribe", "none")
    first.event("publisherStreamCreated")
    started = post(server, "/archive/start", {"name": "kept"})
    killed(server)
    with Server(binary, "--archive-dir", "archives") as again:
        assert again.get("/archive")["count"] == 1
        assert finished(again, started["id"])["name"] == "kept"
        request = urllib.request.Request(f"{again.url}/archive/{started['id']}", method="DELETE")
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            assert answer.status == 204
        killed(again)
    with Server(binary, "--archive-dir", "archives") as last:
        assert last.get("/archive") == {"count": 0, "items": []}
    assert not os.listdir("archives"), "its files are gone too"
