"""Headless Chromium and Firefox, driven over their own remote protocols (DevTools, WebDriver BiDi)."""
import asyncio, json, os, pathlib, shutil, signal, subprocess, tempfile, time

import websockets

from servers import LIMIT

FIREFOX_PREFERENCES = {
    # a page may capture and play without asking; candidates are plain addresses, loopback too
    "media.navigator.streams.fake": True, "media.navigator.permission.disabled": True,
    "media.autoplay.default": 0, "media.autoplay.blocking_policy": 0,
    "media.peerconnection.ice.loopback": True, "media.peerconnection.ice.obfuscate_host_addresses": False,
    "media.suspend-bkgnd-video.enabled": False, "dom.min_background_timeout_value": 4,
    # quiet: nothing is looked for in the network
    "app.normandy.enabled": False, "app.update.enabled": False, "browser.safebrowsing.downloads.remote.enabled": False,
    "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.update.enabled": False, "media.gmp-manager.updateEnabled": False,
    "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    "services.settings.server": "http://127.0.0.1:1/", "toolkit.telemetry.enabled": False,
}
CHROMIUM_FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--no-proxy-server", "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
    "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
    "--allow-loopback-in-peer-connection", "--autoplay-policy=no-user-gesture-required",
    "--remote-debugging-port=0",
]


class BrowserError(Exception):
    pass


class Remote:
    """A WebSocket with numbered calls and events: both protocols look like this."""

    async def connect(self, url):
        self.socket, self.calls, self.number = await websockets.connect(url, max_size=None, ping_interval=None), {}, 0
        self.reader = asyncio.create_task(self.read())

    async def read(self):
        try:
            async for text in self.socket:
                message = json.loads(text)
                call = self.calls.pop(message.get("id"), None)
                if call and not call.done():
                    call.set_result(message)
                elif "method" in message:
                    self.event(message["method"], message["params"], message)
        except websockets.ConnectionClosed:
            pass
        for call in self.calls.values():
            if not call.done():
                call.set_exception(BrowserError("the browser went away"))

    async def call(self, method, extra=None, **params):
        self.number += 1
        reply = self.calls[self.number] = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps({"id": self.number, "method": method, "params": params} | (extra or {})))
        message = await reply
        if "error" in message:
            raise BrowserError(f"{method}: {message.get('message') or message['error']}")
        return message["result"]


