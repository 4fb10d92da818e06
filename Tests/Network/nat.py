"""Rooms where no straight way leads from one participant to the other, and a TURN server that helps.

  home a 192.168.1.2 - gate a 198.51.100.1 ~link~ 198.51.100.2 inet 203.0.113.1 - 203.0.113.2 gate b - 192.168.2.2 home b
"""
import asyncio, os, signal

from room import PREFIX, Room, RoomError, ip
from servers import end

SECRET = "of-the-turn-server"


class TurnServer:
    """coturn on one address, with a shared secret."""

    def __init__(self, room, side, address, transport):
        self.inside, self.address = room.inside(side), address
        self.flags = ["--turn-url", f"turn:{address}:3478?transport={transport}", "--turn-secret", SECRET]

    async def start(self, folder):
        self.process = await asyncio.create_subprocess_exec(
            *self.inside, "turnserver", "-n", f"--listening-ip={self.address}", f"--relay-ip={self.address}",
            "--listening-port=3478", "--realm=otchat.test", "--use-auth-secret", f"--static-auth-secret={SECRET}",
            "--fingerprint", "--no-tls", "--no-dtls", "--no-cli", f"--pidfile={folder}/turn.pid",
            f"--userdb={folder}/turn.db", "--log-file=stdout", "--no-stdout-log", start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
        for _ in range(100):
            probe = await asyncio.create_subprocess_exec(
                *self.inside, "bash", "-c", f"exec 3<>/dev/tcp/{self.address}/3478", stderr=asyncio.subprocess.DEVNULL)
            if await probe.wait() == 0:
                return self
            if self.process.returncode is not None:
                break
            await asyncio.sleep(0.1)
        raise RoomError("turnserver did not start (`scripts/setup network` installs it)")

    async def stop(self):
        await end(self.process, signal.SIGTERM)


class BlockedRoom(Room):
    """No UDP passes the link; TURN over TCP is on side A."""

    async def furnish(self, exits, folder):
        await self.set("udp=0")
        turn = TurnServer(self, "a", self.addresses["a"], "tcp")
        exits.push_async_callback(turn.stop)
        await turn.start(folder)
        return turn.flags


class NATRoom(Room):
    """A home behind a symmetric NAT on either side; session and TURN server between them."""

    server_side, server_address = "inet", "203.0.113.1"

    def __init__(self, seed, values):
        super().__init__(seed, values)
        self.namespaces = {side: f"{PREFIX}{os.getpid()}{side}" for side in ("a", "b", "gatea", "gateb", "inet")}
        self.ends = {"gatea": "198.51.100.1", "inet": "198.51.100.2"}

    async def furnish(self, exits, folder):
        names, cables = self.namespaces, iter(range(3))

        def cable(one, its, other, others):
            number = next(cables)
            ip("link", "add", f"one{number}", "netns", names[one], "type", "veth",
               "peer", "name", f"two{number}", "netns", names[other])
            for side, address, device in ((one, its, f"one{number}"), (other, others, f"two{number}")):
                ip("-n", names[side], "addr", "add", f"{address}/24", "dev", device)
                ip("-n", names[side], "link", "set", device, "up")
        cable("a", "192.168.1.2", "gatea", "192.168.1.1")
        cable("inet", "203.0.113.1", "gateb", "203.0.113.2")
        cable("gateb", "192.168.2.1", "b", "192.168.2.2")
        for side, gateway in (("a", "192.168.1.1"), ("b", "192.168.2.1"), ("gatea", "198.51.100.2"), ("gateb", "203.0.113.1")):
            ip("-n", names[side], "route", "replace", "default", "via", gateway)
        # The internet swallows what is sent to private addresses, without an error.
        ip("-n", names["inet"], "route", "replace", "default", "dev", "lo")
        for side in ("gatea", "gateb", "inet"):
            ip("netns", "exec", names[side], "sysctl", "-qw", "net.ipv4.ip_forward=1")
        ip("netns", "exec", names["inet"], "iptables", "-A", "FORWARD", "-d", "192.168.0.0/16", "-j", "DROP")
        for side, home in (("gatea", "192.168.1.0/24"), ("gateb", "192.168.2.0/24")):
            ip("netns", "exec", names[side], "iptables", "-t", "nat", "-A", "POSTROUTING", "-s", home,
               "-j", "MASQUERADE", "--random-fully")
        turn = TurnServer(self, "inet", self.server_address, "udp")
        exits.push_async_callback(turn.stop)
        await turn.start(folder)
        return turn.flags
