"""A bad link between two network namespaces: what arrives at one TUN device leaves the other, if at all, and late.

The program is told on standard input and answers on standard output, a line each:

  loss=5 delay=50/20      sets values: both ways, or A to B / B to A; answers with the time of the change
  report                  answers with counters and a timeline as JSON

It ends with its standard input. One random generator a direction, seeded, four draws a packet whatever the values are:
equal seeds give equal fates. The link carries IPv4 and counts IP bytes.
"""
import collections, fcntl, gc, heapq, json, os, random, select, struct, subprocess, sys, time

DEFAULTS = {
    "loss": 0,  # lost packets, %
    "burst": 0,  # mean length of a run of lost packets (Gilbert's model); 0: each is lost independently
    "delay": 0,  # one way, ms
    "jitter": 0,  # the delay varies evenly by plus or minus this, ms; order is kept
    "rate": 0,  # of the bottleneck, kbit/s; 0: none
    "queue": 50,  # packets that may wait there; the next is dropped
    "duplicate": 0,  # packets sent twice, %
    "reorder": 0,  # packets that skip the delay and so overtake others, %
    "blackout": 0,  # 1: nothing passes
    "udp": 1,  # 0: UDP does not pass
}
TICK = 0.1  # seconds of the timeline's entries
UDP = 17


class Direction:
    """One way: `arrive` takes packets, `serve` gives back those that are due."""

    def __init__(self, seed):
        self.values = dict.fromkeys(DEFAULTS, 0) | DEFAULTS
        self.random = random.Random(seed).random
        self.counters = collections.Counter(
            dict.fromkeys("packets bytes lost blackout queueDrops duplicated reordered delivered deliveredBytes".split(), 0))
        self.timeline = {}  # tick → [bytes that arrived, bytes that passed the bottleneck, longest wait there (ms), drops]
        self.waiting, self.flying = collections.deque(), []  # at the bottleneck; in the delay line
        self.line_free = self.last_due = self.worst_lag = 0.0
        self.in_burst, self.serial = False, 0

    def tick(self, time):
        return self.timeline.setdefault(int(time / TICK), [0, 0, 0.0, 0])

    def arrive(self, packet, now):
        values, counters, tick = self.values, self.counters, self.tick(now)
        counters["packets"] += 1
        counters["bytes"] += len(packet)
        tick[0] += len(packet)
        lose, twice, overtake, wobble = self.random(), self.random(), self.random(), self.random()
        if values["blackout"] or (not values["udp"] and packet[9] == UDP):
            counters["blackout"] += 1
        elif self.loses(lose):
            counters["lost"] += 1
        elif values["rate"] and len(self.waiting) >= values["queue"]:
            counters["queueDrops"] += 1
            tick[3] += 1
        else:
            copies = 2 if twice * 100 < values["duplicate"] else 1
            counters["duplicated"] += copies - 1
            for _ in range(copies):
                self.waiting.append((now, packet, overtake * 100 < values["reorder"], 2 * wobble - 1))

    def loses(self, draw):
        loss, burst = self.values["loss"] / 100, self.values["burst"]
        if burst <= 1 or loss >= 1:
            self.in_burst = False
            return draw < loss
        self.in_burst = draw >= 1 / burst if self.in_burst else draw < loss / (1 - loss) / burst
        return self.in_burst

    def serve(self, now):
        values, waiting, flying = self.values, self.waiting, self.flying
        while waiting and self.line_free <= now:
            arrived, packet, overtakes, wobble = waiting.popleft()
            due = max(self.line_free, arrived)
            if values["rate"]:
                due += len(packet) * 8e-3 / values["rate"]
                self.line_free = due
            tick = self.tick(due)
            tick[1] += len(packet)
            tick[2] = max(tick[2], (due - arrived) * 1000)
            if overtakes:
                self.counters["reordered"] += 1
            else:
                due = self.last_due = max(due + (values["delay"] + values["jitter"] * wobble) / 1000, self.last_due)
            self.serial += 1
            heapq.heappush(flying, (due, self.serial, packet))
        while flying and flying[0][0] <= now:
            due, _, packet = heapq.heappop(flying)
            self.worst_lag = max(self.worst_lag, now - due)
            self.counters["delivered"] += 1
            self.counters["deliveredBytes"] += len(packet)
            yield packet

    def next_due(self):
        return min(self.flying[0][0] if self.flying else 1e18, self.line_free if self.waiting else 1e18)

    def report(self):
        return dict(self.counters) | {"worstLag": self.worst_lag, "timeline": [
            [tick * TICK, *entry] for tick, entry in sorted(self.timeline.items())]}


def tun(name, namespace):
    """A TUN device, given to a namespace as `link0`; its packets are read and written here."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH", name.encode(), 0x1001))  # TUNSETIFF: IFF_TUN | IFF_NO_PI
    subprocess.run(["ip", "link", "set", name, "netns", namespace, "name", "link0", "txqueuelen", "2000"], check=True)
    return fd


def told(line, ways):
    """Does what a line says; the answer."""
    if line == "report":
        return {"a_to_b": ways[0].report(), "b_to_a": ways[1].report()}
    for word in line.split():
        name, value = word.split("=")
        there, _, back = value.partition("/")
        if name not in DEFAULTS:
            raise ValueError(name)
        ways[0].values[name], ways[1].values[name] = float(there), float(back or there)
    return {"time": time.time()}


def main(seed, *namespaces):
    ends = [tun(f"ot{os.getpid()}{side}", namespace) for side, namespace in zip("ab", namespaces)]
    ways = [Direction(f"{seed} {side}") for side in "ab"]
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2))  # ahead of the participants, and they of everybody else
    gc.disable()
    os.set_blocking(0, False)
    pending = b""
    print("{}", flush=True)
    while True:
        now = time.time()
        for side in (0, 1):
            for packet in ways[side].serve(now):
                try:
                    os.write(ends[1 - side], packet)
                except OSError:
                    ways[side].counters["writeErrors"] += 1
        until = min(ways[0].next_due(), ways[1].next_due(), now + 1)
        ready = select.select([0, *ends], [], [], max(0, until - time.time()))[0]
        now = time.time()
        for fd in ready:
            if fd == 0:
                if not (data := os.read(0, 65536)):
                    return
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    print(json.dumps(told(line.decode(), ways)), flush=True)
                continue
            try:
                for _ in range(64):
                    ways[ends.index(fd)].arrive(os.read(fd, 65536), now)
            except BlockingIOError:
                pass


main(*sys.argv[1:])
