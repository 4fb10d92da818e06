"""What the pages talk to: the session server under test, files, and a wire that can be cut."""
import asyncio, base64, contextlib, hashlib, hmac, json, os, pathlib, random, shlex, signal, time, urllib.parse, urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "test.html"
LIBRARY = REPOSITORY / "Sources/SessionServer/Resources/opentok.js"
API_KEY, API_SECRET = "100", "browser-tests"


os.environ["no_proxy"] = "*"  # everything is on this machine


#: Seconds that anything may take on a busy machine: whoever waits for a condition waits so long.
LIMIT = 120


class SetupError(Exception):
    pass


def otchat():
    """The binary under test: $OTCHAT, or the newest build."""
    if path := os.environ.get("OTCHAT"):
        if not os.access(path, os.X_OK):
            raise SetupError(f"OTCHAT={path} is no program")
        return path
    builds = [REPOSITORY / ".build" / kind / "otchat" for kind in ("release", "debug")]
    builds = [path for path in builds if path.exists()]
    if not builds:
        raise SetupError("there is no otchat: run `make build`, or set OTCHAT")
    return str(max(builds, key=lambda path: path.stat().st_mtime))


class SessionServer:
    """`otchat serve` on a free port, or another server by a command line with {port}, {key}, {secret}."""

    def __init__(self, command=None):
        self.command = command

    async def start(self, state):
        text = self.command or f"{shlex.quote(otchat())} serve --port {{port}} --api-key {{key}}"
        command = [part.format(port=0, key=API_KEY, secret=API_SECRET) for part in shlex.split(text)]
        environment = os.environ | {"OTCHAT_API_SECRET": API_SECRET, "XDG_STATE_HOME": str(state)}
        self.log = []
        try:
            self.process = await asyncio.create_subprocess_exec(
                *command, env=environment, stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, start_new_session=True)
        except OSError as error:
            raise SetupError(f"{command[0]}: {error}")
        self.url = None
        ready = asyncio.get_running_loop().create_future()
        self.reader = asyncio.create_task(self.read(ready))
        try:
            async with asyncio.timeout(LIMIT):
                self.url = await ready
        except TimeoutError:
            raise SetupError(f"no `listening on URL` within {LIMIT} s from: {shlex.join(command)}\n" + "".join(self.log))
        return self

    async def read(self, ready):
        async for line in self.process.stdout:
            text = line.decode(errors="replace")
            self.log.append(text)
            if text.startswith("listening on ") and not ready.done():
                ready.set_result(text.split()[2].rstrip("/"))
        if not ready.done():
            ready.set_exception(SetupError("the server ended: " + "".join(self.log[-20:])))

    @property
    def port(self):
        return urllib.parse.urlsplit(self.url).port

    async def credentials(self, room, role="publisher", lifetime=3600):
        """{apiKey, sessionId, token} of a room, the token made here."""
        with await asyncio.to_thread(urllib.request.urlopen, f"{self.url}/room/{room}", None, LIMIT) as answer:
            session = json.load(answer)["sessionId"]
        return {"apiKey": API_KEY, "sessionId": session, "token": token(session, role, lifetime)}

    async def stop(self):
        return await end(self.process, signal.SIGTERM)


async def end(process, number):
    """Ends a process, if need be by force; its exit status."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)  # asyncio's send_signal may reap it behind asyncio's back
        try:
            await asyncio.wait_for(process.wait(), LIMIT)
        except TimeoutError:
            process.kill()
            await process.wait()
    return process.returncode


def token(session, role="publisher", lifetime=3600, secret=API_SECRET):
    """A T1 token as the OpenTok server SDKs make it."""
    now = int(time.time())
    fields = urllib.parse.urlencode({
        "session_id": session, "create_time": min(now, now + lifetime - 60), "expire_time": now + lifetime,
        "role": role, "nonce": random.randrange(999999), "initial_layout_class_list": "", "connection_data": role})
    signature = hmac.new(secret.encode(), fields.encode(), hashlib.sha1).hexdigest()
    return "T1==" + base64.b64encode(f"partner_id={API_KEY}&sig={signature}:{fields}".encode()).decode()


class Loudspeaker:
    """A PulseAudio of our own that plays into nothing: without one, Firefox's AudioContext stands still."""

    async def start(self, folder):
        script = pathlib.Path(folder) / "loudspeaker.pa"
        socket = pathlib.Path(folder) / "pulse.socket"
        script.write_text(
            "load-module module-null-sink sink_name=speaker rate=48000\nset-default-sink speaker\n"
            f"load-module module-native-protocol-unix socket={socket} auth-anonymous=1\n")
        try:
            self.process = await asyncio.create_subprocess_exec(
                "pulseaudio", "-n", "-F", script, "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1",
                "--disable-shm=yes", env=os.environ | {"HOME": folder, "XDG_RUNTIME_DIR": folder, "XDG_CONFIG_HOME": folder},
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
        except OSError as error:
            raise SetupError(f"pulseaudio: {error} (`make test` installs it)")
        self.environment = {"PULSE_SERVER": f"unix:{socket}"}
        async with asyncio.timeout(LIMIT):
            while not socket.is_socket():
                if self.process.returncode is not None:
                    raise SetupError(f"pulseaudio ended ({self.process.returncode})")
                await asyncio.sleep(0.05)
        return self

    async def stop(self):
        await end(self.process, signal.SIGTERM)


class FileServer:
    """The page and the library, from an origin of their own, and whatever pages a test makes up."""

    def __init__(self):
        self.pages = {}

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def serve(self, reader, writer):
        try:
            request = (await reader.readuntil(b"\r\n\r\n")).split()
            body, kind = self.content(urllib.parse.urlsplit(request[1].decode()).path)
            status = "200 OK" if body is not None else "404 Not Found"
            body = body or b""
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                "Access-Control-Allow-Origin: *\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, IndexError):
            pass
        finally:
            writer.close()

    def content(self, path):
        files = {
            "/test.html": (PAGE, "text/html; charset=utf-8"), "/v2/js/opentok.js": (LIBRARY, "text/javascript; charset=utf-8")}
        if path in files:
            return files[path][0].read_bytes(), files[path][1]
        if path in self.pages:
            return self.pages[path].encode(), "text/html; charset=utf-8"
        return None, "text/plain"

    async def stop(self):
        self.server.close()


class Wire:
    """Passes TCP connections on to a port, until they are cut."""

    def __init__(self, port):
        self.target, self.open, self.stalled, self.refusing = port, set(), set(), False

    async def start(self):
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def accept(self, reader, writer):
        if self.refusing:
            writer.transport.abort()
            return
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        both = (writer, there_writer)
        self.open.add(both)
        await asyncio.gather(self.pump(reader, there_writer), self.pump(there_reader, writer))
        self.open.discard(both)

    async def pump(self, reader, writer):
        try:
            while data := await reader.read(65536):
                if writer in self.stalled:
                    continue
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()

    def cut(self, refuse=False):
        """Ends all connections without a word; `refuse` also those that come until `mend()`."""
        self.refusing = refuse
        for both in list(self.open):
            for writer in both:
                writer.transport.abort()

    def stall(self):
        """The connections of now pass nothing any more, and nobody is told; those that come do."""
        self.stalled = {writer for both in self.open for writer in both}

    def mend(self):
        self.refusing = False

    async def stop(self):
        self.cut()
        self.server.close()
