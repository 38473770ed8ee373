# ruff: noqa: E402 - threads must be set before numpy is loaded
"""Accuracy of all methods for distributions, side by side in one run.

    python benchmarks/distribution_accuracy.py [--repeats 20] [--data DIRECTORY] [--only NAME ...] [--json FILE]
    python benchmarks/distribution_accuracy.py --show FILE

Every repeat privatises every person's value anew with the mechanism itself (`discreet.simulate`, seeded) and compares
the estimated histogram with that of the same people: no law is assumed, heaped values sit where they sit in their
bucket. Distances are those of `discreet.metrics` on the scale of [0, 1], times 1000 in the tables. Data that are not in
DIRECTORY (default: ../shared/data) are replaced by the package's own demo data, or left out.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import json
import math
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet import metrics
from discreet.plans.base import Bucket

METHODS: dict[str, dict[str, Any]] = {
    "auto": {"method": "auto"},
    "hybrid 15 %": {"method": "hybrid"},
    "spline": {"method": "spline"},
    "EMS": {"method": "square-wave-ems"},
    "EM": {"method": "square-wave-em"},
    "HH-ADMM": {"method": "hh-admm", "weighted": False},
    "HH-ADMM-w": {"method": "hh-admm"},
    "HH": {"method": "hh", "weighted": False},
    "HaarHRR": {"method": "haar-hrr"},
    "CFO-16": {"method": "binning", "cells": 16},
    "CFO-32": {"method": "binning", "cells": 32},
    "CFO-64": {"method": "binning", "cells": 64},
    "HM-NP 2PEM": {"method": "hybrid-np-2pem"},
    "HM-NP EMS": {"method": "hybrid-np-ems"},
}
ANSWERED_RAW = ("HH", "HaarHRR")  # the papers ask these for ranges only, and before they are made non-negative
SLOW = ("HM-NP EMS", "HaarHRR", "CFO-16", "CFO-32", "CFO-64", "HM-NP 2PEM")  # on Beta only
EPSILONS = {"beta": (0.5, 1.0, 1.5, 2.0, 2.5)}
COLUMNS = ("w1", "ks", "range 0.1", "range 0.4", "mean", "variance", "quantiles")


def demo(name: str, column: str) -> np.ndarray:
    with (files("discreet") / "data" / f"{name}.npz").open("rb") as file:
        return np.load(file, allow_pickle=False)[column].astype(float)


def column(path: Path, name: str) -> np.ndarray:
    import pyarrow.parquet as parquet

    values = parquet.read_table(path, columns=[name])[name].to_numpy().astype(float)
    return values[np.isfinite(values)]


def load(name: str, data: Path) -> tuple[np.ndarray, dc.Interval, int] | None:
    """Values, domain, buckets."""
    if name == "beta":
        return np.random.default_rng(0).beta(5, 2, 100_000), dc.Interval(0, 1), 256
    if name == "wages":
        path = data / "cps_income.parquet"
        values = column(path, "wage_head") if path.exists() else demo("income_cps", "wage")
        return values[values < 524_288], dc.Interval(0, 524_288), 1024
    if name == "departures":
        return demo("flights_nyc13", "dep_minute"), dc.Interval(0, 1440), 1024
    path = data / "nyc_green_taxi_11m.parquet"
    return (column(path, "pickup_s"), dc.Interval(0, 86_400), 1024) if path.exists() else None


def distances(truth: np.ndarray, answer: Any, raw_only: bool) -> dict[str, float]:
    f = answer.raw if raw_only else answer.probabilities
    row = {f"range {length}": metrics.range_error(truth, f, length) for length in (0.1, 0.4)}
    if raw_only:
        return row
    return row | {
        "w1": metrics.wasserstein(truth, f),
        "ks": metrics.kolmogorov_smirnov(truth, f),
        "mean": metrics.mean_error(truth, f),
        "variance": metrics.variance_error(truth, f),
        "quantiles": metrics.quantile_error(truth, f),
    }


def setting(name: str, epsilon: float, loaded: tuple[np.ndarray, dc.Interval, int], repeats: int) -> dict[str, Any]:
    values, domain, bins = loaded
    truth = np.bincount(Bucket(domain, bins).encode(values).inputs, minlength=bins) / values.size
    chosen = {key: options for key, options in METHODS.items() if name == "beta" or key not in SLOW}
    plans = {key: dc.Distribution(domain, epsilon, bins=bins, **options) for key, options in chosen.items()}
    runs: dict[str, list[dict[str, float]]] = {key: [] for key in plans}
    seconds = dict.fromkeys(plans, 0.0)
    for repeat in range(repeats):
        for key, plan in plans.items():
            before = time.thread_time()
            answer = dc.simulate(plan, values, seed=1_000_003 * (repeat + 1) + sum(map(ord, name + key)))
            seconds[key] += time.thread_time() - before
            runs[key].append(distances(truth, answer, key in ANSWERED_RAW))
    methods = {}
    for key, rows in runs.items():
        methods[key] = {"seconds": round(seconds[key] / repeats, 4)}
        for metric in rows[0]:
            numbers = np.array([row[metric] for row in rows])
            methods[key][metric] = [float(numbers.mean()), float(numbers.std(ddof=1) / math.sqrt(repeats))]
    return {"data": name, "epsilon": epsilon, "n": values.size, "bins": bins, "repeats": repeats, "methods": methods}


def table(result: dict[str, Any]) -> str:
    lines = [
        f"\n{result['data']}, ε = {result['epsilon']:g}, n = {result['n']}, {result['bins']} buckets, "
        f"{result['repeats']} repeats (×1000 ± standard error)\n",
        "| method | " + " | ".join(COLUMNS) + " |",
        "|---|" + "---|" * len(COLUMNS),
    ]
    for key, row in result["methods"].items():
        cells = [f"{1e3 * row[c][0]:.2f} ± {1e3 * row[c][1]:.2f}" if c in row else "" for c in COLUMNS]
        lines.append(f"| {key} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def ratios(results: list[dict[str, Any]]) -> str:
    """`auto` over the better of EMS and HH-ADMM (both weightings)."""
    lines = ["\n| data | ε | W₁ auto / better of EMS, HH-ADMM | KS auto / better |", "|---|---|---|---|"]
    for result in results:
        cells = []
        for metric in ("w1", "ks"):
            own, own_error = result["methods"]["auto"][metric]
            best, error = min(result["methods"][key][metric] for key in ("EMS", "HH-ADMM", "HH-ADMM-w"))
            cells.append(f"{own / best:.2f} ± {own / best * math.hypot(own_error / own, error / best):.2f}")
        lines.append(f"| {result['data']} | {result['epsilon']:g} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--only", nargs="*", default=["beta", "wages", "departures", "taxi"])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--show", type=Path)
    arguments = parser.parse_args()
    if arguments.show:
        results = json.loads(arguments.show.read_text())["settings"]
        print(ratios(results), *map(table, results), sep="\n")
        return
    results = []
    for name in arguments.only:
        loaded = load(name, arguments.data)
        for epsilon in EPSILONS.get(name, (0.5, 1.0, 2.5)) if loaded else ():
            assert loaded is not None
            results.append(setting(name, epsilon, loaded, arguments.repeats))
            print(table(results[-1]), flush=True)
            if arguments.json:
                text = {"benchmark": "distribution_accuracy", "discreet": dc.__version__, "settings": results}
                arguments.json.write_text(json.dumps(text, indent=1) + "\n")
    print(ratios(results))


if __name__ == "__main__":
    main()
