"""Media on bad links: otchat beside Chromium, measured by who receives, against what is promised.

  Tests/Network/run                       every case, medians of three calls
  Tests/Network/run --quick --only loss5  one case, one call
  Tests/Network/run --json FILE           the figures as JSON too

Needs root (network namespaces). Exits 1 if a limit is missed, 2 if a case could not be measured.
"""
import argparse, asyncio, json, os, pathlib, signal, statistics, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "Tests/browser"))
import media  # noqa: E402
import speech  # noqa: E402
from calls import Stage, trust  # noqa: E402
from cases import CASES, METRICS  # noqa: E402
from browsers import BrowserError  # noqa: E402
from room import RoomError, remove_abandoned  # noqa: E402
from servers import otchat  # noqa: E402

RELATIONS = {"<=": lambda value, limit: value <= limit, ">=": lambda value, limit: value >= limit}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="CASE", action="append", choices=[case.name for case in CASES])
    parser.add_argument("--pair", metavar="FROM-TO", action="append", choices=CASES[0].pairs)
    parser.add_argument("--quick", action="store_true", help="one call in place of three")
    parser.add_argument("--seed", type=int, default=1, help="of the first call's link; each further call takes the next (1)")
    parser.add_argument("--json", metavar="FILE", help="the figures also here")
    parser.add_argument("--list", action="store_true", help="the names of the cases")
    return parser.parse_args()


def middle(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def show(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


class Table:
    """Rows of measured, limit, verdict; counts what was missed."""

    def __init__(self):
        self.missed, self.unmeasured, self.cases = 0, 0, []

    def add(self, case, results):
        """`results`: pair → figures (medians), or what went wrong as text."""
        print(f"\n{case.title}")
        pairs = list(results)
        print(f"  {'':22}{'limit':>12}" + "".join(f"{pair.replace('-', '→'):>22}" for pair in pairs))
        for metric, (words, unit, digits) in METRICS.items():
            values = [results[pair].get(metric) if isinstance(results[pair], dict) else None for pair in pairs]
            relation, limit = case.limits.get(metric, (None, None))
            if all(value is None for value in values) and (limit is None or metric == "pesq"):
                continue
            cells = [show(value, digits) + self.verdict(pair, metric, value, relation, limit)
                     if isinstance(results[pair], dict) else "" for pair, value in zip(pairs, values)]
            bound = "" if limit is None else f"{relation} {limit:g}"
            print(f"  {f'{words} ({unit})' if unit else words:22}{bound:>12}" + "".join(f"{cell:>22}" for cell in cells))
        for pair, figures in results.items():
            if isinstance(figures, str):
                self.unmeasured += 1
                print(f"  {pair.replace('-', '→')}: not measured: {figures}")
        sys.stdout.flush()
        self.cases.append({"case": case.name, "limits": case.limits, "results": results})

    def verdict(self, pair, metric, value, relation, limit):
        """What never happened is missed too; without PESQ's package there is nothing to say of it."""
        if limit is None or "otchat" not in pair or (metric == "pesq" and speech.missing()):
            return ""
        if value is not None and RELATIONS[relation](value, limit):
            return ""
        self.missed += 1
        return " MISSED"


async def repeated(case, pair, options, folder, sources):
    """Medians over the calls, or what went wrong."""
    runs = []
    measure = case.short if options.quick and case.short else case.measure
    for number in range(1 if options.quick else case.repeats):
        try:
            async with Stage(case.room(options.seed + number, case.link), sources, folder) as stage:
                figures = await measure(stage, case, *pair)
                link = trust(await stage.room.report())
        except (AssertionError, TimeoutError, OSError, BrowserError, RoomError) as error:
            return f"{type(error).__name__}: {error}"
        if link["lag"] > 30 or link["overruns"]:
            print(f"  {case.name} {'→'.join(pair)}: the link was {link['lag']:.0f} ms late, {link['overruns']} packets lost "
                  f"by it (load {os.getloadavg()[0]:.1f})", file=sys.stderr, flush=True)
        runs.append(figures)
    return {metric: middle([run.get(metric) for run in runs]) for metric in runs[0]} | {"runs": runs}


async def run(options):
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    table = Table()
    with tempfile.TemporaryDirectory(prefix="otchat-network.") as name:
        folder = pathlib.Path(name)
        if why := speech.missing():
            print(f"without PESQ: {why}", flush=True)
        sources = media.make(folder)
        for case in CASES:
            if options.only and case.name not in options.only:
                continue
            pairs = [pair for pair in case.pairs if not options.pair or pair in options.pair]
            table.add(case, {pair: await repeated(case, pair.split("-"), options, folder, sources) for pair in pairs})
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            {"time": time.time(), "otchat": otchat(), "cases": table.cases, "missed": table.missed}, indent=1))
    print(f"\n{table.missed} missed, {table.unmeasured} not measured")
    return 2 if table.unmeasured else 1 if table.missed else 0


def main():
    options = parse()
    if options.list:
        print("\n".join(f"{case.name:10} {case.title}" for case in CASES))
        return 0
    if os.geteuid() != 0 or not os.path.exists("/dev/net/tun"):
        sys.exit("network: error: needs root and /dev/net/tun")
    remove_abandoned()
    try:
        return asyncio.run(run(options))
    except asyncio.CancelledError:
        return 130


sys.exit(main())
