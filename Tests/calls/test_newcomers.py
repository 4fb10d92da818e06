"""What somebody tries who knows nothing but the README: what is said to them, and that it is so."""
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

from otchat import LIMIT, Otchat, Server
from test_credentials import run

MEDIA = ("--video-source", "test", "--audio-source", "tone:440", "--audio-sink", "null")


def errors(process):
    return "\n".join(process.errors)


def test_the_printed_url_leads_to_the_same_room(connect, server):
    alice = connect("--name", "alice", "--room", "a b/c", *MEDIA)
    note = alice.wait_until(lambda: next((e for e in alice.errors if "others can join at" in e), None), "the URL")
    url = note.split("others can join at ")[1]
    assert url == f"{server.url}/?room=a%20b%2Fc"
    with Otchat([alice.command[0], "connect", "--server", url, "--name", "bob", "--events", "-", *MEDIA]) as bob:
        bob.event("streamCreated", name="alice")
        assert any(url in e for e in bob.errors)


def test_an_access_key_in_the_address(binary, home):
    with Server(binary, "--host", "0.0.0.0", "--access-key", "open sesame") as server:
        port = server.url.rsplit(":", 1)[1]
        status, said = run(binary, "--server", f"http://127.0.0.1:{port}")
        assert status == 77 and "/?accessKey=KEY" in said
        status, said = run(binary, "--server", f"http://127.0.0.1:{port}/?accessKey=open%20sesame", "--until",
                              "sessionConnected")
        assert status == 0, said
        assert f"http://127.0.0.1:{port}/?accessKey=KEY (KEY is the access key)" in said and "sesame" not in said


