"""Reconstruction of distributions, beside the same update with dense matrices (BLAS).

One iteration of EMS by the number of buckets; EMS and EM until they stop; all log-densities that explain the reports,
without and with leaf reports; the non-negative hierarchy, solved exactly, beside the paper's ADMM. Whole estimates of
`Distribution` with its defaults, an interval included, and advice: both beside the longest that they should take.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet.advice import advise
from discreet.blas import single_thread
from discreet.estimation.density import Leaves, Reports
from discreet.estimation.em import em, ems
from discreet.estimation.search import explain
from discreet.estimation.tree import non_negative, sums
from discreet.operators import Band
from discreet.plans.distribution.plan import Distribution
from discreet.plans.distribution.readings import MOST_APART
from discreet.plans.simulate import simulate
from discreet_benchmarks.numeric_accuracy import demo
from discreet_benchmarks.rows import PEER_TARGET, Row, Settings, Task
from discreet_benchmarks.timing import clock, interleaved

PART = "distributions"
EPSILON = 1.0
PEOPLE = 1_000_000
SIZES = (256, 1024, 4096)
BESIDE = "dense EM, numpy and BLAS on one thread"
ASKED = 20_000
"""People of an estimate and of advice."""
LONGEST = {256: 0.2, 4096: 1.0}
"""The most seconds that an estimate should take, by the number of buckets."""
LONGEST_ADVICE = 2.0
"""The most seconds that advice should take."""


def tasks(settings: Settings) -> dict[str, Task]:
    """Return one task per size and question."""
    found: dict[str, Task] = {f"em-{size}": partial(iteration, settings, size) for size in SIZES}
    found |= {f"stop-{size}": partial(until_it_stops, settings, size) for size in SIZES[: 1 if settings.quick else 3]}
    found |= {f"estimate-{size}": partial(estimate, settings, size) for size in LONGEST}
    found["advice"] = partial(advice, settings)
    layers = (4, 5) if settings.quick else (4, 5, 6, 7)
    found |= {f"hierarchy-{4**depth}": partial(hierarchy, settings, depth) for depth in layers}
    return found


def square_wave(size: int) -> Band:
    """Return the channel of the discrete Square Wave with the paper's width."""
    c = math.exp(EPSILON)
    half = math.floor((EPSILON * c - c + 1) / (2 * c * (c - 1 - EPSILON)) * size)
    far = 1 / ((2 * half + 1) * c + size - 1)
    return Band(size, 2 * half + 1, c * far, far)


def beta_histogram(size: int) -> Any:
    """Return Beta(5, 2) in equal buckets."""
    x = (np.arange(size) + 0.5) / size
    f = x**4 * (1 - x)
    return f / f.sum()


def tally(channel: Band) -> Any:
    """Return simulated counts of a million reports."""
    law = channel @ beta_histogram(channel.positions)
    return np.random.default_rng(1).multinomial(PEOPLE, law).astype(float)


def dense_steps(matrix: Any, transposed: Any, counts: Any, steps: int) -> Any:
    """EMS, written with dense matrices and BLAS."""
    f = np.full(matrix.shape[1], 1 / matrix.shape[1])
    for _ in range(steps):
        y = matrix @ f
        f = f * (transposed @ (counts / y))
        f /= f.sum()
        f = 0.5 * f + 0.25 * (np.r_[f[0], f[:-1]] + np.r_[f[1:], f[-1]])
        float(counts @ np.log(y))  # the stopping rule needs the likelihood in every iteration
    return f


