"""An X11 screen as a stream of its own kind."""
import os
import re
import subprocess
import time

import pytest
from otchat import LIMIT, PICTURES, figure, receives, subscriber


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


def similarity(one, other):
    """SSIM of two pictures' luma, 0 to 1."""
    grey = "[0]format=gray[a];[1]format=gray[b];[a][b]ssim"
    done = subprocess.run(["ffmpeg", "-hide_banner", "-i", str(one), "-i", str(other), "-lavfi", grey, "-f", "null", "-"],
                          capture_output=True, text=True, timeout=60, check=True)
    return float(re.search(r"SSIM Y:([0-9.]+)", done.stderr)[1])


def picture(path, *source):
    subprocess.run(["ffmpeg", "-loglevel", "error", "-y", *source, "-frames:v", "1", str(path)], check=True, timeout=120)
    return path


def eventually(condition, what, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"


def test_text_stays_legible(connect, display, tmp_path):
    text = tmp_path / "text"
    text.write_text("".join(f"{line:4}  The quick brown fox jumps over the lazy dog, {line * line} times.\n" for line in range(60)))
    empty = picture(tmp_path / "empty.png", "-f", "lavfi", "-i", "color=white:1280x720")
    received = tmp_path / "received.png"

    def real():
        return picture(tmp_path / "real.png", "-f", "x11grab", "-draw_mouse", "1", "-video_size", "1280x720", "-i", display)

    def arrives():
        bob = connect("--no-publish", "--audio-sink", "null", "--snapshot", str(received), "--after", "2")
        assert bob.exit_code(90) == 0, bob.last_words()
        found = similarity(received, real())
        print(f"SSIM {found}")
        return found >= 0.95

    with subprocess.Popen(["xterm", "-display", display, "-geometry", "200x54+0+0", "-e", f"cat {text}; sleep 1000"],
                          stderr=subprocess.DEVNULL) as terminal:
        try:
            eventually(lambda: similarity(empty, real()) < 0.8, "text on the screen")
            connect("--name", "alice", "--screen", "--audio-source", "none", "--audio-sink", "null", "--subscribe", "none",
                    environment={"DISPLAY": display}).event("publisherStreamCreated")
            eventually(arrives, "legible text")
        finally:
            terminal.terminate()


SCROLLING = """
line=0
while line=$((line + 1)); do
  echo "$line  The quick brown fox jumps over the lazy dog, $((line * line * 7919)) times and then again $((line * 31337)) more."
  sleep 0.025
done
"""


def test_pictures_of_scrolling_text_are_sent(connect, display):
    captured, encoded = "publisher.video.framesCaptured", "publisher.video.framesEncoded"
    bob = connect("--name", "bob", "--no-publish", "--audio-sink", "null")
    alice = connect("--name", "alice", "--screen", "--audio-source", "none", "--audio-sink", "null", "--subscribe", "none",
                    environment={"DISPLAY": display})
    bob.stats(lambda s: figure(s, PICTURES) > 0, "a picture")
    with subprocess.Popen(["xterm", "-display", display, "-geometry", "200x54+0+0", "-e", "bash", "-c", SCROLLING],
                          stderr=subprocess.DEVNULL) as terminal:
        try:
            start = alice.stats(lambda s: figure(s, captured) > 0, "pictures")

            def keeps(end):
                """Nearly all of some hundred pictures: not ten of fifteen, as when they are too coarse for a camera."""
                nonlocal start
                if figure(end, captured) < figure(start, captured) + 100:
                    return False
                kept = (figure(end, encoded) - figure(start, encoded)) / (figure(end, captured) - figure(start, captured))
                print(f"{kept:.2f} of the pictures are sent")
                first, start = start, end
                return kept >= 0.9 and first

            end = alice.stats(keeps, "nine of ten pictures of scrolling text")
            receives(bob, alice)
        finally:
            terminal.terminate()
    assert figure(end, "publisher.video.frameWidth") == 1280


def test_without_a_screen_it_says_so(connect):
    alice = connect("--screen", "--audio-source", "none", environment={"DISPLAY": ""})
    assert alice.exit_code() == 66
    assert "there is no screen" in "\n".join(alice.errors)
