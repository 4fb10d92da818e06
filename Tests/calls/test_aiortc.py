"""aiortc, a WebRTC stack that is neither ours nor a browser's, in a call with otchat, both directions."""
import json
import pathlib
import subprocess
import sys

import pytest

from otchat import Process, figure, subscriber

PARTICIPANT = str(pathlib.Path(__file__).parent / "aiortc_participant.py")


@pytest.fixture(scope="module")
def addressed_namespace():
    """aiortc gathers no loopback candidates: it needs another address of this machine."""
    addresses = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout.split()
    if not addresses:
        pytest.skip("this machine has no address but loopback, and aiortc gathers none there")


def test_aiortc_sees_and_hears_otchat(connect, server, addressed_namespace):
    otchat = connect("--name", "otchat", "--video-source", "test", "--audio-source", "tone:440", "--audio-sink", "null")
    with Process([sys.executable, PARTICIPANT, server.url, "--subscribe"]) as aiortc:
        assert aiortc.exit_code() == 0, aiortc.last_words()
        seen = json.loads(aiortc.lines[-1])
    assert (seen["width"], seen["height"]) == (640, 480)
    assert seen["frames"] >= 150 and seen["distinct"] >= 0.7 * seen["frames"], seen
    # No more than half was lost on the way or given up by a machine with too much to do.
    sent = [figure(s, "publisher.video.framesSent") or 0 for s in otchat.all("stats")]
    assert seen["frames"] >= 0.5 * max(sent), (seen, max(sent))
    assert abs(seen["toneHz"] - 440) < 5


def test_otchat_sees_and_hears_aiortc(connect, server, addressed_namespace):
    otchat = connect("--name", "otchat", "--no-publish", "--audio-sink", "null")
    with Process([sys.executable, PARTICIPANT, server.url, "--publish"]) as aiortc:
        stats = otchat.stats(lambda s: subscriber(s, "video")["framesDecoded"] >= 60 and -25 < subscriber(s, "audio")["audioLevel"] < -5,
                             "aiortc's picture and sound")
        assert subscriber(stats, "video")["frameWidth"] == 640
        assert subscriber(stats, "video")["framesDecoded"] > 0.6 * subscriber(stats, "video")["framesReceived"]
        aiortc.process.stdin.close()
        assert aiortc.exit_code() == 0, aiortc.last_words()
    otchat.event("streamDestroyed", name="aiortc", reason="clientDisconnected")