def iteration(settings: Settings, size: int) -> list[Row]:
    """Time one iteration of EMS with its log-likelihood, and check that both answers agree."""
    channel = square_wave(size)
    counts = tally(channel)
    steps, few = max(50, 200_000 // size), 4 if size > 1024 else 40
    matrix = channel.dense()
    transposed = np.ascontiguousarray(matrix.T)

    def ours(count: int) -> Any:
        return ems(channel, counts, tolerance=1e-300, max_iterations=count).f

    with single_thread():
        apart = float(np.abs(ours(few) - dense_steps(matrix, transposed, counts, few)).max())
        best = interleaved(
            {
                "ours": clock(lambda: ours(steps), steps),
                "dense": clock(lambda: dense_steps(matrix, transposed, counts, few), few),
            },
            settings.repeats,
        )
    details = {"size": size, "largest_difference": apart, "nanoseconds_per_bucket": 1e9 * best["ours"] / size}
    return [
        Row(
            PART, f"EMS iteration d={size}", "speed", "seconds per iteration", best["ours"], best["dense"], BESIDE,
            peer_target=PEER_TARGET, details=details,
        )
    ]  # fmt: skip


def until_it_stops(settings: Settings, size: int) -> list[Row]:
    """Time whole reconstructions."""
    channel = square_wave(size)
    counts = tally(channel)
    n, p, q = PEOPLE // 5, 0.5, 1 / (math.exp(EPSILON) + 1)
    rng = np.random.default_rng(2)
    held = rng.multinomial(n, beta_histogram(size))
    leaves = ((rng.binomial(held, p) + rng.binomial(n - held, q)) / n - q) / (p - q)
    questions: dict[str, Callable[[], Any]] = {
        "EMS, the paper's stop": lambda: ems(channel, counts),
        "EMS, to its fixed point": lambda: ems(channel, counts, stop="fixed-point"),
        "EM, the paper's stop": lambda: em(channel, counts, epsilon=EPSILON),
    }
    if size <= MOST_APART:
        parts = Leaves(leaves, q * (1 - q) / (n * (p - q) ** 2), (1 - p - q) / ((p - q) * n))
        questions["all explanations"] = lambda: explain(Reports(channel, counts))
        questions["all explanations, with leaf reports"] = lambda: explain(Reports(channel, counts, parts))
    with single_thread():
        best = interleaved({name: clock(action) for name, action in questions.items()}, 1 if settings.quick else 3)
    return [Row(PART, f"{name} d={size}", "speed", "seconds", seconds) for name, seconds in best.items()]


def hierarchy(settings: Settings, layers: int) -> list[Row]:
    """Time the non-negative, consistent hierarchy nearest to noisy counts: exact, beside ADMM up to 1024 leaves."""
    size = 4**layers
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.full(size, 0.3))
    noisy = [
        layer + 0.02 * rng.standard_normal(layer.size) for layer in sums(truth, [4**k for k in range(1, layers + 1)])
    ]
    clocks = {"ours": clock(lambda: non_negative(noisy))}
    details = {}
    if size <= 1024:
        apart = np.abs(non_negative(noisy) - non_negative(noisy, method="admm")).max()
        details = {"largest_difference": float(apart)}
        clocks["admm"] = clock(lambda: non_negative(noisy, method="admm"))
    best = interleaved(clocks, 1 if settings.quick else 5)
    slow, name = (best["admm"], "ADMM, as in the paper") if "admm" in best else (None, None)
    return [Row(PART, f"hierarchy d={size}", "speed", "seconds", best["ours"], slow, name, details=details)]


def estimate(settings: Settings, size: int) -> list[Row]:
    """Time the answer of `Distribution` with the interval of its mean: drawing a tally from its law is a part of it."""
    rows = []
    for name in ("wages", "ages", "departures"):
        column = demo(name)
        plan = Distribution(column.domain, EPSILON, bins=size)
        seeds = iter(range(10**6))

        def answer(plan: Distribution = plan, column: Any = column, seeds: Any = seeds) -> Any:
            return simulate(
                plan, column.values, next(seeds), people=ASKED, weights=column.shares, threads=1
            ).mean.interval

        with single_thread():
            times = sorted(clock(answer)() for _ in range(1 + settings.repeats))[:-1]  # the slowest also warmed up
        rows.append(_within(f"estimate of {name} d={size}", times[len(times) // 2], LONGEST[size], {"times": times}))
    return rows


def advice(settings: Settings) -> list[Row]:
    """Time advice on a distribution whose shape is not known."""
    column = demo("wages")
    with single_thread():
        run = clock(lambda: advise("distribution", EPSILON, ASKED, domain=column.domain))
        run()
        times = sorted(run() for _ in range(1 if settings.quick else 3))
    return [_within("advice on a distribution", times[len(times) // 2], LONGEST_ADVICE, {"times": times})]


def _within(name: str, seconds: float, longest: float, details: dict[str, Any]) -> Row:
    """Return a row beside the longest that it should take."""
    return Row(
        PART, name, "duration", "seconds", seconds, floor=longest, floor_is="the longest that it should take",
        floor_target=1.0, note="the median: each run has other reports", details=details | {"people": ASKED},
    )  # fmt: skip
