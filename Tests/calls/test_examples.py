"""The programs in Examples/: each in a real call, on what docs/custom-media.md says of it."""
import math
import os
import pathlib
import subprocess

import av
import numpy
import pytest
from conftest import ROOT
from otchat import Process, subscriber
from test_screen import display  # noqa: F401

NAMES = ("FileBroadcaster", "CameraCapturer", "ScreenCapturer", "NoiseCapturer", "MonoRenderer", "NoiseAudioDevice")


@pytest.fixture
def example(home, server):
    """example('NoiseCapturer', …) starts it on the test's server; all are ended with the test."""
    folder = pathlib.Path(os.environ.get("OTCHAT_EXAMPLES", ROOT / ".build/debug"))
    started = []

    def start(name, *arguments, **options):
        path = folder / name
        assert path.exists(), f"no {path}: run 'make examples' first, or set OTCHAT_EXAMPLES"
        # what is printed comes line by line, as in a terminal
        started.append(Process(["stdbuf", "-oL", str(path), server.url, *map(str, arguments)], **options))
        return started[-1]

    yield start
    for process in started:
        process.end()


@pytest.mark.parametrize("name", NAMES)
def test_it_is_short_and_explained(name):
    assert len((ROOT / f"Examples/{name}/{name}.swift").read_text().splitlines()) <= 120
    assert f"\n## {name}\n" in (ROOT / "docs/custom-media.md").read_text()


def chroma_and_luma(path):
    """Of the last picture in a file that is still being written."""
    last = None
    with av.open(str(path)) as file:
        for frame in file.decode(video=0):
            last = frame
    assert last.format.name in ("yuv420p", "yuvj420p")
    planes = last.to_ndarray()
    return planes[last.height:], planes[:last.height]


def test_noise_is_seen(example, connect, home):
    """Of the size and at the rate that the capturer says; in all colours, and without any pattern."""
    picture = home / "noise.png"
    watcher = connect("--no-publish", "--audio-sink", "null", "--snapshot", str(picture), "--after", "5")
    example("NoiseCapturer")
    stream = watcher.event("streamCreated", 60, name="Noise")
    assert (stream["hasVideo"], stream["hasAudio"]) == (True, False)
    video = subscriber(watcher.stats(lambda s: 5 <= subscriber(s, "video")["framesPerSecond"] <= 17, "pictures"), "video")
    assert (video["frameWidth"], video["frameHeight"]) == (128, 96)
    assert watcher.exit_code(90) == 0, watcher.last_words()
    with av.open(str(picture)) as file:
        pixels = next(file.decode(video=0)).to_ndarray(format="rgb24").astype(float)
    assert pixels.shape == (96, 128, 3)
    assert all(pixels[:, :, colour].std() > 15 for colour in range(3)), pixels.std(axis=(0, 1))
    grey = pixels.mean(axis=2)
    print("standard deviations", pixels.std(axis=(0, 1)), grey.std())
    assert grey.std() > 15
    # points that are far from each other know nothing of each other
    for far in (grey[:, :-32], grey[:, 32:]), (grey[:-24], grey[24:]):
        assert abs(numpy.corrcoef(far[0].ravel(), far[1].ravel())[0, 1]) < 0.2


def test_a_renderer_leaves_out_the_colours(example, connect, home):
    film = home / "mono.y4m"
    connect("--video-source", "test", "--resolution", "320x240", "--audio-source", "none", "--audio-sink", "null",
            "--subscribe", "none").event("publisherStreamCreated")
    mono = example("MonoRenderer", film)
    frame = 320 * 240 * 3 // 2
    mono.wait_until(lambda: film.exists() and film.stat().st_size > 20 * frame, "twenty pictures", 90)
    mono.end()
    assert film.read_bytes()[:64].startswith(b"YUV4MPEG2 W320 H240 ")
    chroma, luma = chroma_and_luma(film)
    assert (chroma == 128).all()
    # the test pattern, in which there are all greys
    assert luma.shape == (240, 320) and luma.std() > 20 and luma.max() > 200 and luma.min() < 50


