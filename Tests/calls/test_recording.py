"""`otchat connect --record`: what the file holds of a real call."""
import os
import pathlib
import statistics

import recordings
from otchat import LIMIT, figure


def test_a_recording_holds_sound_and_picture_in_time(connect, home):
    alice = connect("--name", "alice/../x", "--video-source", "test", "--audio-source", "test")
    alice.event("publisherStreamCreated")
    bob = connect("--no-publish", "--record", "films")
    started = bob.event("recordingStarted")
    first = bob.stats(lambda s: s["time"] > started["time"], "the beginning")
    last = bob.stats(lambda s: s["time"] > started["time"] + 8, "8 s of recording")
    bob.command_line("quit")
    assert bob.exit_code() == 0
    stopped = bob.event("recordingStopped")
    assert stopped["file"] == started["file"] and stopped["size"] == os.path.getsize(stopped["file"])
    assert os.listdir("films") == [pathlib.Path(stopped["file"]).name]
    assert pathlib.Path(stopped["file"]).name.startswith("alice-..-x-20")

    found = recordings.probe(stopped["file"])
    assert found["video"]["codec_name"] == "vp8" and found["audio"]["codec_name"] == "opus"
    assert (found["video"]["width"], found["video"]["height"]) == (640, 480)
    assert abs(float(found["format"]["duration"]) - stopped["duration"]) < 0.1
    assert last["time"] - started["time"] < stopped["duration"] + 0.5 < stopped["time"] - started["time"] + 3, stopped

    times = recordings.packet_times(stopped["file"], "video")
    steps = [b - a for a, b in zip(times, times[1:])]
    received = figure(last, "subscribers.0.video.framesReceived") - figure(first, "subscribers.0.video.framesReceived")
    assert len(times) > 0.9 * received, "frames are missing"
    assert min(steps) > 0
    numbers = [s[0] for _, plane in recordings.luma(stopped["file"], 640, 480) if (s := recordings.strip(plane))]
    assert len(set(numbers)) > 0.9 * len(times), "the picture stands still"

    apart = recordings.offsets(stopped["file"])
    assert len(apart) >= 5 and abs(statistics.median(apart)) <= 40, apart


def test_each_stream_has_its_file_and_tone(connect, home):
    for name, tone in (("ann", 440), ("ben", 880)):
        connect("--name", name, "--video-source", "test", "--audio-source", f"tone:{tone}").event("publisherStreamCreated")
    bob = connect("--no-publish", "--subscribe", "all", "--record", "films")
    bob.wait_until(lambda: len(bob.all("recordingStarted")) == 2, "two recordings")
    began = bob.all("recordingStarted")[1]["time"]
    bob.stats(lambda s: s["time"] > began + 6, "6 s of recording")
    bob.command_line("quit")
    assert bob.exit_code() == 0
    files = {pathlib.Path(e["file"]).name.split("-")[0]: e["file"] for e in bob.all("recordingStopped")}
    assert set(files) == {"ann", "ben"}
    for name, tone in (("ann", 440), ("ben", 880)):
        samples = recordings.sound(files[name])
        assert abs(recordings.tone(samples[recordings.RATE:4 * recordings.RATE]) - tone) < 3


def test_a_killed_recorder_leaves_what_can_be_played(connect, home):
    connect("--name", "ann", "--video-source", "test", "--audio-source", "tone:440").event("publisherStreamCreated")
    bob = connect("--no-publish", "--record", "films")
    began = bob.event("recordingStarted")
    last = bob.stats(lambda s: s["time"] > began["time"] + 5, "5 s of recording")
    bob.process.kill()
    bob.process.wait(LIMIT)
    times = {kind: recordings.packet_times(began["file"], kind) for kind in ("video", "audio")}
    for kind, stamps in times.items():
        # recordingStarted comes when 0.7 s or more wait already.
        assert stamps[-1] > last["time"] - began["time"] - 1.3, (kind, stamps[-1], last["time"] - began["time"])


def test_a_folder_that_cannot_be_written_is_told_at_once(binary, connect, home):
    pathlib.Path("file").write_text("")
    bob = connect("--no-publish", "--record", "file")
    assert bob.exit_code() == 73
    assert any("--record: file: cannot be written: Not a directory" in line for line in bob.errors), bob.errors
