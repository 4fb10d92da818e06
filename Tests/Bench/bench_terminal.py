"""A call on a terminal of 160x45 cells beside the same call without one: what drawing costs, and what a slow terminal
costs the media."""
import fcntl
import json
import os
import pathlib
import pty
import struct
import subprocess
import termios
import threading
import time

COLUMNS, ROWS = 160, 45
# 16:9 fills that window, as cells are twice as high as wide.
SOURCE = ["--resolution", "640x360", "--frame-rate", "30", "--video-bitrate", "1000"]


class Terminal:
    """A terminal that draws as fast as it is told to, and says when it has drawn something (DSR)."""

    def __init__(self, command, rate=None):
        """rate: bytes a second; None: as fast as they come."""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, COLUMNS * 10, ROWS * 20))
        environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL", "TMUX")}
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL, start_new_session=True,
            env=environment | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"})
        os.close(slave)
        self.rate, self.bytes, self.screens = rate, 0, 0
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        began, kept = time.monotonic(), b""
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            if not data:
                return
            self.bytes += len(data)
            if self.rate:
                time.sleep(max(0, began + self.bytes / self.rate - time.monotonic()))
                began = max(began, time.monotonic() - self.bytes / self.rate - 0.05)
            kept = (kept[-8:] if kept else b"") + data
            new = len(kept) - len(data)
            for question, answer in ((b"\x1b[5n", b"\x1b[0n"), (b"\x1b[c", b"\x1b[?62;22c")):
                # Only what ends in the new bytes.
                count = kept[max(0, new - len(question) + 1):].count(question)
                self.screens += count if question == b"\x1b[5n" else 0
                os.write(self.master, answer * count)

    def end(self):
        os.write(self.master, b"q")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        os.close(self.master)


class EventFile:
    def __init__(self, path):
        self.path = pathlib.Path(path)

    def all(self, name):
        text = self.path.read_text() if self.path.exists() else ""
        events = [json.loads(line) for line in text.split("\n")[:-1]]
        return [e for e in events if e["event"] == name]

    def wait(self, condition, what, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := condition(self):
                return found
            time.sleep(0.05)
        raise AssertionError(f"{what}: not within {seconds} s")


def video(stats):
    return stats["subscribers"][0]["video"]


def receive(binary, url, folder, name, seconds, rate=None, render="symbols"):
    """Figures over `seconds` of a call that has become steady."""
    path = os.path.join(folder, name)
    events = EventFile(path)
    terminal = Terminal([
        binary, "connect", "--server", url, "--no-publish", "--render", render, "--audio-sink", "null", "--events", path,
        "--stats", "1"], rate)
    try:
        first = events.wait(lambda e: next((
            s for s in e.all("stats") if s["subscribers"] and video(s).get("framesPerSecond", 0) >= 28), None), "a picture")
        start = events.wait(lambda e: next((s for s in e.all("stats") if s["time"] >= first["time"] + 3), None), "a first look")
        drawn, sent = terminal.screens, terminal.bytes
        end = events.wait(
            lambda e: next((s for s in e.all("stats") if s["time"] >= start["time"] + seconds), None), "a later look",
            seconds + 20)
        drawn, sent = terminal.screens - drawn, terminal.bytes - sent
    finally:
        terminal.end()
    span = end["time"] - start["time"]

    def grown(counter):
        return video(end).get(counter, 0) - video(start).get(counter, 0)

    return {
        "cpu": (end["process"]["cpuSeconds"] - start["process"]["cpuSeconds"]) / span,
        "decoded": grown("framesDecoded") / span,
        "drawn": drawn / span,
        "bytes": sent / max(1, drawn),
        "lost": grown("packetsLost"),
        "freezes": grown("freezeCount"),
        "dropped": grown("framesDropped"),
        "delay": 1000 * grown("jitterBufferDelay") / max(1, grown("jitterBufferEmittedCount")),
    }


def film(folder):
    """Colours that flow into each other: the picture changes everywhere, and there are bits enough for it."""
    path = os.path.join(folder, "film.webm")
    subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "gradients=size=640x360:rate=30:speed=0.03:seed=1:nb_colors=4",
         "-t", "20", "-pix_fmt", "yuv420p", "-c:v", "libvpx", "-b:v", "1500k", "-deadline", "realtime", "-cpu-used", "8", path],
        check=True, timeout=60)
    return path


def run(binary, server, publish, folder, seconds):
    """The test pattern without pictures and on a fast terminal; then a film that changes everywhere, without pictures,
    on a fast terminal, and on one of 1 MB/s, which is far too slow for it."""
    # With the second source comes what swap-camera swaps to.
    with publish(server, *SOURCE, "--video-source", f"file:{film(folder)}") as sender:
        sender.event("publisherStreamCreated", 20)
        found = {}
        for name, rate, render in (
                ("none", None, "none"), ("fast", None, "symbols"), ("filmNone", None, "none"),
                ("filmFast", None, "symbols"), ("filmSlow", 1_000_000, "symbols")):
            if name == "filmNone":
                sender.command_line("swap-camera")
            found[name] = receive(binary, server.url, folder, name, seconds, rate, render)
        return found
