"""An internet of network namespaces: homes, each behind a router that may be a NAT or swallow what passes.

    home 10.N.0.2 (and fd00:N::2) -- router -- internet 203.0.113.1 (and 2001:db8::1)

Servers run in the internet. Nothing of it touches the machine's own network.
"""
import itertools
import os
import signal
import subprocess

from otchat import Process

NUMBERS = itertools.count(1)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


class Namespace:
    def __init__(self, label):
        self.name = f"otchat-{os.getpid()}-{label}"
        run("ip", "netns", "add", self.name)
        self.ip("link", "set", "lo", "up")

    def ip(self, *arguments):
        return run("ip", "-n", self.name, *arguments)

    def run(self, *command):
        return run(*self.inside, *command)

    @property
    def inside(self):
        """What stands before a command that is to run in here."""
        return ["ip", "netns", "exec", self.name]

    def remove(self):
        for pid in subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True).stdout.split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)


def wire(left, left_device, right, right_device):
    """A cable, up at both ends. Addresses are there at once, not after a second of looking for duplicates."""
    run("ip", "link", "add", left_device, "netns", left.name, "type", "veth", "peer", "name", right_device, "netns", right.name)
    for end, device in ((left, left_device), (right, right_device)):
        end.run("sysctl", "-qw", f"net.ipv6.conf.{device}.accept_dad=0", f"net.ipv6.conf.{device}.dad_transmits=0")
        end.ip("link", "set", device, "up")


class Home:
    """A participant's network: `home.inside + [command]` runs in it."""

    def __init__(self, internet, nat=None, ipv6=False):
        self.number = next(NUMBERS)
        self.net = Namespace(f"home{self.number}")
        self.router = Namespace(f"router{self.number}")
        self.address = f"10.{self.number}.0.2"
        wire(self.net, "eth0", self.router, "inner")
        wire(self.router, "outer", internet.net, f"isp{self.number}")
        if ipv6:
            self._route6(internet)
        else:
            self._route4(internet, nat)

    def _route4(self, internet, nat):
        number, outside = self.number, f"100.64.{self.number}"
        self.net.ip("addr", "add", f"{self.address}/24", "dev", "eth0")
        self.router.ip("addr", "add", f"10.{number}.0.1/24", "dev", "inner")
        self.router.ip("addr", "add", f"{outside}.2/24", "dev", "outer")
        internet.net.ip("addr", "add", f"{outside}.1/24", "dev", f"isp{number}")
        self._default_route()
        self.router.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
        self.router.ip("route", "add", "default", "via", f"{outside}.1")
        if nat:
            # Each destination is given a port of its own: no two homes find each other without a relay.
            symmetric = ["--random-fully"] if nat == "symmetric" else []
            self.router.run("iptables", "-t", "nat", "-A", "POSTROUTING", "-o", "outer", "-j", "MASQUERADE", *symmetric)
            # What nobody asked for is swallowed, as by any home router.
            self.router.run("iptables", "-A", "INPUT", "-i", "outer", "-m", "conntrack", "--ctstate", "NEW", "-j", "DROP")
        else:
            internet.net.ip("route", "add", f"10.{number}.0.0/24", "via", f"{outside}.2")

    def _route6(self, internet):
        number = self.number
        self.net.ip("addr", "add", f"fd00:{number}::2/64", "dev", "eth0", "nodad")
        self.router.ip("addr", "add", f"fd00:{number}::1/64", "dev", "inner", "nodad")
        self.router.ip("addr", "add", f"fd01:{number}::2/64", "dev", "outer", "nodad")
        internet.net.ip("addr", "add", f"fd01:{number}::1/64", "dev", f"isp{number}", "nodad")
        self.net.ip("route", "add", "default", "via", f"fd00:{number}::1")
        self.router.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1")
        self.router.ip("route", "add", "default", "via", f"fd01:{number}::1")
        internet.net.ip("route", "add", f"fd00:{number}::/64", "via", f"fd01:{number}::2")

    def _default_route(self):
        self.net.ip("route", "add", "default", "via", f"10.{self.number}.0.1")

    @property
    def inside(self):
        return self.net.inside

    def block(self, *what):
        """Swallows what passes and fits the iptables conditions, such as '-p', 'udp'; no condition: everything."""
        self.router.run("iptables", "-I", "FORWARD", *what, "-j", "DROP")

    def unblock(self, *what):
        self.router.run("iptables", "-D", "FORWARD", *what, "-j", "DROP")

    def limit(self, kilobits):
        """So many a second come in, with a queue of 300 ms before them; None: as many as there are."""
        if kilobits:
            self.router.run("tc", "qdisc", "replace", "dev", "inner", "root", "tbf",
                            "rate", f"{kilobits}kbit", "burst", "3000", "latency", "300ms")
        else:
            self.router.run("tc", "qdisc", "del", "dev", "inner", "root")

    def change_address(self):
        """Another address in place of the one there is, as after a move to another network."""
        old = self.address
        self.address = f"10.{self.number}.0.{int(old.rsplit('.', 1)[1]) + 1}"
        self.net.ip("addr", "del", f"{old}/24", "dev", "eth0")
        self.net.ip("addr", "add", f"{self.address}/24", "dev", "eth0")
        self._default_route()

    def remove(self):
        self.net.remove()
        self.router.remove()


class Internet:
    """`with Internet() as internet:` homes and servers in it end with it."""

    address, address6 = "203.0.113.1", "2001:db8::1"

    def __init__(self):
        self.homes, self.processes = [], []

    def __enter__(self):
        self.net = Namespace(f"net{next(NUMBERS)}")
        self.net.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        self.net.ip("addr", "add", f"{self.address}/32", "dev", "lo")
        # What is sent to somebody's private address gets lost without an error, which a relay would take badly.
        self.net.ip("route", "add", "default", "dev", "lo")
        self.net.run("iptables", "-A", "FORWARD", "-i", "lo", "-j", "DROP")
        self.net.ip("addr", "add", f"{self.address6}/128", "dev", "lo", "nodad")
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.end()
        for home in self.homes:
            home.remove()
        self.net.remove()

    def home(self, **options):
        self.homes.append(Home(self, **options))
        return self.homes[-1]

    def turn(self, *options):
        """coturn on port 3478 for UDP and TCP, user 'u' with password 'p'."""
        server = Process(self.net.inside + [
            "turnserver", "-n", "--no-cli", "--log-file=stdout", f"--listening-ip={self.address}", f"--relay-ip={self.address}",
            "--lt-cred-mech", "--user=u:p", "--realm=otchat.test", "--fingerprint", "--pidfile=/dev/null", *options])
        self.processes.append(server)
        listens = lambda: f"{self.address}:3478" in self.net.run("ss", "-Hltn")  # noqa: E731
        server.wait_until(listens, "coturn listens")
        return server
