"""The links, and what media has to hold on them."""
import dataclasses


@dataclasses.dataclass
class Case:
    name: str
    title: str
    limits: dict  # metric → (relation, limit)
    link: str = "delay=50"  # from the beginning
    impairment: str = ""  # from the first picture on
    seconds: float = 14  # measured, after SETTLING


SETTLING = 3  # seconds from the first picture to the measurement

# metric → (words, unit, digits)
METRICS = {
    "fps": ("frame rate", "/s", 1),
    "freezes": ("freezes", "", 0),
    "frozen": ("frozen, of 12 s", "s", 2),
    "latency": ("video latency", "ms", 0),
    "concealed": ("audio concealed", "%", 2),
    "pesq": ("PESQ", "", 2),
    "avOffset": ("A/V offset, worst", "ms", 0),
    "nacks": ("NACK messages", "/s", 1),
    "plis": ("key-frame requests", "", 0),
    "bitrate": ("received", "kb/s", 0),
}
LOWEST = {"fps", "pesq"}  # what is better the higher it is

CASES = [
    Case("clean", "clean, 50 ms each way", {
        "freezes": ("<=", 0), "latency": ("<=", 90), "concealed": ("<=", 0.1), "pesq": (">=", 4.0)}),
    Case("loss5", "loss 5 % random", {
        "freezes": ("<=", 0), "concealed": ("<=", 0.5), "pesq": (">=", 4.0)}, impairment="loss=5"),
    Case("loss10", "loss 10 % random", {
        "frozen": ("<=", 0.5), "latency": ("<=", 300), "concealed": ("<=", 1), "pesq": (">=", 3.6)}, impairment="loss=10"),
    Case("loss20", "loss 20 % random", {
        "fps": (">=", 25), "frozen": ("<=", 1.5), "concealed": ("<=", 3), "pesq": (">=", 3.0)}, impairment="loss=20"),
    Case("burst", "bursty loss 5 %, mean burst 4", {
        "frozen": ("<=", 0.2), "concealed": ("<=", 1.5)}, impairment="loss=5 burst=4"),
    Case("jitter", "jitter 30 ms, reorder 2 %, duplicates 2 %", {
        "freezes": ("<=", 0), "concealed": ("<=", 0.3), "nacks": ("<=", 5)},
        impairment="jitter=30 reorder=2 duplicate=2"),
]
