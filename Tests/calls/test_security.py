"""What strangers can try with a server, against the real process: none gets in, none stops it, nothing secret is logged."""
import base64
import hashlib
import hmac
import json
import os
import resource
import select
import socket
import time
import urllib.parse

import pytest
import websockets
from websockets.sync.client import connect as open_websocket
from otchat import LIMIT, Server
from rumor import CONNECT, MESSAGE, STATUS, decode, encode
from tokens import KEY, SECRET, session_id, t1

ACCESS = "an access key of this test"
HOOK = "a-secret-in-a-callback-url"


@pytest.fixture
def server(binary, home, monkeypatch):
    """A server with secrets of all kinds that logs all it can; at the end none of them may be in what it wrote."""
    monkeypatch.setenv("OTCHAT_API_SECRET", SECRET)
    monkeypatch.setenv("OTCHAT_SESSION_CALLBACK", f"http://127.0.0.1:9/{HOOK}?key={HOOK}")
    secrets = [SECRET, ACCESS, HOOK, urllib.parse.quote(ACCESS), "turn-secret-of-this-test"]
    with Server(binary, "-vv", "--api-key", KEY, "--access-key", ACCESS, "--host", "0.0.0.0", "--turn-url", "turn:127.0.0.1:9",
                "--turn-secret", "turn-secret-of-this-test") as running:
        running.port = urllib.parse.urlsplit(running.url).port
        running.secrets = secrets
        yield running
        assert running.process.poll() is None, "the server died\n" + running.last_words()
        running.end()
    written = "\n".join(running.lines + running.errors)
    assert "listening" in written
    for secret in secrets:
        assert secret not in written, f"{secret[:12]}… was written"


def connect(server):
    one = socket.create_connection(("127.0.0.1", server.port), LIMIT)
    one.settimeout(LIMIT)
    return one


def everything(one):
    """Until the server closes."""
    data = b""
    try:
        while piece := one.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data


def ask(server, method, path, headers=(), body=b""):
    """Status, headers and body of a request whose path is sent as it is."""
    with connect(server) as one:
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Connection: close", f"Content-Length: {len(body)}",
                 *(f"{name}: {value}" for name, value in headers)]
        one.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        head, _, rest = everything(one).partition(b"\r\n\r\n")
        return int(head.split()[1]) if head else 0, head.decode("latin-1"), rest


def is_well(server):
    assert ask(server, "GET", "/healthz")[0] == 200


def memory(server):
    return int(next(line.split()[1] for line in open(f"/proc/{server.process.pid}/status") if line.startswith("VmRSS"))) / 1000


class Client:
    def __init__(self, server, session, token, name="stranger"):
        self.base, self.id = f"/v2/partner/{KEY}/session/{session}", name
        self.opening = open_websocket(
            f"ws://127.0.0.1:{server.port}/rumorwebsocketsv2?socketId=socket-of-{name}&attempt=1", max_size=None, ping_interval=None)
        self.socket = self.opening.__enter__()
        self.socket.send(encode(CONNECT, (), [("uniqueId", name)]))
        self.joined = self.request("create", f"/connection/{name}", {}, [("X-TB-TOKEN-AUTH", token)])

    def request(self, method, path, content, more=()):
        """The status of the answer."""
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        payload = b'{"method":"%s","uri":"%s","content":%s}' % (method.encode(), (self.base + path).encode(), text)
        self.socket.send(encode(MESSAGE, ["symphony"], [("TRANSACTION-ID", f"t-{time.monotonic_ns()}"), *more], payload))
        while True:
            kind, headers, _ = decode(self.socket.recv(timeout=LIMIT))
            if kind == STATUS:
                return int(headers["STATUS"])

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.opening.__exit__(*error)


def jwt(session, algorithm="HS256", secret=SECRET, **changes):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")
    now = int(time.time())
    claims = {"iss": KEY, "ist": "project", "iat": now, "exp": now + 600, "nonce": 1, "session_id": session, "role": "moderator",
              "scope": "session.connect", "connection_data": "", "initial_layout_class_list": ""} | changes
    text = part({"alg": algorithm, "typ": "JWT"}) + b"." + part(claims)
    digest = {"HS512": hashlib.sha512}.get(algorithm, hashlib.sha256)
    signature = b"" if algorithm == "none" else base64.urlsafe_b64encode(hmac.new(secret.encode(), text, digest).digest()).rstrip(b"=")
    return (text + b"." + signature).decode()


