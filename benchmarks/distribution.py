# ruff: noqa: E402 - threads must be set before numpy is loaded
"""Speed of the reconstruction of distributions, in one run: python benchmarks/distribution.py [--quick] [--json FILE].

Times are the thread's CPU time, the least of several repetitions, on one BLAS thread, so that a busy machine
disturbs them little. The dense EM is the same update with two BLAS matrix-vector products.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet.estimation.band import Band
from discreet.estimation.em import em, ems
from discreet.estimation.hybrid import hybrid
from discreet.estimation.spline import log_spline
from discreet.estimation.tree import non_negative, sums

EPSILON = 1.0
PEOPLE = 1_000_000


def least_seconds(action: Callable[[], Any], repetitions: int) -> float:
    times = []
    for _ in range(repetitions):
        before = time.thread_time()
        action()
        times.append(time.thread_time() - before)
    return min(times)


def square_wave(size: int) -> Band:
    c = math.exp(EPSILON)
    half = math.floor((EPSILON * c - c + 1) / (2 * c * (c - 1 - EPSILON)) * size)
    far = 1 / ((2 * half + 1) * c + size - 1)
    return Band(size, 2 * half + 1, c * far, far)


def beta_histogram(size: int) -> np.ndarray:
    x = (np.arange(size) + 0.5) / size
    f = x**4 * (1 - x)
    return f / f.sum()


def tally(channel: Band, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).multinomial(PEOPLE, channel @ beta_histogram(channel.positions)).astype(float)


def dense_steps(matrix: np.ndarray, transposed: np.ndarray, counts: np.ndarray, steps: int) -> np.ndarray:
    """EMS as one would write it with BLAS."""
    f = np.full(matrix.shape[1], 1 / matrix.shape[1])
    for _ in range(steps):
        y = matrix @ f
        f = f * (transposed @ (counts / y))
        f /= f.sum()
        f = 0.5 * f + 0.25 * (np.r_[f[0], f[:-1]] + np.r_[f[1:], f[-1]])
        float(counts @ np.log(y))  # the stopping rule looks at the likelihood every time
    return f


def iteration_row(size: int, repetitions: int) -> dict[str, float]:
    channel = square_wave(size)
    counts = tally(channel)
    steps = max(50, 400_000 // size)

    def compiled() -> np.ndarray:
        return ems(channel, counts, tolerance=1e-300, max_iterations=steps).f

    compiled()
    fast = least_seconds(compiled, repetitions) / steps
    row = {"buckets": size, "compiled_us": fast * 1e6, "ns_per_bucket": fast / size * 1e9}
    if size <= 4096:
        few = 5 if size > 1024 else 40
        matrix = channel.dense()
        transposed = np.ascontiguousarray(matrix.T)
        slow = least_seconds(lambda: dense_steps(matrix, transposed, counts, few), repetitions) / few
        same = ems(channel, counts, tolerance=1e-300, max_iterations=few).f
        row |= {
            "dense_us": slow * 1e6,
            "times_faster": slow / fast,
            "largest_difference": float(np.abs(same - dense_steps(matrix, transposed, counts, few)).max()),
        }
    return row


def stop_row(size: int, repetitions: int) -> dict[str, float]:
    channel = square_wave(size)
    counts = tally(channel)
    paper = ems(channel, counts)
    fixed = ems(channel, counts, stop="fixed-point")
    return {
        "buckets": size,
        "ems_paper_ms": 1e3 * least_seconds(lambda: ems(channel, counts), repetitions),
        "ems_paper_iterations": paper.iterations,
        "ems_fixed_point_ms": 1e3 * least_seconds(lambda: ems(channel, counts, stop="fixed-point"), repetitions),
        "ems_fixed_point_maps": fixed.iterations,
        "em_paper_ms": 1e3 * least_seconds(lambda: em(channel, counts, epsilon=EPSILON), repetitions),
    }


def tree_row(layers: int, repetitions: int) -> dict[str, float]:
    size = 4**layers
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.full(size, 0.3))
    noisy = [
        layer + 0.02 * rng.standard_normal(layer.size) for layer in sums(truth, [4**k for k in range(1, layers + 1)])
    ]
    exact = non_negative(noisy)
    row = {"buckets": size, "exact_ms": 1e3 * least_seconds(lambda: non_negative(noisy), 5 * repetitions)}
    if size <= 1024:
        iterated = non_negative(noisy, method="admm")
        row["admm_ms"] = 1e3 * least_seconds(lambda: non_negative(noisy, method="admm"), 1)
        row["largest_difference"] = float(np.abs(exact - iterated).max())
    return row


def spline_row(size: int, repetitions: int) -> dict[str, float]:
    channel = square_wave(size)
    counts = tally(channel)
    n = PEOPLE // 5
    p, q = 0.5, 1 / (math.exp(EPSILON) + 1)
    rng = np.random.default_rng(2)
    held = rng.multinomial(n, beta_histogram(size))
    leaves = ((rng.binomial(held, p) + rng.binomial(n - held, q)) / n - q) / (p - q)
    log_spline(channel, counts)
    return {
        "buckets": size,
        "spline_ms": 1e3 * least_seconds(lambda: log_spline(channel, counts), repetitions),
        "hybrid_ms": 1e3 * least_seconds(lambda: hybrid(channel, counts, leaves, p=p, q=q, n=n), 1),
    }


def show(title: str, rows: list[dict[str, float]]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    print(f"\n{title}")
    print("  ".join(f"{name:>20}" for name in names))
    for row in rows:
        print("  ".join(f"{row[name]:>20.4g}" if name in row else f"{'-':>20}" for name in names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer sizes and repetitions")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    repetitions = 2 if options.quick else 5
    sizes = (256, 1024) if options.quick else (256, 1024, 4096, 16384)
    figures = {
        "iteration": [iteration_row(size, repetitions) for size in sizes],
        "stop": [stop_row(size, 2) for size in sizes],
        "hierarchy": [tree_row(layers, repetitions) for layers in ((4, 5) if options.quick else (4, 5, 6, 7))],
        "spline": [spline_row(size, 2) for size in ((256, 1024) if options.quick else (256, 1024, 4096))],
    }
    show(f"One EMS iteration with its log-likelihood, epsilon = {EPSILON}, n = {PEOPLE}", figures["iteration"])
    show("EMS and EM until they stop", figures["stop"])
    show("Non-negative hierarchy, branching 4", figures["hierarchy"])
    show("Log-spline (smoothness by evidence), and hybrid with leaf reports", figures["spline"])
    text = json.dumps(figures)
    print(f"\n{text}")
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
