"""Two network namespaces with the bad link between them: side A is 10.99.0.1, side B 10.99.0.2."""
import asyncio, contextlib, ctypes, json, os, pathlib, signal, socket, subprocess, sys

LINK = pathlib.Path(__file__).with_name("link.py")
PREFIX = "otchat-net"


class RoomError(Exception):
    pass


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RoomError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


class Room:
    """`async with Room(seed, "delay=50") as room`: up with these values; everything in it ends with it."""

    addresses = {"a": "10.99.0.1", "b": "10.99.0.2"}
    server_side, server_address = "a", addresses["a"]

    def __init__(self, seed, values=""):
        self.seed, self.values = str(seed), values
        self.namespaces = {side: f"{PREFIX}{os.getpid()}{side}" for side in "ab"}
        self.ends = self.addresses  # of the link, by side: first the one that `a_to_b` starts from

    async def __aenter__(self):
        try:
            for namespace in self.namespaces.values():
                ip("netns", "add", namespace)
                for scope in ("all", "default"):
                    ip("netns", "exec", namespace, "sysctl", "-qw", f"net.ipv6.conf.{scope}.disable_ipv6=1")
            self.link = await asyncio.create_subprocess_exec(
                sys.executable, LINK, self.seed, *(self.namespaces[side] for side in self.ends), start_new_session=True,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 24)
            await self.answer()
            for namespace in self.namespaces.values():
                ip("-n", namespace, "link", "set", "lo", "up")
            for side, address in self.ends.items():
                namespace = self.namespaces[side]
                ip("-n", namespace, "addr", "add", f"{address}/24", "dev", "link0")
                ip("-n", namespace, "link", "set", "link0", "up")
                ip("-n", namespace, "route", "add", "default", "dev", "link0")
            if self.values:
                await self.set(self.values)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_):
        if hasattr(self, "link"):
            with contextlib.suppress(ProcessLookupError):
                self.link.kill()
            await self.link.wait()
        for namespace in self.namespaces.values():
            remove(namespace)

    async def furnish(self, exits, folder):
        """Starts what else belongs to the room, to be ended by `exits`; the session server's flags for it."""
        return []

    async def answer(self):
        async with asyncio.timeout(20):
            line = await self.link.stdout.readline()
        if not line:
            raise RoomError("the link ended")
        return json.loads(line)

    async def tell(self, line):
        self.link.stdin.write(line.encode() + b"\n")
        await self.link.stdin.drain()
        return await self.answer()

    async def set(self, values):
        """Changes the link's values; when that was, in seconds since the Unix epoch."""
        return (await self.tell(values))["time"]

    async def report(self):
        """Counters and timeline of `a_to_b` and `b_to_a`, with the packets that the link was too slow to read."""
        report = await self.tell("report")
        for side, way in zip(self.ends, ("a_to_b", "b_to_a")):
            device = json.loads(ip("-n", self.namespaces[side], "-j", "-s", "link", "show", "link0"))[0]
            report[way]["overruns"] = device["stats64"]["tx"]["dropped"]
        return report

    def inside(self, side):
        """What to put before a command that shall run on a side, ahead of what else the machine does."""
        return ["ip", "netns", "exec", self.namespaces[side], "chrt", "--rr", "1"]


class Entered:
    """`with Entered(namespace)`: sockets made meanwhile by this thread belong to the namespace, for good."""

    def __init__(self, namespace):
        self.namespace = namespace

    def __enter__(self):
        self.own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        with open(f"/run/netns/{self.namespace}") as file:
            set_namespace(file.fileno())

    def __exit__(self, *_):
        set_namespace(self.own)
        os.close(self.own)


def set_namespace(descriptor):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, 0x40000000):  # CLONE_NEWNET
        raise RoomError(f"setns: {os.strerror(ctypes.get_errno())}")


def socket_in(namespace, kind=socket.SOCK_STREAM):
    with Entered(namespace):
        return socket.socket(socket.AF_INET, kind)


def remove(namespace):
    """Ends what still runs in a namespace, and the namespace."""
    pids = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True).stdout.split()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    subprocess.run(["ip", "netns", "del", namespace], capture_output=True)


def remove_abandoned():
    """Namespaces of runs that were killed."""
    for line in ip("netns", "list").splitlines():
        name = line.split()[0]
        digits = "".join(c for c in name.removeprefix(PREFIX) if c.isdigit())
        if name.startswith(PREFIX) and not os.path.exists(f"/proc/{digits}"):
            remove(name)
