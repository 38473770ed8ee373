"""Clients and servers of every registered mechanism, beside the peers that have the same mechanism and beside floors.

A client's floor is the keystream and memory: the time to draw a report's random words, to read its value (8 bytes) and
to write the report. A server's floor is memory: the time to read the bytes that a report needs. Memory has the speed of
a block that does not fit in a cache.

- A histogram reads the report and the 8-byte counter it adds to.
- Bit vectors are read as they are, one bit per category: their counters are touched once in thousands of reports.
- Local hashing visits every category for every report: it reads the report and a 2-byte counter per category.

The peers take one value per call; their cost per report is that of a loop over a list, on as many reports as fit in a
fraction of a second. Ours is the cost in a batch. The cost of one call for one report is measured as well, beside the
same peers: of so many calls that the stock of draws is refilled in between, as in a process that works on and on.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.categorical.count_mean_sketch import Sketch
from discreet.mechanisms.categorical.local_hashing import LocalHashing
from discreet.mechanisms.categorical.projective_geometry import ProjectiveGeometry
from discreet.mechanisms.categorical.subset_selection import Subset
from discreet.mechanisms.families import Oracle
from discreet.mechanisms.registry import Entry, entries
from discreet.mechanisms.shapes.bit_vector import BitVector
from discreet.mechanisms.stock import MOST, MOST_WORDS
from discreet.privacy.entropy import Entropy
from discreet_benchmarks.rows import FLOOR_TARGET, ONE_TARGET, PEER_TARGET, PER_REPORT, Row, Settings, Task
from discreet_benchmarks.timing import Clock, clock, interleaved, keystream, memory

PART = "mechanisms"
EPSILON = 1.0
LARGE, SMALL = 1024, 16
"""Numbers of categories: the large domain for every mechanism, the small one for those that a peer has."""
SKETCH = {"hashes": 64, "width": 1024}
PRIOR = [1.0] * 17
_FAR = 6.0
"""A peer whose measured p or q is this many standard errors from ours does not have the same mechanism."""
SETS: dict[str, dict[str, Any]] = {"agreement": {"sizes": (2,) * 8}, "padded-subset": {"options": 8, "most": 3}}
"""Sets of options that people tick, any of them or a few."""


def tasks(settings: Settings) -> dict[str, Task]:
    """Return one task per mechanism."""
    return {
        name: partial(_rows, settings, entry)
        for name, entry in sorted(entries().items())
        if set(entry.needs) <= {"size", "prior"} or entry.name in SETS
    }


def _rows(settings: Settings, entry: Entry) -> list[Row]:
    if entry.name in SETS:
        return _measure(settings, entry.build(EPSILON, **SETS[entry.name]), f"{entry.name} of 8 options")
    if "size" not in entry.needs:
        options = {"prior": PRIOR} if "prior" in entry.needs else {}
        return _measure(settings, entry.build(EPSILON, **options), entry.name)
    if entry.name == "count-mean-sketch":  # without hashing it is basic-rappor, which the peers have under that name
        sketch = entry.build(EPSILON, size=LARGE, **SKETCH)
        label = f"{entry.name} d={LARGE} {SKETCH['hashes']}x{SKETCH['width']}"
        plain = _measure(settings, entry.build(EPSILON, size=LARGE), f"{entry.name} d={LARGE}")
        return plain + _measure(settings, sketch, label, settings.peers_of(entry.name))
    peers = settings.peers_of(entry.name)
    sizes = (LARGE, SMALL) if peers else (LARGE,)
    return [
        row
        for size in sizes
        for row in _measure(settings, entry.build(EPSILON, size=size), f"{entry.name} d={size}", peers)
    ]


def _measure(settings: Settings, source: Mechanism, label: str, peers: list[str] | None = None) -> list[Row]:
    """Return the rows of a client in batches, of a server, and of one call for one report."""
    words = source.words_per_report
    n = max(2000, min(400_000 if settings.quick else 4_000_000, (8_000_000 if settings.quick else 40_000_000) // words))
    x = np.linspace(-1, 1, n) if source.numeric else np.arange(n) * 7919 % source.size
    entropy, one = Entropy(), 0.25 if source.numeric else 1
    reports = _many(source, source.privatize(x))
    calls = 2 * min(MOST, max(1, MOST_WORDS // words))
    values = [one] * calls
    for x_one in values:
        source.one(x_one)  # until the stock has its full size
    needed, floor_is = bytes_read(source)
    kept, notes = _same(settings, source, peers or []) if isinstance(source, Oracle) else ([], "")
    clocks: dict[str, Clock] = {
        "client": clock(lambda: source.privatize(x, entropy), n),
        "word": keystream(min(n * words, 1 << 22)),
        "server": clock(lambda: source.tally(reports), len(reports)),
        "byte": memory(),
        "one": clock(lambda: [source.one(x_one) for x_one in values], calls),
    }
    for peer in kept:
        for side in ("client", "server"):
            clocks[f"{side} of {peer}"] = _peer_clock(settings, peer, source, side)
    best = interleaved(clocks, 3 * settings.repeats)
    beside = {side: _least(best, side, kept) for side in ("client", "server")}
    facts = {"bytes_of_a_report": source.report_bytes, **({"size": source.size} if not source.numeric else {})}
    plural = "" if words == 1 else "s"
    return [
        Row(
            PART, f"client {label}", "speed", PER_REPORT, best["client"], *beside["client"],
            words * best["word"] + (8 + source._empty(1).nbytes) * best["byte"],
            f"{words} word{plural} of the keystream, and memory: the value and the report", PEER_TARGET, FLOOR_TARGET,
            "; ".join(filter(None, [notes, more_than_words(source)])),
            facts | {"words": words, "reports": n, "keystream": words * best["word"]},
        ),
        Row(
            PART, f"server {label}", "speed", PER_REPORT, best["server"], *beside["server"],
            needed * best["byte"], floor_is, PEER_TARGET, FLOOR_TARGET,
            "; ".join(filter(None, [notes, beyond(source)])),
            facts | {"bytes_read": needed, "reports": len(reports), "gigabytes_per_second": 1e-9 / best["byte"]},
        ),
        Row(
            PART, f"one report {label}", "latency", "seconds per call", best["one"], *beside["client"],
            words * best["word"], f"{words} word{plural} of the keystream", ONE_TARGET, None,
            "the peers' generators are not cryptographic", {"words": words, "calls": calls},
        ),
    ]  # fmt: skip


def bytes_read(source: Mechanism) -> tuple[float, str]:
    """Return the number of bytes that a server must read per report, and a description of them."""
    if isinstance(source, LocalHashing):
        held = source.dtype.itemsize
        return held + 2.0 * source.size, f"memory: the report ({held} bytes) and a 2-byte counter per category"
    if isinstance(source, (BitVector, Sketch)):
        held = source._empty(1).nbytes
        return float(held), f"memory: the report ({held} bytes)"
    held = source.dtype.itemsize
    return held + 8.0, f"memory: the report ({held} byte{'s' if held > 1 else ''}) and its 8-byte counter"


def more_than_words(source: Mechanism) -> str:
    """Return what a client does besides drawing words and comparing them with thresholds."""
    if isinstance(source, ProjectiveGeometry):
        size = source.size * source.alphabet * source.dtype.itemsize / 2**20
        return f"looks its report up in a list of all points of each value, {size:.1f} MiB: more than near caches hold"
    if source.kind == "padded":
        return (
            "keeps some of the ticks, draws a set of what is held and one of the others, and looks up where the items "
            "lie, one step after the other: arithmetic, which the floor, made of words and memory, leaves out"
        )
    return ""


def beyond(source: Mechanism) -> str:
    """Return what a server does besides reading and adding."""
    if isinstance(source, Sketch):
        return (
            "copies reports beside others of their hash function, each of which has counters of its own, before it "
            "adds them; the floor only reads them"
        )
    if isinstance(source, LocalHashing):
        return (
            "computes a hash for every category, and what all hashes of a report share before the first: arithmetic, "
            "which the floor, made of memory, leaves out, and which weighs most where categories are few"
        )
    if isinstance(source, Subset):
        return "also counts the ones of every report: exactly k are allowed"
    return ""


def _many(source: Mechanism, reports: Any) -> Any:
    """Repeat reports until they no longer fit in a cache, or counting them takes a tenth of a second."""
    source.tally(reports)
    before = time.thread_time()
    source.tally(reports)
    spent = max(1e-6, time.thread_time() - before)
    times = int(max(1, min(0.1 / spent, (1 << 26) / reports.nbytes)))
    return np.concatenate([reports] * times)


def _same(settings: Settings, source: Oracle, peers: list[str]) -> tuple[list[str], str]:
    """Return the peers whose reports have our p and q, and name the others."""
    kept, notes = [], []
    for peer in peers:
        assert settings.peers is not None
        law = settings.peers.ask(do="law", peer=peer, size=source.size, epsilon=EPSILON, reports=2000)
        far = max(
            abs(law[side] - ours) / (ours * (1 - ours) / law["reports"]) ** 0.5
            for side, ours in (("p", source.p), ("q", source.q))
        )
        if far < _FAR:
            kept.append(peer)
        else:
            notes.append(f"{peer} is another mechanism (p {law['p']:.3f}, q {law['q']:.3f}) and is left out")
    return kept, "; ".join(notes)


def _peer_clock(settings: Settings, peer: str, source: Mechanism, side: str) -> Callable[[], float]:
    request = {"do": side, "peer": peer, "size": source.size, "epsilon": EPSILON, "budget": settings.budget}

    def run() -> float:
        assert settings.peers is not None
        return float(settings.peers.ask(**request)["seconds"])

    return run


def _least(best: dict[str, float], side: str, peers: list[str]) -> tuple[float | None, str | None]:
    if not peers:
        return None, None
    return min((best[f"{side} of {peer}"], peer) for peer in peers)