@pytest.mark.parametrize("command", [("connect",), ("serve", "--port", "0"), ("devices",)])
@pytest.mark.parametrize("limit", [4, 7, 9, 18])
def test_too_few_descriptors(binary, home, command, limit):
    """Neither a trap nor a hang: an error that says what to raise."""
    done = subprocess.run(["prlimit", f"--nofile={limit}:{limit}", binary, *command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 70, done
    assert "file descriptors are left" in done.stderr and "hint: 'ulimit -n 1024'" in done.stderr


@pytest.mark.parametrize("command", [("connect",), ("serve", "--port", "0"), ("run", "smoke")])
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8])
def test_too_few_threads(binary, home, command, limit):
    """The runtime waits for ever for a thread that it does not get. Root has no such limit: it takes another user."""
    user = ["setpriv", "--reuid=64321", "--regid=64321", "--clear-groups"]
    if subprocess.run([*user, "test", "-x", binary], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("needs root, and a program that others may start")
    run_limited = [*user, "prlimit", f"--nproc={limit}", binary]
    done = subprocess.run([*run_limited, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT)
    assert done.returncode == 70, done
    assert "error: no threads left" in done.stderr and "hint: a limit on threads" in done.stderr
    version = subprocess.run([*run_limited, "--version"], capture_output=True, text=True, timeout=LIMIT)
    assert version.returncode == 0 and version.stdout.startswith("otchat ")


def test_a_place_for_archives_that_is_none(binary, home):
    done = subprocess.run([binary, "serve", "--port", "0", "--archive-dir", "/dev/null"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 73, done
    assert "archives cannot be kept in /dev/null: Not a directory" in done.stderr and "--archive-dir" in done.stderr


def test_https_where_there_is_none(binary, server):
    for more in ((), ("--insecure",)):
        status, said = run(binary, "--server", server.url.replace("http:", "https:"), *more)
        assert status == 69 and "does not speak TLS" in said and "http://" in said and "certificate" not in said


def test_the_host_hangs_up(binary, home):
    """Whose otchat has the server in it ends the call for all, is told so, and the others are told what it was."""
    host = Otchat([binary, "connect", "--events", "-", "--name", "host", *MEDIA])
    with host:
        note = host.wait_until(lambda: next((e for e in host.errors if "others can join at" in e), None), "the URL")
        if "the call ends for all when this otchat leaves" not in note:
            pytest.skip("another otchat has port 8080")
        url = re.search(r"http://[^ ;]*", note).group()
        with Otchat([binary, "connect", "--server", url, "--events", "-", "--name", "guest", *MEDIA]) as guest:
            guest.event("subscriberConnected")
            host.command_line("q")
            assert host.exit_code() == 0
            assert guest.exit_code() == 69
            assert "the call is over" in errors(guest) and "network" not in errors(guest)


def test_what_was_recorded_is_found_when_the_server_is_gone(binary, home):
    with Otchat([binary, "connect", "--events", "-", "--name", "host", *MEDIA]) as host:
        note = host.wait_until(lambda: next((e for e in host.errors if "others can join at" in e), None), "the URL")
        if "the call ends for all when this otchat leaves" not in note:
            pytest.skip("another otchat has port 8080")
        host.event("publisherStreamCreated")
        host.command_line("archive start")
        archive = host.event("archiveStarted")["archiveId"]
        time.sleep(2)  # so much is recorded
        host.command_line("q")
        assert host.exit_code(60) == 0
        path = next(e for e in host.errors if e.startswith("otchat: archive: ")).split(": ", 2)[2]
        assert archive in path and os.path.getsize(path) > 1000


def test_who_is_waited_for(binary, home):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        status, said = run(binary, "--server", address, "--timeout", "3")
    assert status == 75 and f"otchat: waiting for {address}…" in said


def test_a_room_must_not_be_empty_to_be_recorded(binary, server):
    done = subprocess.run([binary, "archive", "start", "--server", server.url, "--room", "kitchen"],
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 64
    assert "no client is in the session" in done.stderr and "otchat connect --room NAME" in done.stderr


def test_a_server_that_is_killed_and_started_again(binary, home, connect):
    first = Server(binary)
    port = first.url.rsplit(":", 1)[1]
    alice = connect("--name", "alice", *MEDIA, server=first)
    bob = connect("--name", "bob", *MEDIA, server=first)
    for one in (alice, bob):
        one.event("subscriberConnected")
    first.process.kill()
    first.exit_code()
    first.end()
    with Server(binary, port=port):
        for one in (alice, bob):
            one.wait_until(lambda: len(one.all("sessionConnected")) == 2, "the session again")
            one.wait_until(lambda: len(one.all("subscriberConnected")) == 2, "the other again")
        bob.command_line("quit")
        assert bob.exit_code() == 0


def test_without_a_picture_the_call_is_told_in_lines(connect):
    alice = connect("--name", "alice", *MEDIA)
    alice.event("sessionConnected")
    bob = connect("--name", "bob", *MEDIA)
    for one in (alice, bob):
        one.event("firstVideoFrame")
    for line in ("mute-mic", "say hello", "help"):
        bob.command_line(line)
    for line in ("otchat: bob is here", "otchat: bob has muted the microphone", "otchat: bob: hello"):
        alice.wait_until(lambda: line in alice.errors, line)
    bob.wait_until(lambda: "otchat: the microphone is muted" in bob.errors, "the microphone")
    bob.wait_until(lambda: "swap-camera" in errors(bob), "help")
    bob.process.send_signal(signal.SIGSTOP)
    try:
        alice.wait_until(lambda: "otchat: bob is not answering" in alice.errors, "silence")
    finally:
        bob.process.send_signal(signal.SIGCONT)
    alice.wait_until(lambda: "otchat: bob is answering again" in alice.errors, "life")
    bob.command_line("q")
    assert bob.exit_code() == 0
    alice.wait_until(lambda: "otchat: bob has left" in alice.errors, "the end")
    carol = connect("-q", "--name", "carol", *MEDIA)
    carol.event("subscriberConnected")
    assert carol.errors == []


@pytest.mark.parametrize("flags", [("-v",), ("-vv",)])
def test_the_log_tells_each_stage_and_no_secret(binary, server, connect, flags):
    alice = connect("--name", "alice", *MEDIA)
    alice.event("sessionConnected")
    bob = connect(*flags, "--log-file", "bob.log", "--name", "bob", *MEDIA)
    bob.event("firstVideoFrame")
    bob.command_line("quit")
    assert bob.exit_code() == 0
    text = open("bob.log").read()
    for stage in ("for credentials", "answered 200", "signalling at ws://", "the socket is open", "sessionConnected",
                  "an offer of stream", "answering the offer", "iceStateChanged", "ICE and DTLS are done", "firstVideoFrame"):
        assert stage in text, stage
    assert ("signalling: sent" in text) == (flags == ("-vv",))
    assert "T1==" not in text and not re.search(r"ice-pwd:[^…]", text)


def test_what_cannot_work_is_told_at_once_and_once(binary, server):
    for code, words, *flags in (
            (78, ["no TURN server", "--ice-server turn:"], "--relay-only"),
            (64, ["user and a password"], "--ice-server", "turn:example.org:3478"),
            (64, [".wav"], "--audio-sink", "file:x.mp3"), (64, ["20 to 20000 Hz"], "--audio-source", "tone:abc"),
            (66, ["no such file"], "--config", "/no/such/file")):
        done = subprocess.run([binary, "connect", "--server", server.url, *flags], capture_output=True, text=True, timeout=LIMIT,
                              stdin=subprocess.DEVNULL)
        assert done.returncode == code, (flags, done.stderr)
        assert all(word in done.stderr for word in words), done.stderr
        assert len([line for line in done.stderr.splitlines() if "error: " in line or "warning: " in line]) == 1, done.stderr


def test_where_a_configuration_is_wrong(binary, home):
    with open("bad.json", "w") as file:
        file.write('{\n  "name": "x",\n  "room" "y"\n}\n')
    status, said = run(binary, "--config", "bad.json")
    assert status == 78 and "line 3, column 10" in said


def test_a_token_that_would_be_refused_is_no_success(binary, home, monkeypatch):
    import tokens
    session = tokens.session_id()

    def inspect(text, **environment):
        done = subprocess.run([binary, "token", "inspect", text], capture_output=True, text=True, timeout=LIMIT,
                              env=os.environ | environment)
        return done.returncode, done.stdout + done.stderr

    assert inspect(tokens.t1(session), OTCHAT_API_SECRET=tokens.SECRET)[0] == 0
    status, said = inspect(tokens.t1(session), OTCHAT_API_SECRET="another")
    assert status == 77 and "WRONG" in said
    status, said = inspect(tokens.t1(session, expires_in=-60))
    assert status == 77 and "expired" in said


def test_what_is_lost_on_a_full_disk_is_no_success(binary, home):
    for command in ("man", "--help", "completions bash", "token create --api-key 1 --session-id 1_MX4xfn4xfn4"):
        with open("/dev/full", "w") as full:
            done = subprocess.run([binary, *command.split()], stdout=full, stderr=subprocess.PIPE, text=True, timeout=LIMIT,
                                  env=os.environ | {"OTCHAT_API_SECRET": "secret"})
        assert done.returncode == 73, command
        assert done.stderr == "otchat: error: cannot write to standard output: No space left on device\n", command
    done = subprocess.run(f"{binary} man | head -1; exit ${{PIPESTATUS[0]}}", shell=True, executable="/bin/bash",
                          capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("stage, arguments", [
    ("credentials", ["--server", "http://127.0.0.1:1"]), ("signalling", ["--api-url", "http://127.0.0.1:1"])])
def test_who_cannot_connect_hears_in_which_stage_and_after_how_long(binary, server, home, stage, arguments):
    if stage == "signalling":
        arguments += ["--server", server.url]
    for command in (("connect",), ("run", "smoke"))[:2 if stage == "credentials" else 1]:
        done = subprocess.run([binary, *command, *arguments, "--events", "events"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 69
        before = r"credentials [\d.]+ m?s, " if stage == "signalling" else ""
        assert re.search(rf"refused \(1006 OT_CONNECT_FAILED\), in {stage}: {before}{stage} [\d.]+ m?s$", done.stderr, re.M)
        if command == ("connect",):
            [error] = [e for e in map(json.loads, open("events")) if e["event"] == "error"]
            assert (error["code"], error["name"], error["stage"]) == (1006, "OT_CONNECT_FAILED", stage)
            assert list(error["stages"]) == (["credentials", "signalling"] if before else ["credentials"])
            assert all(0 <= seconds < LIMIT for seconds in error["stages"].values())


def test_a_server_nobody_hears_of_ends_at_once(binary, home):
    """Whoever waits for its line would wait for ever."""
    reading, writing = os.pipe()
    os.close(reading)
    for arguments, words in (((), "to standard output"), (("--events", "-"), "events")):
        with open("/dev/full", "w") as full:
            for output, reason in ((full, "No space left on device"), (writing, "Broken pipe")):
                done = subprocess.run([binary, "serve", "--port", "0", "--pid-file", "pid", *arguments], stdout=output,
                                      stderr=subprocess.PIPE, text=True, timeout=LIMIT)
                assert done.returncode == 73 and done.stderr == f"otchat: error: cannot write {words}: {reason}\n"
                assert not os.path.exists("pid")
    os.close(writing)


def test_a_log_that_cannot_be_written_is_told_at_once(binary, home):
    for command in ("serve --port 0", "connect --server http://127.0.0.1:1", "run smoke", "load", "doctor"):
        done = subprocess.run([binary, *command.split(), "--log-file", "/dev/full"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 73, command
        assert done.stderr == "otchat: error: cannot write /dev/full: No space left on device\n", command


def test_what_is_said_to_closed_descriptors_goes_nowhere(server, binary, home):
    line = (f"exec {binary} connect --server {server.url} --no-publish --audio-sink null "
            "--events events <&- >&- 2>&-")
    subprocess.run(["mkfifo", "events"], check=True)
    with subprocess.Popen(line, shell=True) as process:
        with open("events") as events:
            assert json.loads(events.readline())["event"] == "sessionConnected"
            numbers = [os.readlink(f"/proc/{process.pid}/fd/{number}") for number in range(3)]
            process.terminate()
            events.read()
        assert process.wait(LIMIT) == 143
    assert numbers == ["/dev/null"] * 3
    assert subprocess.run(f"{binary} man >&-", shell=True, timeout=LIMIT).returncode == 0
