"""What otchat does with cameras and a sound card. Runs on the machine of `vm`, where everything is twenty times
slower: pictures are small, waits are long.

An argument chooses tests whose name holds it. After OTCHAT_DEVICES_SECONDS no further test is begun, which is said and
counted: a machine may be slow, but no test is.
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback
import wave

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "calls"))
from otchat import Otchat, Server, subscriber  # noqa: E402

BINARY = os.environ["OTCHAT"]
#: For each wait, in seconds: the longest takes 10 where nothing else runs.
LIMIT = 180
QUIET = ("--audio-source", "silence", "--audio-sink", "null")
SMALL = ("--resolution", "320x180", "--frame-rate", "10")


def connect(server, *arguments):
    return Otchat([BINARY, "connect", "--server", server.url, "--events", "-", "--stats", "1", "--subscribe", "self",
                   "--timeout", "200", *arguments])


def a_failed_start(server, *arguments):
    with connect(server, *arguments) as participant:
        code = participant.exit_code(LIMIT)
        return code, "\n".join(participant.errors)


def sees(participant, frames, after=0, size=(320, 180)):
    """Waits until that many more pictures of this size have been decoded."""
    return participant.stats(
        lambda s: subscriber(s, "video")["framesDecoded"] >= after + frames
        and (subscriber(s, "video")["frameWidth"], subscriber(s, "video")["frameHeight"]) == size,
        f"{frames} pictures after {after}", LIMIT)


def test_devices_are_listed(server):
    done = subprocess.run([BINARY, "devices", "--json"], capture_output=True, text=True, timeout=LIMIT, check=True)
    devices = json.loads(done.stdout)
    assert [c["path"] for c in devices["cameras"]] == ["/dev/video0", "/dev/video1"], devices
    assert all("vivid" in c["name"] and c["spec"] == "camera:" + c["path"] for c in devices["cameras"])
    modes = devices["cameras"][0]["modes"]
    assert {"format": "yuyv", "width": 320, "height": 180, "frameRate": 30} in modes, modes[:5]
    for kind in ("microphones", "speakers"):
        assert "plughw:CARD=Loopback,DEV=0" in " ".join(d["spec"] for d in devices[kind]), devices[kind]
    text = subprocess.run([BINARY, "devices"], capture_output=True, text=True, timeout=LIMIT, check=True).stdout
    assert "camera:/dev/video0" in text and "320x180 " in text, text


def test_a_camera_call_and_swap(server):
    with connect(server, *QUIET, *SMALL, "--video-source", "camera:0", "--video-source", "camera:/dev/video1") as alice:
        # Of the camera's 30 a second no more than 10 are sent, however they are bunched.
        begin = alice.stats(lambda s: s["publisher"]["video"]["framesEncoded"] > 0, "a first picture", LIMIT)
        first = sees(alice, 20)
        later = alice.stats(lambda s: s["time"] > begin["time"] + 3, "figures of three seconds", LIMIT)
        sent = later["publisher"]["video"]["framesEncoded"] - begin["publisher"]["video"]["framesEncoded"]
        assert sent <= 12 * (later["time"] - begin["time"]) + 12, (sent, begin["time"], later["time"])
        alice.command_line("swap-camera")
        assert alice.event("cameraChanged", LIMIT)["source"] == "camera:/dev/video1"
        second = sees(alice, 20, subscriber(first, "video")["framesDecoded"])
        assert second["subscribers"][0]["streamId"] == first["subscribers"][0]["streamId"]
        assert not alice.all("streamDestroyed") and not alice.all("warning"), alice.all("warning")
        # The first one is free now, and the second is not.
        subprocess.run(["v4l2-ctl", "-d", "/dev/video0", "--stream-mmap", "--stream-count=2"], timeout=LIMIT, check=True,
                       stderr=subprocess.DEVNULL)
        code, errors = a_failed_start(server, *QUIET, "--video-source", "camera:1")
        assert code == 75 and "in use by another program" in errors and "fuser -v /dev/video1" in errors, (code, errors)
        # Off, it is given back.
        alice.command_line("mute-camera")
        alice.event("cameraChanged", LIMIT, value=False)
        subprocess.run(["v4l2-ctl", "-d", "/dev/video1", "--stream-mmap", "--stream-count=2"], timeout=LIMIT, check=True,
                       stderr=subprocess.DEVNULL)
        alice.command_line("unmute-camera")
        sees(alice, 10, subscriber(second, "video")["framesDecoded"] + 5)


def test_the_nearest_mode_is_scaled(server):
    with connect(server, *QUIET, "--resolution", "320x240", "--frame-rate", "5", "--video-source", "camera") as alice:
        sees(alice, 5, size=(320, 240))


def test_a_forbidden_camera_says_what_to_do(server):
    os.chmod("/dev/video0", 0o600)
    home = tempfile.mkdtemp()
    os.chmod(home, 0o777)
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", BINARY, "connect", "--server", server.url, *QUIET,
         "--timeout", "200", "--video-source", "camera:/dev/video0"],
        env=os.environ | {"HOME": home}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 77, (done.returncode, done.stderr)
    assert "permission denied" in done.stderr and "group 'video'" in done.stderr, done.stderr


def test_an_unknown_camera_names_those_there_are(server):
    code, errors = a_failed_start(server, *QUIET, "--video-source", "camera:Nonesuch")
    assert code == 66 and 'there is no camera "Nonesuch"' in errors and "vivid" in errors, (code, errors)


def test_sound_goes_in_and_out(server):
    folder = pathlib.Path(tempfile.mkdtemp())
    tone = folder / "tone.wav"
    # At a rate that otchat has to convert: what is played decides what the other end of the card can.
    with wave.open(str(tone), "wb") as out:
        out.setparams((2, 2, 44100, 0, "NONE", ""))
        second = b"".join(int(8192 * math.sin(2 * math.pi * 441 * i / 44100)).to_bytes(2, "little", signed=True) * 2
                          for i in range(44100))
        out.writeframes(second * 120)
    player = subprocess.Popen(["aplay", "-q", "-D", "hw:Loopback,0,0", str(tone)])
    heard = folder / "heard.wav"
    try:
        with connect(server, "--video-source", "none", "--no-aec", "--audio-source", "mic:hw:Loopback,1,0", "--audio-sink",
                     "speaker:hw:Loopback,0,1") as alice:
            # The first figures are of a second that began in silence.
            alice.stats(lambda s: abs(subscriber(s, "audio")["toneHz"] - 441) < 3
                        and -18 < subscriber(s, "audio")["audioLevel"] < -12, "441 Hz at -15 dB", LIMIT)
            subprocess.run(["arecord", "-q", "-D", "plughw:Loopback,1,1", "-f", "S16_LE", "-r", "48000", "-c", "1", "-d", "3",
                            str(heard)], timeout=LIMIT, check=True)
    finally:
        player.terminate()
        player.wait()
    with wave.open(str(heard)) as recorded:
        data = recorded.readframes(recorded.getnframes())
    samples = [int.from_bytes(data[i:i + 2], "little", signed=True) / 32768 for i in range(0, len(data) - 1, 2)]

    def power(hertz):
        """Of the loudest of some pieces: the machine is slow enough for gaps."""
        found = 0
        for start in range(0, len(samples) - 4800, 9600):
            real = sum(samples[start + i] * math.cos(2 * math.pi * hertz * i / 48000) for i in range(4800))
            imaginary = sum(samples[start + i] * math.sin(2 * math.pi * hertz * i / 48000) for i in range(4800))
            found = max(found, (real * real + imaginary * imaginary) / 4800**2)
        return 10 * math.log10(found + 1e-12)

    # A sine of amplitude 0.25 has -18; gaps make it less. Tests/calls/test_sound.py is stricter, in real time.
    assert -32 < power(441) < -16, power(441)
    assert power(880) < power(441) - 10, (power(441), power(880))


def plug(driver, device, there):
    """What the kernel does with a device's driver when it is plugged in or out. Returns when all have let go of it."""
    name = "bind" if there else "unbind"
    subprocess.run(["sh", "-c", f"echo {device} >/sys/bus/platform/drivers/{driver}/{name}"], timeout=LIMIT, check=True)


