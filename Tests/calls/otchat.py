"""otchat processes as a test sees them: JSON Lines events, commands on stdin, a deadline for each wait."""
import json
import os
import queue
import subprocess
import threading
import time
import urllib.request


class Timeout(AssertionError):
    """A wait that ended without what it waited for; says what there was instead."""


class Process:
    """A child with its lines read by threads, so that no pipe fills up and every wait can end."""

    def __init__(self, command, environment=None):
        self.command = command
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

    def wait_until(self, condition, what, seconds=10):
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

    def exit_code(self, seconds=10):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Timeout(f"it did not exit within {seconds} s\n{' '.join(self.command)}\n{self.last_words()}") from None
        for thread in self.threads:
            thread.join(5)
        return code

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(5)
        for thread in self.threads:
            thread.join(5)
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

    def event(self, event, seconds=10, /, after=None, **fields):
        """The first event of this name with these fields, after another event if given."""
        def found():
            return next((e for e in self.all(event, **fields) if after is None or e["time"] > after["time"]), None)
        return self.wait_until(found, f"event {event} {fields or ''}", seconds)

    def stats(self, condition, what, seconds=15):
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
        with urllib.request.urlopen(self.url + path, timeout=5) as answer:
            return json.load(answer)


def subscriber(stats, kind):
    return stats["subscribers"][0][kind]