def changed(token, old, new):
    """A token whose text was altered behind its signature."""
    text = base64.b64decode(token.removeprefix("T1==")).decode()
    assert old in text
    return "T1==" + base64.b64encode(text.replace(old, new).encode()).decode()


def test_tokens_that_are_not_good(server):
    session, other = session_id(), "1_" + base64.urlsafe_b64encode(f"1~{KEY}~~1~another~~".encode()).decode().rstrip("=")
    good = {"good": t1(session), "good JWT": jwt(session)}
    bad = {
        "forged": t1(session, secret="another secret"), "expired": t1(session, expires_in=-60),
        "of another session": t1(other), "of another project": t1(session, key="200"),
        "raised": changed(t1(session, role="subscriber"), "role=subscriber", "role=moderator"),
        "prolonged": changed(t1(session, expires_in=-60), "expire_time=", "expire_time=9"),
        "twice": changed(t1(session, role="subscriber"), "role=subscriber", "role=subscriber&role=moderator"),
        "empty": "", "no token": "T1==" + "A" * 4000,
        "unsigned JWT": jwt(session, "none"), "JWT of another algorithm": jwt(session, "HS512"),
        "forged JWT": jwt(session, secret="another secret"), "expired JWT": jwt(session, exp=int(time.time()) - 60),
        "JWT of another session": jwt(other), "JWT for a server": jwt(session, iss="200"),
        "JWT for ever": jwt(session, exp=int(time.time()) + 10 ** 12)}
    server.secrets += [token for token in [*good.values(), *bad.values()] if token]
    for what, token in good.items():
        assert b"messaging_url" in ask(server, "GET", f"/session/{session}?extended=true", [("X-OPENTOK-AUTH", token)])[2], what
        with Client(server, session, token, "good") as client:
            assert client.joined == 200, what
    for what, token in bad.items():
        _, _, body = ask(server, "GET", f"/session/{session}?extended=true", [("X-OPENTOK-AUTH", token)])
        # OpenTok says so in the body, with status 200.
        assert b"messaging_url" not in body and b"403" in body and b"Invalid token" in body, (what, body)
        assert not token or token.encode() not in body, what
        with Client(server, session, token) as client:
            assert client.joined == 403, what
    # What a role does not allow, with a token that is good.
    with Client(server, session, t1(session, role="subscriber"), "small") as small, \
            Client(server, session, t1(session), "other") as peer:
        assert (small.joined, peer.joined) == (200, 200)
        stream = {"name": "", "channel": [{"id": "audio1", "type": "audio", "active": True}]}
        assert small.request("create", "/stream/s1", stream) == 403
        assert peer.request("create", "/stream/s2", stream) == 200
        assert small.request("delete", "/stream/s2", {}) == 403
        for client in (small, peer):
            assert client.request("delete", "/connection/other" if client is small else "/connection/small", {}) == 403
            assert client.request("update", "", {"reason": "mute", "active": True}) == 403
    # A client's token opens nothing of the server SDKs'.
    for header in ("X-OPENTOK-AUTH", "X-TB-PARTNER-AUTH"):
        for value in (t1(session, role="moderator"), jwt(session), jwt(session, "none", ist="project"), f"{KEY}:", f"{KEY}:wrong"):
            assert ask(server, "GET", f"/v2/project/{KEY}/archive", [(header, value)])[0] == 403


