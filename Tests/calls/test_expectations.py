"""--expect, --junit: verdicts on real calls, and what they say when they are bad."""
import os
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from otchat import LIMIT


def run(binary, *arguments, environment=None):
    done = subprocess.run([binary, "connect", "--audio-sink", "null", *arguments], capture_output=True, text=True, timeout=2 * LIMIT,
                          stdin=subprocess.DEVNULL, env=dict(os.environ, **(environment or {})))
    return done.returncode, done.stderr, done.stdout


def test_a_good_call_passes_and_ends_when_all_is_decided(binary, server, connect, home):
    connect("--video-source", "test", "--audio-source", "tone:700", "--subscribe", "none")
    status, errors, output = run(
        binary, "--server", server.url, "--no-publish", "--duration", "110", "--events", "-", "--junit", "report.xml",
        "--expect", "subscriber.video.framesPerSecond >= 5 for 2s within 100s", "--expect", "event firstAudioFrame within 100s",
        "--expect", "subscriber.video.psnr >= 15 within 100s", "--expect", "subscriber.video.ssim >= 0.5 within 100s")
    assert status == 0, errors
    assert errors.count("expect: ok") == 4 and "FAILED" not in errors
    assert output.count('"event":"expectation"') == 4 and '"passed":true' in output
    suite = ElementTree.parse("report.xml").getroot()
    assert suite.get("tests") == "4" and suite.get("failures") == "0" and float(suite.get("time")) < 105


def test_every_failure_names_its_cause(binary, server, connect, home):
    connect("--video-source", "test", "--subscribe", "none")
    status, errors, _ = run(
        binary, "--server", server.url, "--no-publish", "--duration", "25", "--junit", "report.xml",
        "--expect", "subscriber.video.fps > 1", "--expect", "subscriber.video.frameWidth == 1", "--expect", "event signal within 2s",
        "--expect", "publisher.video.framesPerSecond > 1", "--expect", "subscribers.count == 1",
        environment={"GITHUB_ACTIONS": "true"})
    assert status == 1
    for words in ("framesPerSecond", "it is 640", "not within 2 s", "nothing is published", "4 of 5 expectations failed"):
        assert words in errors, errors
    assert errors.count("::error title=otchat::") == 4
    failures = ElementTree.parse("report.xml").getroot().findall("testcase/failure")
    assert [f.get("message") for f in failures][2] == "not within 2 s"


def test_a_call_that_never_was_keeps_its_own_exit_code(binary, home):
    status, errors, _ = run(binary, "--server", "http://127.0.0.1:1", "--expect", "subscribers.count == 1")
    assert status == 69 and "FAILED" in errors and "refused" in errors


@pytest.mark.parametrize("text, place", [("subscriber.video.x >", "character 21"), ("event sginal", "'sginal'")])
def test_a_text_that_is_no_expectation(binary, home, text, place):
    status, errors, _ = run(binary, "--expect", text)
    assert status == 64 and place in errors and "otchat: hint: " in errors
