"""--pcap, --dump-sdp, -vv: what was sent and said, readable, and without secrets."""
import re
import shutil
import stat
import subprocess
import time

import pcapng
import pytest

from otchat import LIMIT, Otchat


def join(binary, server, *arguments):
    return Otchat([binary, "connect", "--server", server.url, "--audio-sink", "null", "--events", "-", "--stats", "0.5", *arguments])


def test_a_capture_holds_the_packets_of_the_call_as_they_are_without_encryption(binary, server, connect, home):
    connect("--video-source", "test", "--audio-source", "tone", "--subscribe", "none", "--name", "There")
    began = time.time()
    with join(binary, server, "--no-publish", "--pcap", "call.pcapng") as one:
        last = one.stats(lambda s: s["subscribers"][0]["video"]["framesDecoded"] >= 30, "pictures")
        one.command_line("quit")
        assert one.exit_code(30) == 0
    assert stat.S_IMODE((home / "call.pcapng").stat().st_mode) == 0o600
    packets, (all_packets, dropped) = pcapng.read("call.pcapng")
    assert dropped == 0 and all_packets == len(packets)
    assert all(began - 1 <= p.time <= time.time() + 1 for p in packets)

    # What payload types are, then everything received and our reports.
    assert [p.kind for p in packets[:2]] == ["sdp", "sdp"]
    text = next(p for p in packets[:2] if p.inbound).data.decode()
    types = {name: int(number) for number, name in re.findall(r"a=rtpmap:(\d+) (\w+)/", text)}
    received = [p for p in packets if p.kind == "rtp"]
    assert received and all(p.inbound for p in received)
    assert {p.inbound for p in packets if p.kind == "rtcp"} == {True, False}
    video = [p for p in received if p.payload_type == types["VP8"]]
    repaired = [p for p in received if p.payload_type == types["rtx"]]
    sound = [p for p in received if p.payload_type in (types["opus"], types.get("red"))]
    figures = last["subscribers"][0]
    assert len(video) + len(repaired) >= figures["video"]["packetsReceived"] and len(sound) >= figures["audio"]["packetsReceived"]
    assert len({p.ssrc for p in video}) == 1
    numbers = [p.sequence for p in video]
    assert len({(n - numbers[0]) & 0xFFFF for n in numbers}) >= 0.5 * ((max(n - numbers[0] & 0xFFFF for n in numbers)) + 1)
    # Not encrypted: a key frame of 640x480 begins with VP8's own mark.
    assert any(b"\x9d\x01\x2a\x80\x02\xe0\x01" in p.data for p in video)
    # One path, with the addresses of both ends.
    assert {(p.source, p.destination) for p in received} == {(received[0].source, received[0].destination)}
    assert all(port for _, port in (received[0].source, received[0].destination))

    if shutil.which("tshark"):
        lines = subprocess.run(["tshark", "-r", "call.pcapng", "-T", "fields", "-e", "_ws.col.Protocol"],
                               capture_output=True, text=True, timeout=120).stdout.split()
        assert lines.count("VP8") >= 30 and lines.count("RTCP") > 1


def test_a_capture_to_a_pipe_that_breaks_is_told_and_the_call_goes_on(binary, server, connect, home):
    connect("--video-source", "test", "--subscribe", "none")
    subprocess.run(["mkfifo", "pipe"], check=True)
    with subprocess.Popen(["sh", "-c", "head -c 2000 pipe >first"]) as head, \
            join(binary, server, "--no-publish", "--pcap", "pipe") as one:
        head.wait(60)
        one.stats(lambda s: s["subscribers"][0]["video"]["framesDecoded"] >= 5, "pictures")
        one.command_line("quit")
        assert one.exit_code(30) == 0
        assert any("--pcap: the file ends early: Broken pipe" in line for line in one.errors), one.errors[-5:]
    assert (home / "first").stat().st_size == 2000


def test_descriptions_and_messages_are_written_without_secrets(binary, server, connect, home):
    connect("--video-source", "test", "--audio-source", "tone", "--name", "There", "--subscribe", "none")
    with join(binary, server, "--video-source", "test", "--dump-sdp", "-vv", "--log-file", "log",
              "--ice-server", "turn:user:hush@127.0.0.1:1") as one:
        one.event("firstVideoFrame")
        one.command_line("quit")
        assert one.exit_code(30) == 0
        spoken = "\n".join(one.lines + one.errors)
    log = (home / "log").read_text()
    dumped = re.findall(r"^\S+ sdp: (\w+ \w+), stream (\S+), subscriber \S+\n((?:  .*\n)+)", log, re.M)
    assert [d[0] for d in dumped[:2]] == ["offer received", "answer sent"]
    for _, _, text in dumped[:2]:
        assert "  v=0\n" in text and "  m=audio " in text and "  m=video " in text and "VP8/90000" in text
        assert text.count("a=ice-pwd:…\n") == text.count("a=ice-pwd:") >= 1
    assert "debug signalling: sent connect" in log and '"method":"offer"' in log and "a=ice-pwd:…" in log
    token = server.get("/session")["token"]
    for words in (log, spoken):
        assert "hush" not in words and token[:24] not in words and not re.search(r"T1==\w{20}", words)
        assert not re.search(r"ice-pwd:[\w+/]{8}", words)


@pytest.mark.parametrize("command", [
    ("run", "smoke"), ("load", "--subscribers", "1", "--resolution", "320x240", "--hold", "1")])
def test_a_capture_of_all_participants_has_both_ends(binary, home, command):
    done = subprocess.run([binary, *command, "--pcap", "-"], capture_output=True, timeout=5 * LIMIT, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr.decode()
    (home / "call.pcapng").write_bytes(done.stdout)
    packets, (count, dropped) = pcapng.read("call.pcapng")
    assert count == len(packets) + dropped
    # what one sends arrives at another, byte for byte
    sent, received = ([p.data for p in packets if p.kind == "rtp" and p.inbound is inbound] for inbound in (False, True))
    assert received and len(set(received) & set(sent)) >= 0.9 * len(set(received))


@pytest.mark.parametrize("command, arguments, words", [
    ("connect", ("--pcap", "/nowhere/x"), "cannot write /nowhere/x"),
    ("connect", ("--pcap", "-", "--events", "-"), "--pcap and --events cannot both be written"),
    ("load", ("--pcap", "-", "--json", "-"), "--pcap and --json cannot both be written")])
def test_a_capture_that_cannot_be_written_is_told_at_once(binary, home, command, arguments, words):
    done = subprocess.run([binary, command, *arguments], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode in (64, 73) and words in done.stderr, done.stderr
