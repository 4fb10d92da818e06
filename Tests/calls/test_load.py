"""otchat load, connect --count, doctor: what they print, and that their figures are of what happened."""
import json
import subprocess

import pytest

from otchat import LIMIT


def run(binary, *arguments, seconds=5 * LIMIT):
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("decode, decoding", [("all", 6), ("none", 0), ("one-in:3", 2)])
def test_load(binary, home, decode, decoding):
    status, output, errors = run(
        binary, "load", "--publishers", "1", "--subscribers", "6", "--decode", decode, "--hold", "12", "--ramp-up", "1",
        "--resolution", "320x240", "--json", "load.json", "--events", "events.jsonl")
    assert status == 0, output + errors
    report = json.loads((home / "load.json").read_text())
    assert (report["participants"], report["joined"], report["errors"]) == (7, 7, 0), report
    assert report["framesPerSecond"]["median"] > 1 and report["packetsReceived"] > 100, report
    assert 0 < report["cpuCores"] < 64 and report["rssBytes"] > 10_000_000, report
    assert (report["endToEndLatency"] is None) == (decoding == 0), report
    for words in ("7 of 7 joined", "join time", "a participant"):
        assert words in output, output
    assert "joined 7/7" in errors
    # who decodes is who has decoded something
    decoded = {}
    for event in map(json.loads, open("events.jsonl")):
        if event["event"] == "stats":
            for each in event["subscribers"]:
                decoded[event["participant"]] = max(decoded.get(event["participant"], 0), each["video"]["framesDecoded"])
    assert len(decoded) == 6 and sum(1 for count in decoded.values() if count > 0) == decoding, decoded


def test_load_that_cannot_join(binary, home):
    status, _, errors = run(
        binary, "load", "--server", "http://127.0.0.1:1", "--subscribers", "2", "--hold", "1", "--events", "events.jsonl",
        "--json", "load.json")
    assert status == 69 and "could not join" in errors
    told = [json.loads(line) for line in open("events.jsonl")]
    assert told and all((e["event"], e["stage"]) == ("error", "credentials") for e in told), told
    assert told[0]["participant"] == "publisher 1" and told[0]["code"] == 1006, told
    assert json.loads((home / "load.json").read_text())["errors"] == len(told)
    assert run(binary, "load", "--publishers", "0", "--subscribers", "0")[0] == 64


def test_connect_count(binary, server, home):
    status, output, errors = run(
        binary, "connect", "--server", server.url, "--count", "3", "--name", "Bot", "--subscribe", "all", "--video-source", "test",
        "--audio-source", "tone", "--audio-sink", "null", "--duration", "110", "--expect", "subscribers.count == 2 within 100s", "--events", "-")
    assert status == 0, errors
    events = [json.loads(line) for line in output.splitlines()]
    assert {e["participant"] for e in events} == {"Bot 1", "Bot 2", "Bot 3"}
    assert {e["name"] for e in events if e["event"] == "streamCreated"} == {"Bot 1", "Bot 2", "Bot 3"}


def test_doctor_with_a_server(binary, server, home):
    status, output, _ = run(binary, "doctor", "--server", server.url, "--timeout", "60", "--json")
    assert status == 0, output
    checks = {c["check"]: c for c in json.loads(output)["checks"]}
    for name in ("server", "clock", "token", "session", "STUN"):
        assert checks[name]["verdict"] == "ok", checks[name]
    assert "sees us as 127.0.0.1:" in checks["STUN"]["finding"]


def test_doctor_says_what_is_wrong_and_ends_with_69(binary, server, home):
    status, output, errors = run(binary, "doctor", "--server", "http://127.0.0.1:1")
    assert status == 69 and "FAILED  server" in output and "hint: " in output and "checks failed" in errors
    status, output, _ = run(binary, "doctor", "--server", server.url, "--ice-server", "turn:u:p@127.0.0.1:1?transport=tcp", "--timeout", "60")
    assert status == 69 and "FAILED  TURN            127.0.0.1:1: Connection refused" in output and "ok      session" in output
    assert "u:p" not in output
    assert run(binary, "doctor")[0] == 0
