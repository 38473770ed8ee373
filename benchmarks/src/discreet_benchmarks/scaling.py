"""Scaling: how the cost grows with reports (n), and with categories or buckets (d); `threads` has the workers.

Each curve is measured at several points and fitted by a power law. A row compares the cost of one unit (a report, a
category of a report) at the last point with the first: perfect scaling is a ratio of 1.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from discreet.estimation.em import ems
from discreet.mechanisms.registry import build, mechanism
from discreet.privacy.entropy import Entropy
from discreet_benchmarks.distributions import square_wave, tally
from discreet_benchmarks.rows import PER_REPORT, Row, Settings, Task
from discreet_benchmarks.timing import clock, interleaved

PART = "scaling"
EPSILON = 1.0


def tasks(settings: Settings) -> dict[str, Task]:
    """Return the tasks: two kinds of curves."""
    return {"n": partial(reports, settings), "d": partial(sizes, settings)}


def slope(points: dict[int, float]) -> float:
    """Return the exponent of the power law that fits best, by least squares of logarithms.

    Examples
    --------
    >>> round(slope({1: 3.0, 10: 30.0, 100: 300.0}), 6)
    1.0
    """
    return float(np.polyfit(np.log(list(points)), np.log(list(points.values())), 1)[0])


def _row(name: str, unit: str, points: dict[int, float], ideal: float) -> Row:
    """Return a row from the total cost by x, where perfect scaling is cost ~ x^ideal."""
    xs = list(points)
    each = {x: points[x] / x**ideal for x in xs}
    found = slope(points)
    details = {"points": [[x, points[x]] for x in xs], "slope": found, "perfect_slope": ideal}
    note = f"cost grows as the power {found:.2f}; perfect is {ideal:g}"
    first = f"perfect scaling from {xs[0]}"
    return Row(PART, name, "scaling", unit, each[xs[-1]], None, None, each[xs[0]], first, note=note, details=details)


def reports(settings: Settings) -> list[Row]:
    """Measure clients and servers by the number of reports."""
    counts = [1 << k for k in ((14, 17, 20) if settings.quick else (14, 16, 18, 20, 22, 24))]
    rows = []
    for name, options in (("piecewise", {}), ("hadamard-response", {"size": 1024})):
        source = build(name, EPSILON, options)
        x = np.linspace(-1, 1, counts[-1]) if source.numeric else np.arange(counts[-1]) % source.size
        made, entropy = source.privatize(x), Entropy()
        clocks = {}
        for n in counts:
            clocks[f"client {n}"] = clock(partial(source.privatize, x[:n], entropy))
            clocks[f"server {n}"] = clock(partial(source.tally, made[:n]))
        best = interleaved(clocks, settings.repeats)
        for side in ("client", "server"):
            rows.append(_row(f"{side} {name} by n", PER_REPORT, {n: best[f"{side} {n}"] for n in counts}, 1.0))
    return rows


def sizes(settings: Settings) -> list[Row]:
    """Measure oracles and EM by the number of categories or buckets."""
    chosen = (256, 1024, 4096) if settings.quick else (256, 512, 1024, 2048, 4096)
    rows = []
    for name, n in (("optimized-unary", 2000), ("local-hashing", 20_000)):
        clocks = {}
        for d in chosen:
            source = mechanism(name, EPSILON, size=d)
            x = np.arange(n) % d
            clocks[f"client {d}"] = clock(partial(source.privatize, x), n)
            clocks[f"server {d}"] = clock(partial(source.tally, source.privatize(x)), n)
        best = interleaved(clocks, settings.repeats)
        for side in ("client", "server"):
            if (name, side) != ("local-hashing", "client"):  # its cost does not depend on d
                unit = "seconds per report and category"
                rows.append(_row(f"{side} {name} by d", unit, {d: best[f"{side} {d}"] for d in chosen}, 1.0))
    clocks = {}
    for d in (*chosen, 4 * chosen[-1]):
        channel, steps = square_wave(d), max(50, 200_000 // d)
        run: Callable[[], object] = partial(ems, channel, tally(channel), tolerance=1e-300, max_iterations=steps)
        clocks[str(d)] = clock(run, steps)
    best = interleaved(clocks, settings.repeats)
    points = {int(d): seconds for d, seconds in best.items()}
    return [*rows, _row("EMS iteration by d", "seconds per iteration and bucket", points, 1.0)]
