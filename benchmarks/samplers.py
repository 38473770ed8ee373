"""Speed of the samplers and counters beside their floors, in one run.

The floor of a client is the keystream: the time to draw as many words as the mechanism uses. The floor of a server is
memory: the time to read the reports once (numpy sum). Repeats are interleaved and the best of each is kept, in thread
time, for the machine is shared.

    python -m benchmarks.samplers [--quick] [--json]
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import discreet as dc
from discreet.mechanisms.registry import entries

OPTIONS = {"size": 1024, "prior": [1.0] * 17}


def interleaved(tasks: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the least thread time of each task, in seconds."""
    best = dict.fromkeys(tasks, float("inf"))
    for task in tasks.values():
        task()  # compile and warm up
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.thread_time()
            task()
            best[name] = min(best[name], time.thread_time() - start)
    return best


def draw_words(entropy: dc.Entropy, count: int) -> None:
    for start in range(0, count, 1 << 16):
        entropy.words(min(1 << 16, count - start))


def row(name: str, n: int, repeats: int, epsilon: float = 1.0) -> dict[str, Any]:
    entry = entries()[name]
    mechanism = entry.build(epsilon, **{need: OPTIONS[need] for need in entry.needs})
    n = max(1000, min(n, 40_000_000 // mechanism.words_per_report))
    entropy = dc.Entropy()
    x = np.linspace(-1, 1, n) if mechanism.numeric else np.arange(n) % mechanism.size
    reports = mechanism.privatize(x)
    one = 0.25 if mechanism.numeric else 1
    best = interleaved(
        {
            "client": lambda: mechanism.privatize(x, entropy),
            "words": lambda: draw_words(entropy, n * mechanism.words_per_report),
            "server": lambda: mechanism.tally(reports),
            "memory": lambda: reports.sum(),
            "single": lambda: [mechanism.privatize(one) for _ in range(100)],
        },
        repeats,
    )
    return {
        "name": name,
        "n": n,
        "words_per_report": mechanism.words_per_report,
        "client_ns": best["client"] / n * 1e9,
        "client_to_floor": best["client"] / best["words"],
        "server_ns": best["server"] / n * 1e9,
        "server_to_floor": best["server"] / best["memory"],
        "single_us": best["single"] / 100 * 1e6,
    }


def rows(quick: bool = False, names: list[str] | None = None) -> list[dict[str, Any]]:
    chosen = names or [e.name for e in entries().values() if set(e.needs) <= set(OPTIONS)]
    return [row(name, 400_000 if quick else 4_000_000, 3 if quick else 7) for name in sorted(chosen)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    table = rows(options.quick, options.names or None)
    if options.json:
        print(json.dumps({"rows": table}, indent=1))
        return
    print(
        f"{'mechanism':32} {'words':>6} {'client ns':>10} {'x floor':>8} {'server ns':>10} {'x floor':>8} {'one us':>7}"
    )
    for r in table:
        print(
            f"{r['name']:32} {r['words_per_report']:6} {r['client_ns']:10.2f} {r['client_to_floor']:8.2f} "
            f"{r['server_ns']:10.2f} {r['server_to_floor']:8.2f} {r['single_us']:7.1f}"
        )


if __name__ == "__main__":
    main()
