"""otchat processes as a test sees them: JSON Lines events, commands on stdin, a deadline for each wait."""
import json
import os
import queue
import subprocess
import threading
import time
import urllib.request


#: Seconds that anything may take on a busy machine. Whoever waits for a condition waits so long; a test that needs
#: to know that something was quick compares with what happened meanwhile, never with a clock.
LIMIT = 120


class Timeout(AssertionError):
    """A wait that ended without what it waited for; says what there was instead."""


class Process:
    """A child with its lines read by threads, so that no pipe fills up and every wait can end."""

    def __init__(self, command, environment=None):
        self.command, self.started = command, time.time()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | (environment or {}), start_new_session=True)
        self.lines, self.errors, self.arrived = [], [], queue.Queue()
        self.threads = [threading.Thread(target=self._read, args=a, daemon=True)
                        for a in ((self.process.stdout, self.lines), (self.process.stderr, self.errors))]
        for thread in self.threads:
            thread.start()

    def _read(self, stream, into):
        for line in stream:
            into.append(line.rstrip("\n"))
            self.arrived.put(None)
        self.arrived.put(None)

    def wait_until(self, condition, what, seconds=LIMIT):
        """The first true value of condition(); raises Timeout with the process's last words."""
        deadline = time.monotonic() + seconds
        while True:
            if value := condition():
                return value
            left = deadline - time.monotonic()
            ended = self.process.poll() is not None and not any(t.is_alive() for t in self.threads)
            if ended and (value := condition()):
                return value
            if left <= 0 or ended:
                why = f"it exited with {self.process.returncode}" if ended else f"not within {seconds} s"
                raise Timeout(f"{what}: {why}\n{' '.join(self.command)}\n" + self.last_words())
            try:
                self.arrived.get(timeout=min(left, 0.25))
            except queue.Empty:
                pass

    def last_words(self):
        lines = [line[:300] for line in self.lines if '"event":"stats"' not in line]
        return "stdout:\n  " + "\n  ".join(lines[-12:]) + "\nstderr:\n  " + "\n  ".join(self.errors[-12:])

    def exit_code(self, seconds=LIMIT):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Timeout(f"it did not exit within {seconds} s\n{' '.join(self.command)}\n{self.last_words()}") from None
        for thread in self.threads:
            thread.join(LIMIT)
        return code

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(LIMIT)
        for thread in self.threads:
            thread.join(LIMIT)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except (BrokenPipeError, OSError):
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Otchat(Process):
    """`otchat connect --events -`."""

    @property
    def events(self):
        found = []
        for line in list(self.lines):
            try:
                found.append(json.loads(line))
            except ValueError:
                raise AssertionError(f"stdout holds a line that is no JSON: {line!r}") from None
        return found

    def all(self, event, /, **fields):
        return [e for e in self.events
                if e["event"] == event and all(e.get(k) == v for k, v in fields.items())]

    def event(self, event, seconds=LIMIT, /, after=None, **fields):
        """The first event of this name with these fields, after another event if given."""
        def found():
            return next((e for e in self.all(event, **fields) if after is None or e["time"] > after["time"]), None)
        return self.wait_until(found, f"event {event} {fields or ''}", seconds)

    def stats(self, condition, what, seconds=LIMIT):
        """The first stats event, from now on, for which the condition holds."""
        seen = len(self.events)

        def found():
            for e in self.events[seen:]:
                if e["event"] == "stats":
                    try:
                        if condition(e):
                            return e
                    except (KeyError, IndexError, TypeError):
                        pass
            return None
        return self.wait_until(found, f"stats with {what}", seconds)

    def command_line(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()


class Server(Process):
    """`otchat serve` on a free port."""

    def __init__(self, binary, *arguments, port=0, prefix=()):
        super().__init__([*prefix, binary, "serve", "--port", str(port), "--events", "-", *arguments])
        line = self.wait_until(
            lambda: next((e for e in map(self._json, list(self.lines)) if e.get("event") == "listening"), None),
            "event listening")
        self.url = line["url"]

    @staticmethod
    def _json(line):
        try:
            return json.loads(line)
        except ValueError:
            return {}

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=LIMIT) as answer:
            return json.load(answer)


def subscriber(stats, kind):
    return stats["subscribers"][0][kind]


def figure(stats, path):
    """stats["a"][0]["b"] by "a.0.b"; None where there is none."""
    for name in path.split("."):
        try:
            stats = stats[int(name) if name.isdigit() else name]
        except (KeyError, IndexError):
            return None
    return stats


def share(start, end, arrived, sender, sent):
    """The growth of the figure `arrived` between two stats events of a receiver, as a share of the growth of the
    sender's figure `sent` in that time: it does not matter how fast the machine was."""
    counts = [figure(e, sent) for e in sender.all("stats") if start["time"] <= e["time"] <= end["time"]]
    counts = [count for count in counts if count is not None]
    assert len(counts) > 1 and counts[-1] > counts[0], f"nothing was sent meanwhile: {counts}"
    return (figure(end, arrived) - figure(start, arrived)) / (counts[-1] - counts[0])


PICTURES = "subscribers.0.video.framesDecoded"


def both_ways(one, other, pictures=60):
    """So many pictures are shown at each end, and not far fewer than the other one has sent."""
    for receiver, sender in ((one, other), (other, one)):
        receives(receiver, sender, pictures)


def receives(receiver, sender, pictures=60):
    """Waits for so many pictures; the stats event then. Most that were sent meanwhile must have been shown."""
    start = receiver.stats(lambda s: figure(s, PICTURES), "a picture")
    end = receiver.stats(lambda s: figure(s, PICTURES) >= figure(start, PICTURES) + pictures, f"{pictures} pictures more")
    part = share(start, end, PICTURES, sender, "publisher.video.framesSent")
    assert part > 0.6, f"{part:.2f} of the pictures that were sent are shown"
    return end
