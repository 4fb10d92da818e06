"""otchat run: scenarios with their servers, what they say when they fail, and on which exit status."""
import json
import pathlib
import re
import signal
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from otchat import LIMIT


def run(binary, *arguments, seconds=5 * LIMIT):
    done = subprocess.run([binary, "run", *arguments], capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", ["smoke", "mute-matrix", "late-joiner", "moderator", "reconnect"])
def test_a_built_in_scenario_passes(binary, home, name):
    status, output, errors = run(binary, name, "--junit", "report.xml", "--events", "events.jsonl")
    assert status == 0, output + errors
    suite = ElementTree.parse("report.xml").getroot()
    assert int(suite.get("tests")) >= 3 and suite.get("failures") == "0"
    events = [json.loads(line) for line in open("events.jsonl")]
    assert all("participant" in event for event in events)
    assert {e["event"] for e in events} >= {"sessionConnected", "expectation", "sessionDisconnected"}


def test_every_built_in_scenario_is_listed_and_can_be_read(binary, home):
    _, output, _ = run(binary, "--list")
    names = [line.split("\t")[0] for line in output.splitlines()]
    assert len(names) == 7 and all("\t" in line and line.endswith(".") for line in output.splitlines())
    for name in names:
        status, text, _ = run(binary, "--print", name)
        assert status == 0 and json.loads(text)["participants"]


def test_the_documented_scenario_passes(binary, home):
    text = (pathlib.Path(__file__).parents[2] / "docs/ci.md").read_text()
    (home / "mine.json").write_text(re.search(r"```json\n(.*?)```", text, re.DOTALL).group(1))
    status, output, errors = run(binary, "mine.json")
    assert status == 0, output + errors


def write(home, **scenario):
    (home / "s.json").write_text(json.dumps(scenario))
    return "s.json"


def test_failures_are_named_and_end_with_1(binary, home):
    path = write(home, duration=25, participants=[
        {"name": "A", "video-source": "test", "steps": [{"on": "signal:never", "do": "say hello"}]},
        {"name": "B", "no-publish": True, "network": {"down": {"loss": 100}},
         "expect": ["subscriber.video.framesDecoded > 0 within 6s", "event streamCreated within 24s"]}])
    status, output, errors = run(binary, path, "--junit", "report.xml")
    assert status == 1, output + errors
    assert "FAILED  subscriber.video.framesDecoded > 0 within 6s  (not within 6 s:" in output
    assert "FAILED  A: steps[0] (say hello) was never done" in output
    assert "otchat: error: 1 of 2 expectations failed, 1 step was never done" in errors
    assert ElementTree.parse("report.xml").getroot().get("failures") == "2"


def test_media_that_cannot_be_connected_tells_how_long_each_stage_took(binary, home):
    """ICE's own messages pass, DTLS's do not."""
    path = write(home, duration=150, participants=[
        {"name": "A", "video-source": "test", "expect": ["event error within 140s"]},
        {"name": "B", "no-publish": True, "network": {"down": {"loss": 100}}}])
    status, output, errors = run(binary, path, "--events", "events.jsonl")
    assert status == 0, output + errors
    told = next(e for e in map(json.loads, open("events.jsonl")) if e["event"] == "error")
    assert told["stage"] == "DTLS" and list(told["stages"]) == ["signalling", "ICE", "DTLS"], told
    assert told["stages"]["DTLS"] > 10 and all(seconds >= 0 for seconds in told["stages"].values()), told
    assert re.search(r"failed \(DTLS\): .* \[signalling [\d.]+ m?s, ICE [\d.]+ m?s, DTLS [\d.]+ s\]", told["message"]), told


def test_who_cannot_enter_the_session_is_told_as_an_event(binary, home):
    status, output, errors = run(binary, "smoke", "--server", "http://127.0.0.1:1", "--events", "events.jsonl")
    assert status == 69 and "it could not join: nothing answers at 127.0.0.1 port 1" in errors, errors
    told = [e for e in map(json.loads, open("events.jsonl")) if e["event"] == "error"]
    assert told and {e["participant"] for e in told} <= {"Alice", "Bob"}, told
    assert (told[0]["code"], told[0]["name"], told[0]["stage"]) == (1006, "OT_CONNECT_FAILED", "credentials"), told
    assert "are there" not in output


def test_a_network_is_as_bad_as_it_says(binary, home):
    path = write(home, duration=30, seed=3, participants=[
        {"name": "A", "audio-source": "tone:440", "network": {"up": {"loss": 20, "delay": 50}}},
        {"name": "B", "no-publish": True, "stats": 0.5}])
    status, output, errors = run(binary, path, "--events", "events.jsonl")
    assert status == 0, output + errors
    stats = [e for e in map(json.loads, open("events.jsonl")) if e["event"] == "stats" and e["subscribers"]]
    last = stats[-1]["subscribers"][0]
    audio = last["audio"]
    lost = audio["packetsLost"] / (audio["packetsLost"] + audio["packetsReceived"])
    assert 0.1 < lost < 0.3, audio
    # delay of the way up alone: latency has it, besides what everything else takes
    assert last["video"]["endToEndLatency"] > 50, last["video"]


@pytest.mark.parametrize("scenario, message, hint", [
    ({"participants": [{"name": "A"}, {"name": "B", "steps": [{"at": "2", "do": "leave"}]}]},
     "s.json: participants[1].steps[0].at: should be a number of seconds from 0 to 86400", ""),
    ({"participants": [{"name": "A", "video-sorce": "test"}]},
     "s.json: participants[0].video-sorce: unknown key", "did you mean 'video-source'?"),
    ({"participants": [{"name": "A", "expect": ["subscriber.video.x >"]}]},
     "s.json: participants[0].expect[0]: a number is expected (character 21)", ""),
])
def test_what_is_wrong_with_a_file_is_said_with_its_place(binary, home, scenario, message, hint):
    status, _, errors = run(binary, write(home, **scenario))
    assert status == 65 and f"otchat: error: {message}" in errors and hint in errors


def test_errors_of_the_command_line(binary, home):
    (home / "bad.json").write_text('{\n  "participants": [\n}')
    assert run(binary, "bad.json")[0] == 65 and "line 3" in run(binary, "bad.json")[2]
    status, _, errors = run(binary, "smok")
    assert status == 66 and "did you mean 'smoke'?" in errors
    assert run(binary)[0] == 64


def test_a_server_that_is_not_there_has_its_own_exit_status(binary, home):
    status, output, errors = run(binary, "smoke", "--server", "http://127.0.0.1:1")
    assert status == 69 and "could not join" in errors and "refused" in errors, errors


def test_a_scenario_on_another_server(binary, server, home):
    status, output, errors = run(binary, "smoke", "--server", server.url, "--room", "ci")
    assert status == 0, output + errors


def test_ctrl_c_ends_it(binary, home):
    path = write(home, duration=600, participants=[{"name": "A"}])
    process = subprocess.Popen([binary, "run", path], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        for line in process.stdout:
            if "all who join" in line:
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 130
        assert "left" in process.stdout.read()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
