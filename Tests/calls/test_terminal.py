"""`otchat connect` on a real pseudo-terminal: picture, keys, sizes, and a terminal as it was afterwards."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from otchat import LIMIT, Timeout

MEDIA = ("--video-source", "test", "--audio-source", "tone:440", "--audio-sink", "null")


class Pty:
    """A child on a pseudo-terminal; what it wrote is read by wait_for, never by a sleep."""

    def __init__(self, command, columns=80, rows=24, **environment):
        self.master, self.slave = pty.openpty()
        self.resize(columns, rows, notify=False)
        self.before = termios.tcgetattr(self.slave)
        self.output = b""
        # A debug build would ask on the terminal what to do about a crash.
        environment = {"TERM": "xterm-256color", "LANG": "C.UTF-8", "COLORTERM": "truecolor", "SWIFT_BACKTRACE": "enable=no"} | environment
        self.process = subprocess.Popen(
            command, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL")} | environment)

    def resize(self, columns, rows, notify=True):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if notify:
            os.kill(self.process.pid, signal.SIGWINCH)

    def read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self.master, 65536)
        except OSError:
            data = b""
        self.output += data
        return data

    def wait_for(self, pattern, seconds=LIMIT, start=0):
        """Waits until the output from `start` on matches; returns the match."""
        deadline = time.monotonic() + seconds
        while True:
            if found := re.search(pattern, self.output[start:]):
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                raise Timeout(f"no {pattern!r} within {seconds} s; the last of it: {self.output[-400:]!r}")
            self.read(min(left, 0.25))

    def press(self, keys):
        position = len(self.output)
        os.write(self.master, keys.encode())
        return position

    def exit_code(self, seconds=LIMIT):
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise Timeout(f"still running; the last of it: {self.output[-400:]!r}")
            self.read(0.05)
        while self.read(0.05):
            pass
        return self.process.returncode

    def is_restored(self):
        """The line settings of before, main screen, visible cursor, no attributes, no paste mode."""
        def last(on, off):
            return self.output.rfind(on) <= self.output.rfind(off)
        return (termios.tcgetattr(self.slave) == self.before and last(b"\x1b[?1049h", b"\x1b[?1049l")
                and last(b"\x1b[?25l", b"\x1b[?25h") and last(b"\x1b[?2004h", b"\x1b[?2004l"))

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(LIMIT)
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal(binary, home, server):
    opened = []

    def start(*arguments, **options):
        one = Pty([binary, "connect", "--server", server.url, *MEDIA, *arguments], **options)
        opened.append(one)
        return one

    yield start
    for one in opened:
        one.close()


def test_the_own_picture_is_there_at_once(terminal):
    one = terminal("--name", "alice")
    one.wait_for(rb"\x1b\[\?1049h")
    one.wait_for(rb"38;2;\d+;\d+;\d+")
    one.wait_for(rb"alice")
    one.press("q")
    assert one.exit_code() == 0
    assert one.is_restored()


def test_keys_mute_and_help_and_chat(terminal, connect):
    other = connect("--name", "bob", "--video-source", "test", "--audio-source", "tone:880", "--audio-sink", "null")
    one = terminal("--name", "alice")
    stream = other.event("streamCreated", name="alice")["streamId"]
    one.wait_for(rb"bob")
    one.press("m")
    other.event("streamPropertyChanged", streamId=stream, property="hasAudio", newValue=False)
    one.press("v")
    other.event("streamPropertyChanged", streamId=stream, property="hasVideo", newValue=False)
    at = one.press("?")
    one.wait_for(rb"next camera", start=at)
    one.press("?")
    one.press("t")
    one.press("hällo bob\r")
    assert "hällo bob" in other.event("signal", type="chat", fromSelf=False)["data"]
    at = len(one.output)
    other.command_line("say \x1b]0;gotcha\x07 hi")
    one.wait_for(rb"\d\d:\d\d bob: ", start=at)
    one.wait_for(rb" hi", start=at)
    assert b"\x1b]0;gotcha" not in one.output
    one.press("q")
    assert one.exit_code() == 0
    other.event("streamDestroyed", name="alice", reason="clientDisconnected")


def test_a_moderator_has_a_list_of_participants(terminal, connect, server):
    """Who is here, and what can be done to them; not offered where the token does not allow it."""
    people = {name: connect("--name", name, "--video-source", "test", "--audio-source", "silence", "--audio-sink", "null",
                            "--subscribe", "none") for name in ("bob", "carol")}
    streams = {name: person.event("publisherStreamCreated")["streamId"] for name, person in people.items()}
    moderator = server.get("/session?role=moderator")
    one = terminal("--name", "alice", "--session-id", moderator["sessionId"], "--api-key", moderator["apiKey"],
                   "--token", moderator["token"], "--api-url", server.url)
    for person in people.values():
        person.event("streamCreated", name="alice")
    at = one.press("p")
    one.wait_for(rb"Participants: 3", start=at)
    for line in (rb"alice", rb"bob", rb"carol", rb"end the stream", rb"mute all others"):
        one.wait_for(line, start=at)
    sizes = iter(range(81, 120))

    def pick(name):
        """Arrows until the sign stands before the name, which is drawn whole when the size has changed."""
        for _ in range(3):
            at = one.press("\x1b[B")
            one.wait_for(rb"\xe2\x96\xb8", start=at)
            at = len(one.output)
            one.resize(next(sizes), 24)
            if one.wait_for(rb"\xe2\x96\xb8(?:\x1b\[[0-9;]*[A-Za-z]| )*(alice|bob|carol)", start=at)[1] == name:
                return
        raise AssertionError(f"nobody is called {name}")

    pick(b"bob")
    one.press("k")
    people["bob"].event("publisherMuted", streamId=streams["bob"])
    assert not people["carol"].all("publisherMuted")
    one.press("u")
    people["bob"].event("publisherStreamDestroyed", reason="forceUnpublished")
    one.press("K")
    people["carol"].event("publisherMuted", streamId=streams["carol"])
    people["carol"].event("muteForced", active=True)
    one.press("l")
    people["carol"].event("muteForced", active=False)
    one.press("dd")
    people["bob"].event("sessionDisconnected", reason="forceDisconnected")
    people["carol"].event("connectionDestroyed", reason="forceDisconnected")
    one.press("pq")
    assert one.exit_code() == 0 and one.is_restored()

    two = terminal("--name", "dave")
    people["carol"].event("streamCreated", name="dave")
    at = two.press("p")
    two.wait_for(rb"Participants: 2", start=at)
    at = two.press("k")
    two.wait_for(rb"the token allows no such thing", start=at)
    assert b"end the stream" not in two.output
    two.press("q")
    assert two.exit_code() == 0


@pytest.mark.parametrize("way", ["q", "ctrl-c", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGSEGV"])
def test_the_terminal_is_restored(terminal, way):
    one = terminal()
    one.wait_for(rb"38;2;\d+")
    if way == "q":
        one.press("q")
    elif way == "ctrl-c":
        one.press("\x03")
    else:
        one.process.send_signal(getattr(signal, way))
    code = one.exit_code()
    assert one.is_restored()
    assert code == {"q": 0, "ctrl-c": 130, "SIGTERM": 143, "SIGHUP": 129, "SIGQUIT": 131, "SIGUSR1": 138, "SIGSEGV": -signal.SIGSEGV}[way]


def test_control_z_is_the_shells_turn(binary, home, server):
    """Under a shell with jobs, as people have it: stopped, asked for something else, and back in the call."""
    shell = Pty(["bash", "--norc", "-i"], PS1="ready> ")
    try:
        shell.wait_for(rb"ready> ")
        shell.press(" ".join([binary, "connect", "--server", server.url, *MEDIA]) + "\n")
        shell.wait_for(rb"38;2;\d+")
        at = shell.press("\x1a")
        shell.wait_for(rb"\x1b\[\?1049l(.|\n)*Stopped(.|\n)*ready> ", start=at)
        at = shell.press("echo $((6 * 7))\n")
        shell.wait_for(rb"[\r\n]42\r", start=at)
        at = shell.press("fg\n")
        shell.wait_for(rb"\x1b\[\?1049h(.|\n)*38;2;\d+", start=at)
        at = shell.press("q")
        shell.wait_for(rb"\x1b\[\?1049l(.|\n)*ready> ", start=at)
        at = shell.press("exit 7\n")
        assert shell.exit_code() == 7
    finally:
        shell.close()


def test_every_size(terminal):
    one = terminal()
    one.wait_for(rb"38;2;\d+")
    for columns, rows in ((40, 10), (1, 1), (2, 1), (300, 100), (80, 24)):
        at = len(one.output)
        one.resize(columns, rows)
        one.wait_for(rb".", start=at)
    at = len(one.output)
    one.wait_for(rb"38;2;\d+", start=at)
    one.press("q")
    assert one.exit_code() == 0
    assert one.is_restored()


def test_no_color_and_ascii(terminal):
    one = terminal(NO_COLOR="1", LANG="C", LC_ALL="C", COLORTERM="", TERM="vt100")
    one.wait_for(rb"otchat|alice|@")
    one.wait_for(rb"[#@%*+=-]{4}")
    one.press("q")
    assert one.exit_code() == 0
    assert not re.search(rb"\x1b\[[0-9;]*(38|48);[25]", one.output)
    assert all(b < 128 for b in one.output)


@pytest.mark.parametrize("how", ["render none", "dumb"])
def test_without_pictures_everything_is_said(terminal, connect, how):
    """For screen readers: lines, nothing that moves the cursor, and commands typed as lines."""
    flags, environment = (["--render", "none"], {}) if how == "render none" else ([], {"TERM": "dumb"})
    one = terminal("--name", "alice", *flags, **environment)
    one.wait_for(rb"commands are typed as lines")
    bob = connect("--name", "bob", "--video-source", "test", "--audio-source", "tone:880", "--audio-sink", "null")
    one.wait_for(rb"bob is here")
    bob.command_line("mute-mic")
    one.wait_for(rb"bob has muted the microphone")
    bob.command_line("mute-camera")
    one.wait_for(rb"bob has switched video off")
    bob.command_line("say hello alice")
    one.wait_for(rb"bob: hello alice")
    one.press("say hello bob\n")
    assert "hello bob" in bob.event("signal", type="chat", fromSelf=False)["data"]
    one.press("mute-mic\n")
    one.wait_for(rb"the microphone is muted")
    bob.command_line("quit")
    one.wait_for(rb"bob has left")
    one.press("quit\n")
    assert one.exit_code() == 0
    assert b"\x1b" not in one.output


def test_all_streams_stand_beside_each_other(terminal, connect):
    one = terminal("--name", "alice", "--subscribe", "all", "--self-view", columns=120, rows=40)
    for name in ("bob", "carol"):
        connect("--name", name, "--video-source", "test", "--audio-source", "silence", "--audio-sink", "null",
                "--subscribe", "none", "--resolution", "160x120")
    one.wait_for(rb"alice \(you\)")
    one.wait_for(rb"carol")
    at = one.press("\t")
    one.wait_for(rb"\xe2\x96\xb8", start=at)
    at = one.press("\ti")
    one.wait_for(rb"Statistics: ", start=at)
    one.wait_for(rb"160x120", start=at)
    one.press("q")
    assert one.exit_code() == 0
    assert one.is_restored()


def test_a_closed_pipe_ends_it_quietly(binary, home, server):
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"timeout {LIMIT} {binary} connect --server {server.url} {' '.join(MEDIA)} --events - --stats 0.2 | head -1"],
        capture_output=True, text=True, timeout=2 * LIMIT, stdin=subprocess.DEVNULL)
    assert done.stdout.startswith("{")
    assert done.returncode != 124, "it went on writing into a closed pipe"
    assert "Fatal" not in done.stderr and "rror: " not in done.stderr.replace("otchat: error", "")
