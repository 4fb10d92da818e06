"""An X11 screen as a stream of its own kind."""
import os
import subprocess

import pytest
from otchat import LIMIT, subscriber


@pytest.fixture
def display(tmp_path):
    """An X server without a screen; its number."""
    read, write = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x720x24", "-nolisten", "tcp", "-noreset"],
                              pass_fds=(write,), stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as numbers:
        yield ":" + numbers.readline().strip()
    server.terminate()
    server.wait(LIMIT)


def test_a_screen_is_shared(connect, display):
    bob = connect("--name", "bob", "--no-publish", "--audio-sink", "null")
    alice = connect("--name", "alice", "--screen", "--audio-source", "none", "--audio-sink", "null",
                    environment={"DISPLAY": display})
    assert bob.event("streamCreated", name="alice")["videoType"] == "screen"
    first = bob.stats(lambda s: subscriber(s, "video")["framesDecoded"] > 0, "a picture")
    assert (subscriber(first, "video")["frameWidth"], subscriber(first, "video")["frameHeight"]) == (1280, 720)
    # Nothing moves: a picture a second is enough, once it is sharp.
    bob.stats(lambda s: 1 <= subscriber(s, "video")["framesPerSecond"] <= 3, "a still screen")
    with subprocess.Popen(["ffplay", "-loglevel", "error", "-noborder", "-an", "-f", "lavfi", "testsrc2=size=1280x720:rate=15"],
                          env=os.environ | {"DISPLAY": display, "SDL_AUDIODRIVER": "dummy", "SDL_VIDEODRIVER": "x11"},
                          stdin=subprocess.DEVNULL) as player:
        try:
            moving = bob.stats(lambda s: subscriber(s, "video")["framesPerSecond"] >= 5, "a moving screen")
        finally:
            player.terminate()
    assert subscriber(moving, "video")["framesPerSecond"] <= 16
    assert not alice.all("warning") and not alice.all("error")


def test_without_a_screen_it_says_so(connect):
    alice = connect("--screen", "--audio-source", "none", environment={"DISPLAY": ""})
    assert alice.exit_code() == 66
    assert "there is no screen" in "\n".join(alice.errors)