def test_no_path_leads_out_of_the_archives(server, home):
    state = home / "xdg_state_home/otchat"
    (state / "archives/secret").mkdir(parents=True, exist_ok=True)
    (state / "archives/archive.mp4").write_text("LEAKED-BY-THE-SERVER")
    (state / "archives/secret/archive.mp4").write_text("LEAKED-BY-THE-SERVER")
    (state / "note").write_text("LEAKED-BY-THE-SERVER")
    name = "6f0b5d5e-0000-4000-8000-000000000000"
    tails = ["..", "../note", "../../note", "..%2fnote", "..%2f..%2fnote", "%2e%2e/%2e%2e/note", "..%5cnote", "..\\note", ".%00/note",
             f"{name}/../../note", f"{name}/..%2f..%2fnote", f"{name}/%2e%2e%2f%2e%2e%2fnote", f"{name}/archive.json",
             f"{name}/archive.mp4%00", "secret/archive.mp4", "./archive.mp4", "%2e/archive.mp4", "//etc/passwd", "%2fetc%2fpasswd",
             "secret/..%252f..%252fnote", f"{name}/" + "../" * 40 + "etc/passwd", "%c0%ae%c0%ae/note", "~/note"]
    for tail in tails:
        for prefix in ("/archive/", "/view/", f"/v2/project/{KEY}/archive/", "/"):
            status, _, body = ask(server, "GET", prefix + tail, [("X-Access-Key", ACCESS), ("X-TB-PARTNER-AUTH", f"{KEY}:{SECRET}")])
            # A path that is resolved before it is looked up may lead to another page of this server, but to no file.
            assert b"LEAKED-BY-THE-SERVER" not in body and b"root:x:" not in body and SECRET.encode() not in body, (prefix, tail, status)
            assert status != 200 or b"<html" in body or b'"items"' in body, (prefix, tail, body[:80])
    for tail in tails[:12]:
        assert ask(server, "DELETE", "/archive/" + tail, [("X-Access-Key", ACCESS)])[0] != 204
    assert (state / "note").read_text() == (state / "archives/archive.mp4").read_text() == "LEAKED-BY-THE-SERVER"


def test_a_strangers_page_has_no_access(server):
    session = session_id()
    with Client(server, session, t1(session), "anna") as anna:
        assert anna.joined == 200
        body = json.dumps({"sessionId": session}).encode()
        evil = [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")]
        for headers in (evil, evil[:1], [("Origin", "null")], [], [*evil, ("X-Access-Key", "wrong")], [*evil, ("Cookie", "otchat-access=1")]):
            for method, path in (("POST", "/archive/start"), ("GET", f"/start/{session}"), ("POST", f"/start/{session}"), ("GET", "/archive"),
                                 ("DELETE", "/archive/x"), ("GET", "/archive/x"), ("GET", "/session"), ("GET", "/room/a?role=moderator")):
                assert ask(server, method, path, headers, body if method == "POST" else b"")[0] == 403, (method, path, headers)
        assert ask(server, "GET", "/archive", [("X-Access-Key", ACCESS)])[0] == 200
        listed = json.loads(ask(server, "GET", "/archive", [("X-Access-Key", ACCESS)])[2])
        assert listed["count"] == 0, "nothing was started"
    # The page opened with the key gets a cookie that other sites' pages do not send, and that is not the key.
    _, head, _ = ask(server, "GET", "/?accessKey=" + urllib.parse.quote(ACCESS))
    cookie = next(line for line in head.splitlines() if line.lower().startswith("set-cookie"))
    assert "SameSite=Strict" in cookie and "HttpOnly" in cookie and ACCESS not in cookie
    server.secrets.append(cookie.split("otchat-access=")[1].split(";")[0])


def test_bombs(server):
    """Bodies, headers and JSON that are too large, too deep or lie about their size."""
    signed = [("X-TB-PARTNER-AUTH", f"{KEY}:{SECRET}")]
    session = session_id()
    path = f"/v2/project/{KEY}/session/{session}/signal"
    before = memory(server)
    assert ask(server, "POST", "/archive/start", [], b"x" * 5_000_000)[0] in (413, 403)
    for length in ("1000000000000000", "18446744073709551616", "-1", "1e3"):
        with connect(server) as one:
            one.sendall(f"POST /archive/start HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\nabc".encode())
            assert everything(one).split(b" ")[1] in (b"413", b"400"), length
    for head in (b"X-A: " + b"a" * 2_000_000, b"".join(b"X-%d: b\r\n" % n for n in range(50_000)), b"Cookie: " + b"a=b; " * 100_000,
                 b"X-OPENTOK-AUTH: " + b"A" * 100_000, b"\r\n ".join([b"X-Folded: a"] * 20_000)):
        with connect(server) as one:
            try:
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + head + b"\r\n\r\n")
            except (BrokenPipeError, ConnectionResetError):
                pass
            answer = everything(one)
            assert answer == b"" or answer.split(b" ")[1][:1] in b"24", answer[:80]
    deep = b"[" * 60_000
    bombs = [deep, deep[:30_000] + b"]" * 30_000, b'{"a":' * 10_000 + b"1" + b"}" * 10_000, b'{"type":"a","data":1e999999999}', b'{"data":"\\ud800"}',
             b'{"data":' + b"9" * 60_000 + b"}", b'{"data":"' + b"\\u0000" * 10_000 + b'"}', b'{' + b",".join(b'"k":1' for _ in range(9000)) + b"}",
             b'{"type":"a"', b"\xff\xfe", b""]
    with Client(server, session, t1(session), "anna") as anna:
        assert anna.joined == 200
        for bomb in bombs:
            assert ask(server, "POST", path, signed, bomb)[0] in (204, 400, 413), bomb[:20]
            with Client(server, session, t1(session), "bert") as bert:
                try:
                    assert bert.request("signal", "/signal/n", bomb or b"{") in (200, 400, 413), bomb[:20]
                except websockets.ConnectionClosed as closed:
                    assert closed.rcvd.code in (1009, 1011, 1002), bomb[:20]
        for payload in (b"\0" * 300_000, b"\xff" * 5000, encode(MESSAGE, ["a"] * 255, [("k", "v" * 60_000)] * 3)):
            with Client(server, session, t1(session), "carl") as carl, pytest.raises(websockets.ConnectionClosed):
                carl.socket.send(payload)
                while True:
                    carl.socket.recv(timeout=LIMIT)
        # Who was there all the time is still heard.
        assert anna.request("signal", "/signal/n", {"data": "still here"}) == 200
    is_well(server)
    assert memory(server) < before + 60, "bombs stay in memory"