class Tone:
    """A player of a tone on the sound card, as long as the card is there."""

    def __init__(self, path, hertz):
        with wave.open(str(path), "wb") as out:
            out.setparams((2, 2, 48000, 0, "NONE", ""))
            second = b"".join(int(8192 * math.sin(2 * math.pi * hertz * i / 48000)).to_bytes(2, "little", signed=True) * 2
                              for i in range(48000))
            out.writeframes(second * 600)
        self.path = path

    def __enter__(self):
        self.player = subprocess.Popen(["aplay", "-q", "-D", "plughw:Loopback,0,0", str(self.path)], stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.player.terminate()
        self.player.wait(LIMIT)


def test_a_sound_card_is_unplugged_and_comes_back(server):
    path = pathlib.Path(tempfile.mkdtemp()) / "tone.wav"

    def hears(participant, condition, what):
        return participant.stats(lambda s: condition(subscriber(s, "audio")), what, LIMIT)

    def warns(participant, *parts):
        participant.wait_until(
            lambda: any(all(part in w["message"] for part in parts) for w in participant.all("warning")),
            f"a warning of {parts}", LIMIT)

    with connect(server, "--video-source", "none", "--no-aec", "--audio-source", "mic:hw:Loopback,1,0", "--audio-sink",
                 "speaker:hw:Loopback,0,1") as alice:
        with Tone(path, 480):
            hears(alice, lambda a: abs(a["toneHz"] - 480) < 3 and a["audioLevel"] > -20, "480 Hz")
            plug("snd_aloop", "snd_aloop.0", False)
        for name in ("hw:Loopback,1,0", "hw:Loopback,0,1"):
            warns(alice, name, "it is tried again")
        # The call goes on, in silence.
        quiet = hears(alice, lambda a: a["audioLevel"] < -80, "silence")
        hears(alice, lambda a: a["packetsReceived"] > subscriber(quiet, "audio")["packetsReceived"] + 20, "packets")
        listed = json.loads(subprocess.run([BINARY, "devices", "--json"], capture_output=True, text=True, timeout=LIMIT,
                                           check=True).stdout)
        assert "Loopback" not in json.dumps([listed["microphones"], listed["speakers"]]), listed
        plug("snd_aloop", "snd_aloop.0", True)
        for name in ("hw:Loopback,1,0", "hw:Loopback,0,1"):
            warns(alice, name, "is back")
        with Tone(path, 720):
            hears(alice, lambda a: abs(a["toneHz"] - 720) < 3 and a["audioLevel"] > -20, "720 Hz")
        assert not alice.all("error") and not alice.all("streamDestroyed")


def test_the_first_camera_is_plugged_in_during_a_call(server):
    # Both are one device to the kernel.
    plug("vivid", "vivid.0", False)
    try:
        assert not list(pathlib.Path("/dev").glob("video*"))
        # As without any flag.
        with connect(server, *QUIET, *SMALL) as alice:
            assert "there is no camera: a test picture is sent" in alice.event("warning", LIMIT)["message"]
            before = sees(alice, 10)
            assert not alice.all("cameraChanged")
            plug("vivid", "vivid.0", True)
            seen = alice.event("cameraChanged", LIMIT)
            assert seen["source"] == "camera" and seen["value"], seen
            sees(alice, 20, subscriber(before, "video")["framesDecoded"])
            # It is in use.
            code, errors = a_failed_start(server, *QUIET, "--video-source", "camera")
            assert code == 75 and "in use by another program" in errors, (code, errors)
            assert len(alice.all("streamCreated")) <= 1 and not alice.all("streamDestroyed")
    finally:
        if not pathlib.Path("/dev/video0").exists():
            plug("vivid", "vivid.0", True)


def test_an_unplugged_camera_gives_way_to_the_next(server):
    with connect(server, *QUIET, *SMALL, "--video-source", "camera:0", "--video-source", "camera:1") as alice:
        before = sees(alice, 10)
        # From now on the driver says that the device is gone.
        subprocess.run(["v4l2-ctl", "-d", "/dev/video0", "-c", "disconnect=1"], timeout=LIMIT, check=True)
        assert "there is no camera" in alice.event("warning", LIMIT)["message"]
        assert alice.event("cameraChanged", LIMIT)["source"] == "camera:1"
        sees(alice, 20, subscriber(before, "video")["framesDecoded"])
        # Plugged in again, it is taken again.
        plug("vivid", "vivid.0", False)
        plug("vivid", "vivid.0", True)
        back = alice.event("cameraChanged", LIMIT, source="camera:0")
        last = alice.stats(lambda s: s["time"] > back["time"], "figures", LIMIT)
        sees(alice, 10, subscriber(last, "video")["framesDecoded"])


def main():
    chosen = [f for name, f in globals().items()
              if name.startswith("test_") and (len(sys.argv) < 2 or sys.argv[1] in name)]
    assert chosen, "no test has such a name"
    os.chdir(tempfile.mkdtemp())
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        os.environ[name] = tempfile.mkdtemp()
    failures, skipped = 0, 0
    end = time.monotonic() + float(os.environ.get("OTCHAT_DEVICES_SECONDS") or "inf")
    with Server(BINARY) as server:
        for test in chosen:
            began = time.monotonic()
            if began > end:
                skipped += 1
                print(f"skipped        {test.__name__}: this machine has been too slow", flush=True)
                continue
            try:
                test(server)
                result = "ok"
            except Exception:
                traceback.print_exc(file=sys.stdout)
                result, failures = "FAILED", failures + 1
            print(f"{result:7}{time.monotonic() - began:5.0f} s  {test.__name__}", flush=True)
    print(f"{len(chosen) - failures - skipped} of {len(chosen)} passed, {skipped} skipped", flush=True)
    return 1 if failures else 0


sys.exit(main())