class Browser(Remote):
    """One running browser; `open` gives pages."""

    async def start(self, **environment):
        self.profile = pathlib.Path(tempfile.mkdtemp(prefix=f"otchat-{self.name}."))
        self.pages = {}
        command, own = self.command()
        if not shutil.which(command[0]):
            raise BrowserError(f"{command[0]} is missing (`make test` installs it)")
        with open(self.profile / "log", "w") as log:
            self.process = subprocess.Popen(
                command, env=os.environ | environment | own, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        async with asyncio.timeout(LIMIT):
            while True:
                try:
                    await self.connect(self.endpoint())
                    break
                except (OSError, ValueError, KeyError):
                    if self.process.poll() is not None:
                        log = (self.profile / "log").read_text()[-800:]
                        raise BrowserError(f"{command[0]} ended ({self.process.returncode}): {log}")
                    await asyncio.sleep(0.1)
            await self.begin()
        return self

    async def begin(self):
        pass

    async def stop(self):
        if not hasattr(self, "process"):
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                await asyncio.to_thread(self.process.wait, 5)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
        if hasattr(self, "reader"):
            self.reader.cancel()
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """A page of its own window: JavaScript in, JSON out, and what its console said."""

    def __init__(self, browser):
        self.browser, self.console = browser, []

    def said(self, level, text):
        self.console.append((level, text))

    async def js(self, code):
        """The JSON value of an expression; `await` is allowed in it."""
        wrapped = f"(async () => JSON.stringify(await ({code})) ?? 'null')()"
        try:
            async with asyncio.timeout(LIMIT):
                return json.loads(await self.evaluate(wrapped))
        except TimeoutError:
            raise AssertionError(f"{self.browser.name}: no answer within {LIMIT} s: {code}\nconsole: {self.console[-10:]}") from None

    async def until(self, code, seconds=LIMIT):
        """Waits until an expression is true, and returns it. Fails with the page's report when it is not in time."""
        end, value = time.monotonic() + seconds, None
        while time.monotonic() < end:
            value = await self.js(code)
            if value:
                return value
            await asyncio.sleep(0.1)
        state = await self.js("typeof report === 'function' ? report() : null")
        raise AssertionError(
            f"{self.browser.name}: not true within {seconds} s: {code}\n"
            f"value: {json.dumps(value)}\nreport: {json.dumps(state, indent=1)}\nconsole: {self.console[-10:]}")


class Chromium(Browser):
    name = "chromium"

    def command(self):
        return ["chromium", *CHROMIUM_FLAGS, f"--user-data-dir={self.profile}", "about:blank"], {}

    def endpoint(self):
        port, path = (self.profile / "DevToolsActivePort").read_text().split()
        return f"ws://127.0.0.1:{port}{path}"

    async def open(self, url):
        page = ChromiumPage(self)
        target = (await self.call("Target.createTarget", url="about:blank", newWindow=True))["targetId"]
        attached = await self.call("Target.attachToTarget", targetId=target, flatten=True)
        page.target, page.session = target, {"sessionId": attached["sessionId"]}
        self.pages[attached["sessionId"]] = page
        for domain in ("Runtime", "Page", "Log"):
            await self.call(domain + ".enable", page.session)
        await page.navigate(url)
        return page

    def event(self, method, e, message):
        page = self.pages.get(message.get("sessionId"))
        if page is None:
            return
        if method == "Page.loadEventFired":
            page.loaded.set()
        elif method == "Runtime.consoleAPICalled":
            page.said(e["type"], " ".join(str(a.get("value", a.get("description", a["type"]))) for a in e["args"]))
        elif method == "Runtime.exceptionThrown":
            details = e["exceptionDetails"]
            page.said("exception", details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            page.said(e["entry"]["level"], f"{e['entry']['text']} {e['entry'].get('url', '')}".strip())


class ChromiumPage(Page):
    async def navigate(self, url):
        self.loaded = asyncio.Event()
        answer = await self.browser.call("Page.navigate", self.session, url=url)
        if "errorText" in answer:
            raise BrowserError(f"{url}: {answer['errorText']}")
        async with asyncio.timeout(LIMIT):
            await self.loaded.wait()

    async def evaluate(self, code):
        r = await self.browser.call(
            "Runtime.evaluate", self.session, expression=code, awaitPromise=True, returnByValue=True, userGesture=True)
        if e := r.get("exceptionDetails"):
            raise AssertionError(e.get("exception", {}).get("description", e["text"]))
        return r["result"]["value"]

    async def press(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
            await self.browser.call("Input.dispatchKeyEvent", self.session, type=kind, key=key, **text)

    async def screenshot(self, path, width, height, dark=False):
        import base64
        await self.browser.call(
            "Emulation.setDeviceMetricsOverride", self.session, width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        await self.browser.call(
            "Emulation.setEmulatedMedia", self.session,
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        await self.js("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 300)))")
        shot = await self.browser.call("Page.captureScreenshot", self.session, format="png")
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    async def close(self):
        self.browser.pages.pop(self.session["sessionId"], None)
        await self.browser.call("Target.closeTarget", targetId=self.target)


class Firefox(Browser):
    name = "firefox"

    def command(self):
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in FIREFOX_PREFERENCES.items()]
        (self.profile / "user.js").write_text("".join(lines))
        return (["firefox-esr", "--headless", "--no-remote", "--profile", str(self.profile), "--remote-debugging-port", "0"],
                {"HOME": str(self.profile), "MOZ_HEADLESS": "1"})

    def endpoint(self):
        server = json.loads((self.profile / "WebDriverBiDiServer.json").read_text())
        return f"ws://{server['ws_host']}:{server['ws_port']}/session"

    async def begin(self):
        await self.call("session.new", capabilities={"alwaysMatch": {"acceptInsecureCerts": True}})
        await self.call("session.subscribe", events=["log.entryAdded"])

    async def open(self, url):
        page = FirefoxPage(self)
        page.context = (await self.call("browsingContext.create", type="window"))["context"]
        self.pages[page.context] = page
        await page.navigate(url)
        return page

    def event(self, method, e, message):
        page = self.pages.get(e.get("source", {}).get("context"))
        if page and method == "log.entryAdded":
            page.said("exception" if e["type"] == "javascript" else e.get("method", e["level"]), e["text"])


class FirefoxPage(Page):
    async def navigate(self, url):
        async with asyncio.timeout(LIMIT):
            await self.browser.call("browsingContext.navigate", context=self.context, url=url, wait="complete")

    async def evaluate(self, code):
        r = await self.browser.call(
            "script.evaluate", expression=code, awaitPromise=True, userActivation=True, target={"context": self.context})
        if r["type"] != "success":
            raise AssertionError(r["exceptionDetails"]["text"])
        return r["result"]["value"]

    async def close(self):
        self.browser.pages.pop(self.context, None)
        await self.browser.call("browsingContext.close", context=self.context)