def noise(path):
    """Of the last two seconds in a file that is being written: level in dBFS, means of octaves, and the highest line above
    the mean, in dB."""
    if not path.exists() or path.stat().st_size < 44 + 4 * 96000:
        return None
    content = path.read_bytes()[44:]
    sound = numpy.frombuffer(content[:len(content) // 2 * 2], "<i2")[-96000:] / 32768
    spectrum = abs(numpy.fft.rfft(sound * numpy.hanning(sound.size))) ** 2 + 1e-9
    hertz = numpy.fft.rfftfreq(sound.size, 1 / 48000)

    def mean(low, high):
        return 10 * math.log10(spectrum[(hertz >= low) & (hertz < high)].mean())
    peak = 10 * math.log10(spectrum.max())
    return (10 * math.log10((sound ** 2).mean() + 1e-9), [mean(low, 2 * low) for low in (250, 500, 1000, 2000, 4000)],
            peak - mean(250, 8000))


def is_white(found):
    """As loud as what is made, -16.8 dBFS, as far as Opus keeps it; with as much of it in all octaves (pink noise would
    have 12 dB less in the last); and without any tone, which would stand out by 39 dB."""
    if not found:
        return False
    level, octaves, peak = found
    return abs(level + 16.8) < 3 and max(octaves) - min(octaves) < 6 and peak < 25


def test_devices_of_noise_hear_noise(example, home):
    """What each saves is the other's white noise: there is nobody else to hear."""
    files = [home / "one.wav", home / "two.wav"]
    for file, device in [(file, example("NoiseAudioDevice", file)) for file in files]:
        try:
            device.wait_until(lambda file=file: is_white(noise(file)), "white noise", 120)
        finally:
            print(file.name, noise(file))
        assert file.read_bytes()[:4] == b"RIFF"


def test_what_is_not_white_is_told_apart(tmp_path):
    """The test above could fail."""
    time = numpy.arange(96000 * 2) / 48000
    random = numpy.random.default_rng(1)
    white = random.uniform(-8192, 8192, time.size)
    sounds = {"white": white, "silent": 0 * time, "quiet": white / 4, "brown": numpy.cumsum(white - white.mean()) / 60,
              "tone": 8192 / 1.2247 * numpy.sin(2 * numpy.pi * 440 * time)}
    for name, sound in sounds.items():
        (tmp_path / name).write_bytes(bytes(44) + sound.clip(-32768, 32767).astype("<i2").tobytes())
    assert [name for name in sounds if is_white(noise(tmp_path / name))] == ["white"]


def test_a_film_is_broadcast(example, connect, home):
    film = home / "film.mp4"
    subprocess.run(["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=size=192x144:rate=20:duration=3",
                    "-f", "lavfi", "-i", "sine=frequency=700:duration=3", "-pix_fmt", "yuv420p", str(film)], check=True, timeout=120)
    watcher = connect("--no-publish", "--audio-sink", "null")
    broadcaster = example("FileBroadcaster", film)
    assert watcher.event("streamCreated")["name"].endswith("film.mp4")

    def plays(s):
        return subscriber(s, "video")["framesPerSecond"] >= 10 and abs(subscriber(s, "audio")["toneHz"] - 700) < 5
    video = subscriber(watcher.stats(plays, "the film"), "video")
    assert (video["frameWidth"], video["frameHeight"]) == (640, 480)
    broadcaster.wait_until(lambda: "1 are here" in broadcaster.lines, "its audience")
    watcher.end()
    broadcaster.wait_until(lambda: "0 are here" in broadcaster.lines, "nobody")


def test_a_film_that_is_not_there(example, home):
    broadcaster = example("FileBroadcaster", home / "none.mp4")
    assert broadcaster.exit_code(60) == 66
    assert any("none.mp4: no such file" in line for line in broadcaster.lines)


def test_a_screen_is_captured(example, connect, display):  # noqa: F811
    watcher = connect("--no-publish", "--audio-sink", "null")
    example("ScreenCapturer", display)
    assert watcher.event("streamCreated", 60, name="Screen")["videoType"] == "screen"
    video = subscriber(watcher.stats(lambda s: subscriber(s, "video")["framesPerSecond"] >= 5, "pictures"), "video")
    assert (video["frameWidth"], video["frameHeight"]) == (1280, 720)
    subprocess.run(["xsetroot", "-display", display, "-solid", "white"], check=True, timeout=120)
    watcher.stats(lambda s: subscriber(s, "video")["brightness"] > 0.9, "a white screen")
    subprocess.run(["xsetroot", "-display", display, "-solid", "black"], check=True, timeout=120)
    watcher.stats(lambda s: subscriber(s, "video")["brightness"] < 0.1, "a black screen")


def test_without_a_screen_or_a_camera_it_says_so(example):
    screen = example("ScreenCapturer", environment={"DISPLAY": ""})
    assert screen.exit_code(60) == 66
    assert any("there is no X11 screen" in line for line in screen.lines), screen.last_words()
    camera = example("CameraCapturer", "/dev/video99")
    assert camera.exit_code(60) == 66
    assert any("there is no camera /dev/video99" in line for line in camera.lines), camera.last_words()
