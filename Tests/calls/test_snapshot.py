"""`--snapshot`: one received picture as a PNG file, and what is said when there is none."""
import struct
import subprocess

import av
import pytest

from otchat import LIMIT

MEDIA = ("--video-source", "test", "--audio-source", "silence", "--audio-sink", "null")


def snapshot(binary, server, *arguments, timeout=LIMIT):
    return subprocess.run(
        [binary, "connect", "--server", server.url, "--no-publish", *arguments], capture_output=True, text=True,
        timeout=timeout, stdin=subprocess.DEVNULL)


def size(path):
    header = path.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n" and header[12:16] == b"IHDR"
    return struct.unpack(">II", header[16:24])


@pytest.mark.parametrize("shape", ["320x240", "180x320"])
def test_the_whole_picture_is_written(binary, home, server, connect, tmp_path, shape):
    connect(*MEDIA, "--subscribe", "none", "--resolution", shape).event("publisherStreamCreated")
    folder = tmp_path / "pictures"
    folder.mkdir()
    path = folder / "one.png"
    done = snapshot(binary, server, "--snapshot", str(path), "--after", "1")
    assert done.returncode == 0, done.stderr
    assert "%dx%d" % size(path) == shape
    with av.open(str(path)) as file:
        pixels = next(file.decode(video=0)).to_ndarray(format="rgb24")
    # The test pattern, not an empty frame.
    assert pixels.std() > 20
    assert list(folder.iterdir()) == [path], "nothing else is left there"


def test_nobody_sends_a_picture(binary, home, server, tmp_path):
    path = tmp_path / "none.png"
    done = snapshot(binary, server, "--snapshot", str(path), "--timeout", "2")
    assert done.returncode == 75
    assert "no picture has come within 2 s" in done.stderr and "otchat: hint: " in done.stderr
    assert not path.exists()


def test_the_call_ends_before(binary, home, server, tmp_path):
    done = snapshot(binary, server, "--snapshot", str(tmp_path / "x.png"), "--duration", "0.5", "--timeout", "30")
    assert done.returncode == 75 and "before a picture was taken" in done.stderr


def test_where_nothing_can_be_written(binary, home, server, tmp_path):
    for path in ("/no/such/folder/x.png", str(tmp_path)):
        done = snapshot(binary, server, "--snapshot", path)
        assert done.returncode == 73 and path in done.stderr, done.stderr


def test_the_folder_is_taken_away_before(binary, home, server, connect, tmp_path):
    connect(*MEDIA, "--subscribe", "none").event("publisherStreamCreated")
    folder = tmp_path / "gone"
    folder.mkdir()
    one = connect("--no-publish", "--snapshot", str(folder / "x.png"), "--after", "10")
    one.event("firstVideoFrame")
    folder.rmdir()
    assert one.exit_code() == 73
    assert any("cannot write" in line and "gone/x.png" in line for line in one.errors)


@pytest.mark.parametrize("flags", [("--after", "1"), ("--snapshot", "x.png", "--subscribe", "none")])
def test_what_makes_no_sense_is_refused(binary, home, server, flags):
    assert snapshot(binary, server, *flags).returncode == 64