def test_slow_clients_are_not_waited_for_for_ever(server):
    """Headers or bodies a byte at a time, and nothing at all: they are cut off, and all others are answered meanwhile."""
    begins = {
        "headers": b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ", "a body": b"POST /archive/start HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n",
        "a large body": b"POST /archive/start HTTP/1.1\r\nHost: a\r\nContent-Length: 6000000\r\n\r\n",
        "nothing": b"", "an upgrade": b"GET /rumorwebsocketsv2 HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgr"}
    slow = {}
    for what, begin in begins.items():
        for _ in range(20):
            one = connect(server)
            one.sendall(begin)
            slow[one] = what
    deadline = time.monotonic() + LIMIT
    while slow:
        assert time.monotonic() < deadline, f"still there: {sorted(set(slow.values()))}"
        is_well(server)
        for one in list(slow):
            try:
                if slow[one] != "nothing":
                    one.sendall(b"a")
                if select.select([one], [], [], 0)[0] and one.recv(65536) == b"":
                    raise ConnectionResetError
            except (ConnectionResetError, BrokenPipeError):
                slow.pop(one)
                one.close()
        time.sleep(0.5)


def test_thousands_of_sockets_that_say_nothing(server):
    """Who is there stays there; who comes is served again at last, though the sockets stay open at their end."""
    count = 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 1000), hard))
    if hard < count + 500:
        print(f"only {hard - 500} of {count} sockets: the hard limit of descriptors is {hard}")
    session = session_id()
    silent = []
    try:
        with Client(server, session, t1(session), "anna") as anna, Client(server, session, t1(session), "bert") as bert:
            assert (anna.joined, bert.joined) == (200, 200)
            for _ in range(min(count, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 500)):
                one = socket.socket()
                one.setblocking(False)
                one.connect_ex(("127.0.0.1", server.port))
                silent.append(one)
                if len(silent) % 500 == 0:
                    assert anna.request("signal", "/signal/n", {"data": str(len(silent))}) == 200
            assert len(silent) == min(count, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 500)
            assert bert.request("signal", "/signal/n", {"data": "still here"}) == 200
            deadline = time.monotonic() + LIMIT
            while True:
                try:
                    if ask(server, "GET", "/healthz")[0] == 200:
                        break
                except OSError:
                    pass
                assert time.monotonic() < deadline, "nobody gets in any more"
                time.sleep(0.5)
            with Client(server, session, t1(session), "carl") as carl:
                assert carl.joined == 200
            assert anna.request("signal", "/signal/n", {"data": "still here"}) == 200
    finally:
        for one in silent:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def processor_time(server):
    fields = open(f"/proc/{server.process.pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_server_without_descriptors_goes_on(binary, home, monkeypatch):
    """What there is too much of is dropped, which is told; who is there is served, nothing spins, and later all is well."""
    monkeypatch.setenv("OTCHAT_API_SECRET", SECRET)
    session, limit = session_id(), 120
    with Server(binary, "--api-key", KEY, prefix=("prlimit", f"--nofile={limit}:{limit}")) as server:
        server.port = urllib.parse.urlsplit(server.url).port
        with Client(server, session, t1(session), "anna") as anna:
            assert anna.joined == 200
            silent = [connect(server) for _ in range(3 * limit)]
            server.wait_until(lambda: any("no descriptor is left" in line for line in server.errors), "a word about it")
            for number in range(20):
                assert anna.request("signal", "/signal/n", {"data": str(number)}) == 200
            # Dropped at once, and not waited for: with nothing to do it does nothing, for as long as the others stay.
            deadline = time.monotonic() + LIMIT
            while len(select.select(silent, [], [], 0)[0]) < 2 * limit:
                assert time.monotonic() < deadline, "they are not dropped"
                time.sleep(0.05)
            before, began = processor_time(server), time.monotonic()
            time.sleep(2)
            assert processor_time(server) - before < 0.5 * (time.monotonic() - began), "it spins"
            for one in silent:
                one.close()
            deadline = time.monotonic() + LIMIT
            while True:
                try:
                    if ask(server, "GET", "/healthz")[0] == 200:
                        break
                except OSError:
                    pass
                assert time.monotonic() < deadline, "nobody gets in any more"
                time.sleep(0.1)
            assert anna.request("signal", "/signal/n", {"data": "still here"}) == 200
        assert len([line for line in server.errors if "no descriptor is left" in line]) == 1


def test_the_limit_of_descriptors_is_raised(binary, home):
    with Server(binary, prefix=("prlimit", "--nofile=200:3000")) as server:
        limits = open(f"/proc/{server.process.pid}/limits").read()
        assert next(line.split()[3:5] for line in limits.splitlines() if line.startswith("Max open files")) == ["3000", "3000"]


def own_address():
    """An address of this machine that is no loopback one, as the system would choose it; None without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
            return one.getsockname()[0]
        except OSError:
            return None


def test_one_address_does_not_take_all_connections(binary, home):
    """From another address than loopback, which has no such limit."""
    address = own_address()
    if address is None:
        pytest.skip("this machine has loopback addresses only")
    with Server(binary, "--host", "0.0.0.0", "--open", "--connections-per-address", "5") as server:
        server.port = urllib.parse.urlsplit(server.url).port

        def from_outside():
            one = socket.create_connection((address, server.port), LIMIT)
            one.settimeout(LIMIT)
            one.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            return one, one.recv(4096).split(b"\r\n\r\n")

        there = [from_outside() for _ in range(5)]
        assert all(answer[0].split()[1] == b"200" for _, answer in there)
        one, (head, *rest) = from_outside()
        body = b"".join(rest) + everything(one)
        assert head.split()[1] == b"429" and b"too many connections from this address" in body
        inside = [connect(server) for _ in range(50)]
        for one in inside:
            one.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            assert one.recv(4096).split()[1] == b"200"
        there.pop()[0].close()
        deadline = time.monotonic() + LIMIT
        while from_outside()[1][0].split()[1] != b"200":
            assert time.monotonic() < deadline, "there is no room again"
            time.sleep(0.1)
