"""Every way in which credentials can be had or be wrong: what is said, how soon, and the exit code."""
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

import tokens
from appserver import AppServer
from otchat import LIMIT, Server

QUIET = ("--no-publish", "--audio-sink", "null")


def run(binary, *arguments, seconds=LIMIT):
    """-> (exit code, stderr)"""
    done = subprocess.run([binary, "connect", *QUIET, *arguments], capture_output=True, text=True, timeout=seconds,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr


def good(server, **changes):
    return server.get("/session") | changes


@contextlib.contextmanager
def closed_port():
    """A port at which nobody listens, and that nobody else gets meanwhile."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        yield s.getsockname()[1]


WRONG = {
    "not JSON": ({"/session": (200, {"Content-Type": "text/plain"}, "hello")}, 76, "JSON"),
    "an HTML page": ({"/session": (200, {"Content-Type": "text/html"}, "<!doctype html><h1>Welcome</h1>")}, 76, "web page"),
    "missing keys": ({"/session": {"apiKey": "100"}}, 76, "sessionId"),
    "empty": ({"/session": (200, {}, "")}, 76, "JSON"),
    "not found": ({}, 76, "404"),
    "a server error": ({"/session": (500, {}, "boom")}, 76, "500"),
    "forbidden": ({"/session": (403, {}, "no")}, 77, "403"),
    "redirects in a circle": ({"/session": (302, {"Location": "/session"}, "")}, 76, "redirect"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_the_app_server_gets_wrong(binary, home, case):
    answers, code, word = WRONG[case]
    with AppServer(answers) as app:
        status, errors = run(binary, "--server", app.url)
    assert status == code, errors
    assert "otchat: error: " in errors and "otchat: hint: " in errors
    assert word.lower() in errors.lower()
    # Told at once: nothing is tried again.
    assert len(app.asked) < 20 if "circle" in case else app.asked == ["/session"]


def test_nobody_listens(binary, home):
    with closed_port() as port:
        status, errors = run(binary, "--server", f"http://127.0.0.1:{port}")
    assert status == 69 and "refused" in errors and "otchat: hint: " in errors


def test_a_name_that_does_not_exist(binary, home):
    status, errors = run(binary, "--server", "http://no-such-host.invalid/")
    assert status == 69 and "no-such-host.invalid" in errors


def test_an_expired_token_names_its_age_and_the_clocks(binary, home):
    session, started = tokens.session_id(), time.time()
    with AppServer({"/session": {"apiKey": tokens.KEY, "sessionId": session, "token": tokens.t1(session, expires_in=-312)}}) as app:
        status, errors = run(binary, "--server", app.url)
    assert status == 77
    age = int(re.search(r"expired (\d+) s ago", errors).group(1))
    assert 311 <= age <= 313 + time.time() - started, errors
    assert "clock" in errors
    assert "T1==" not in errors


def test_a_token_cut_short(binary, home):
    session = tokens.session_id()
    token = tokens.t1(session)[:120]
    with AppServer({"/session": {"apiKey": tokens.KEY, "sessionId": session, "token": token}}) as app:
        status, errors = run(binary, "--server", app.url)
    assert status == 77 and "cut" in errors
    assert token not in errors


def test_a_token_of_another_session_is_refused(binary, server):
    credentials, other = good(server), server.get("/room/elsewhere")
    with AppServer({"/session": credentials | {"token": other["token"]}}) as app:
        status, errors = run(binary, "--server", app.url)
    assert status == 77, errors
    assert "session" in errors


def test_the_server_refuses_a_forged_token(binary, server):
    credentials = good(server)
    forged = tokens.t1(credentials["sessionId"], key=str(credentials["apiKey"]), secret="guessed")
    with AppServer({"/session": credentials | {"token": forged}}) as app:
        status, errors = run(binary, "--server", app.url)
    assert status == 77 and "1004" in errors, errors


RIGHT = {
    "a trailing slash": ("/", "/session"),
    "a path": ("/app", "/app/session"),
    "a path and a slash": ("/app/", "/app/session"),
    "a query": ("/app?team=x", "/app/session?team=x"),
    "the endpoint itself": ("/session", "/session"),
    "service": ("/service", "/service"),
    "a room": ("/room/blue", "/room/blue"),
}


@pytest.mark.parametrize("case", RIGHT)
def test_base_urls(binary, server, case):
    path, asked = RIGHT[case]
    with AppServer({asked: good(server)}) as app:
        status, errors = run(binary, "--server", app.url + path, "--until", "sessionConnected")
        assert status == 0, errors
        assert app.asked[0] == asked


def test_room_names_are_encoded(binary, server):
    with AppServer({"/room/blue%20room": good(server)}) as app:
        status, errors = run(binary, "--server", app.url, "--room", "blue room", "--until", "sessionConnected")
        assert status == 0, errors


ODD = {
    "apiKey as a number": lambda c: json.dumps(c | {"apiKey": int(c["apiKey"])}),
    "applicationId": lambda c: json.dumps({("applicationId" if k == "apiKey" else k): v for k, v in c.items()}),
    "unknown keys": lambda c: json.dumps(c | {"more": {"deep": [1, 2]}, "apiKey2": None}),
    "a byte-order mark": lambda c: "\ufeff" + json.dumps(c),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_but_right_answers(binary, server, case):
    with AppServer({"/session": (200, {"Content-Type": "application/json"}, ODD[case](good(server)))}) as app:
        status, errors = run(binary, "--server", app.url, "--until", "sessionConnected")
        assert status == 0, errors


def test_sample_servers_redirect_to_a_room(binary, server):
    with AppServer({"/session": (302, {"Location": "/room/session"}, ""), "/room/session": good(server)}) as app:
        status, errors = run(binary, "--server", app.url, "--until", "sessionConnected")
        assert status == 0, errors
        assert app.asked == ["/session", "/room/session"]


def test_credentials_on_the_command_line_and_in_the_environment(binary, server, monkeypatch):
    c = good(server)
    flags = ("--api-key", str(c["apiKey"]), "--session-id", c["sessionId"], "--token", c["token"], "--api-url", c["apiUrl"])
    assert run(binary, *flags, "--until", "sessionConnected")[0] == 0
    monkeypatch.setenv("OTCHAT_SERVER", server.url)
    assert run(binary, "--until", "sessionConnected")[0] == 0


def test_usage_errors(binary, home):
    os.mkfifo("pipe")
    token = "T1==cGFydG5lcl9pZD0xMjM0NTY="
    for code, word, *arguments in (
            (64, "frame-rate", "--frame-rate", "fast"), (64, "--resolution", "--rezolution", "1x1"),
            (66, "/no/such/file", "--video-source", "file:/no/such/file"), (65, "regular file", "--video-source", "file:/tmp"),
            (65, "regular file", "--video-source", "file:pipe"), (64, "--session-id", "--api-key", "1"),
            (73, "/no/such/folder", "--audio-sink", "file:/no/such/folder/x.wav"), (64, "'signal'", "--until", "sginal"),
            (64, "stun:HOST:PORT", "--ice-server", "example.org"), (64, "not shown", token)):
        done = subprocess.run([binary, "connect", *arguments], capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
        assert done.returncode == code, (arguments, done.stderr)
        assert word in done.stderr and token not in done.stderr


def test_a_pid_file_belongs_to_one_server(binary, home):
    serve = [binary, "serve", "--port", "0", "--daemon", "--pid-file", "pid"]
    assert subprocess.run(serve, capture_output=True, timeout=LIMIT).returncode == 0
    process = int(open("pid").read())
    try:
        done = subprocess.run(serve, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 73 and str(process) in done.stderr
        assert int(open("pid").read()) == process
    finally:
        os.kill(process, signal.SIGTERM)


def test_tls_is_verified(binary, home):
    with Server(binary, "--tls") as server:
        assert server.url.startswith("https://")
        status, errors = run(binary, "--server", server.url)
        assert status == 69 and "certificate" in errors and "--ca" in errors and "--insecure" in errors
        status, errors = run(binary, "--server", server.url, "--insecure", "--until", "sessionConnected")
        assert status == 0, errors
        assert "warning" in errors


def test_lines_that_are_piped_in_wait_for_the_session(binary, server, connect):
    listener = connect("--no-publish", "--audio-sink", "null")
    listener.event("sessionConnected")
    done = subprocess.run([binary, "connect", "--server", server.url, *QUIET], input="say piped in\nquit\n", capture_output=True,
                          text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert listener.event("signal", type="chat")["data"] == "piped in"


SERVE = {
    "a port in use": (lambda port: ("--port", str(port)), 69, "in use"),
    "an open door": (lambda _: ("--port", "0", "--host", "0.0.0.0"), 64, "--access-key"),
    "no certificate": (lambda _: ("--port", "0", "--tls-cert", "/nope", "--tls-key", "/nope"), 65, "/nope"),
    "no web address": (lambda _: ("--port", "0", "--public-url", ":::"), 64, "--public-url"),
}


@pytest.mark.parametrize("case", SERVE)
def test_why_a_server_does_not_start(binary, server, case):
    arguments, code, word = SERVE[case]
    port = server.url.rsplit(":", 1)[1]
    done = subprocess.run([binary, "serve", *arguments(port)], capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    assert done.returncode == code and word in done.stderr and "otchat: hint: " in done.stderr, done.stderr
