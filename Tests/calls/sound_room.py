"""Sound devices without a sound card: a PulseAudio of its own with null sinks, as ALSA's default."""
import array
import math
import os
import subprocess
import time
import wave

from otchat import LIMIT


class SoundRoom:
    """Source "mic" hears what is played into sink "air"; sink "speaker" is what a person would hear.

    With `echo`, the microphone hears the loudspeaker too, that many decibels quieter.
    """

    def __init__(self, folder, echo=None):
        self.folder, self.started = folder, []
        (folder / "pulse.pa").write_text(
            f"load-module module-native-protocol-unix socket={folder}/socket auth-anonymous=1\n"
            "load-module module-null-sink sink_name=speaker rate=48000\n"
            "load-module module-null-sink sink_name=air rate=48000\n"
            "load-module module-remap-source master=air.monitor source_name=mic\n"
            + ("load-module module-loopback source=speaker.monitor sink=air latency_msec=40\n" if echo is not None else "")
            + "set-default-sink speaker\nset-default-source mic\n")
        (folder / "asound.conf").write_text(
            "</usr/share/alsa/alsa.conf>\npcm.!default { type pulse }\nctl.!default { type pulse }\n")
        home = {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "XDG_CONFIG_HOME": str(folder),
                "DBUS_SESSION_BUS_ADDRESS": ""}
        self.log = open(folder / "pulse.log", "w")
        self.run("pulseaudio", "-n", "-F", str(folder / "pulse.pa"), "--daemonize=no", "--use-pid-file=no",
                 "--exit-idle-time=-1", "--disable-shm=yes", "--log-target=stderr", environment=home)
        #: For a program that is to use these devices.
        self.environment = {"PULSE_SERVER": f"unix:{folder}/socket", "ALSA_CONFIG_PATH": str(folder / "asound.conf")}
        self.until(lambda: self.control("info") is not None, "PulseAudio")
        if echo is not None:
            self.until(lambda: "module-loopback" in (self.control("list", "sink-inputs") or ""), "the echo")
            number = next(line for line in self.control("list", "short", "sink-inputs").splitlines()).split()[0]
            self.control("set-sink-input-volume", number, f"-{echo}dB")

    def run(self, *command, environment=None, **options):
        process = subprocess.Popen(command, env=os.environ | (environment or self.environment), stdin=subprocess.DEVNULL,
                                   stdout=self.log, stderr=self.log, **options)
        self.started.append(process)
        return process

    def control(self, *arguments):
        done = subprocess.run(["pactl", *arguments], env=os.environ | self.environment | {"LC_ALL": "C"}, text=True,
                              capture_output=True, timeout=LIMIT)
        return done.stdout if done.returncode == 0 else None

    def until(self, condition, what, seconds=LIMIT):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"{what}: not within {seconds} s\n" + (self.folder / "pulse.log").read_text()[-2000:]
            time.sleep(0.1)

    def play(self, samples, into="air"):
        """Mono samples from -1 to 1 at 48 kHz, from now on."""
        path = self.folder / f"play-{len(self.started)}.wav"
        with wave.open(str(path), "wb") as out:
            out.setparams((1, 2, 48000, 0, "NONE", ""))
            out.writeframes(array.array("h", (int(32767 * max(-1, min(1, x))) for x in samples)).tobytes())
        return self.run("paplay", f"--device={into}", str(path))

    def record(self, source="speaker.monitor"):
        """Begins to record; `heard` ends it."""
        path = self.folder / f"record-{len(self.started)}.raw"
        process = self.run("parec", f"--device={source}", "--format=s16le", "--rate=48000", "--channels=1", "--raw", str(path))
        self.until(lambda: path.exists() and path.stat().st_size > 0, "a recorder")
        return process, path

    def heard(self, recording):
        process, path = recording
        process.terminate()
        process.wait(LIMIT)
        return [x / 32768 for x in array.array("h", path.read_bytes()[: path.stat().st_size & ~1])]

    def close(self):
        for process in reversed(self.started):
            process.terminate()
        for process in self.started:
            try:
                process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(LIMIT)
        self.log.close()


def tone(hertz, seconds, amplitude=0.25):
    return [amplitude * math.sin(2 * math.pi * hertz * i / 48000) for i in range(int(seconds * 48000))]


def level(samples):
    """RMS in dB of full scale."""
    return 10 * math.log10(sum(x * x for x in samples) / max(1, len(samples)) + 1e-13)


def level_at(samples, hertz):
    """The level of one frequency, in dB of full scale (a sine of amplitude 1 has -3), over pieces of 25 ms.

    Longer ones would see a tone as quieter that is played half a percent faster or slower, as drift is made up for."""
    best = []
    for start in range(0, len(samples) - 1200, 1200):
        a = b = 0.0
        for i in range(1200):
            angle = 2 * math.pi * hertz * i / 48000
            a += samples[start + i] * math.cos(angle)
            b += samples[start + i] * math.sin(angle)
        best.append(10 * math.log10(2 * (a * a + b * b) / 1200**2 + 1e-13))
    best.sort()
    return best[len(best) // 2] if best else -130
