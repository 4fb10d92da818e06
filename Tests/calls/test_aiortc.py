"""aiortc, a WebRTC stack that is neither ours nor a browser's, in a call with otchat, both directions."""
import json
import pathlib
import subprocess
import sys

import pytest

from otchat import Process, subscriber

PARTICIPANT = str(pathlib.Path(__file__).parent / "aiortc_participant.py")


@pytest.fixture(scope="module")
def addressed_namespace():
    """aiortc gathers no loopback candidates: it needs another address of this machine."""
    addresses = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout.split()
    if not addresses:
        pytest.skip("this machine has no address but loopback, and aiortc gathers none there")


def test_aiortc_sees_and_hears_otchat(connect, server, addressed_namespace):
    connect("--name", "otchat", "--video-source", "test", "--audio-source", "tone:440", "--audio-sink", "null")
    with Process([sys.executable, PARTICIPANT, server.url, "--subscribe", "--seconds", "6"]) as aiortc:
        assert aiortc.exit_code(40) == 0, aiortc.last_words()
        seen = json.loads(aiortc.lines[-1])
    assert (seen["width"], seen["height"]) == (640, 480)
    assert seen["frames"] >= 25 * 5 and seen["distinct"] >= 20 * 5, seen
    assert seen["samples"] >= 48000 * 5
    assert abs(seen["toneHz"] - 440) < 5


def test_otchat_sees_and_hears_aiortc(connect, server, addressed_namespace):
    otchat = connect("--name", "otchat", "--no-publish", "--audio-sink", "null")
    with Process([sys.executable, PARTICIPANT, server.url, "--publish", "--seconds", "6"]) as aiortc:
        stats = otchat.stats(lambda s: subscriber(s, "video")["framesPerSecond"] >= 25 and subscriber(s, "audio")["totalAudioEnergy"] > 0,
                             "aiortc's picture and sound", 25)
        assert subscriber(stats, "video")["frameWidth"] == 640
        assert -25 < subscriber(stats, "audio")["audioLevel"] < -5
        assert aiortc.exit_code(40) == 0, aiortc.last_words()
    otchat.event("streamDestroyed", name="aiortc", reason="clientDisconnected")
