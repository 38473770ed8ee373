"""Simulated tallies, post-processing and the candidates for the constants behind the comparison paper's tables.

Tallies are drawn in one of two ways. For unary encodings (Basic RAPPOR, OUE, one-hot CMS) the bits are independent, so
given the data the support count of v is Binomial(n_v, p) + Binomial(n - n_v, q), independently for every v: this is the
exact distribution of the tally, so no reports are needed. For every other oracle the counts of different values depend
on each other, and every run privatises every person with the mechanism itself (`real_counts`).

The paper gives neither constants nor post-processing. Each column has candidates: the first reproduces the printed
numbers, the others are what a reader would have expected instead.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Counts, Floats
from discreet.estimation.simplex import clip, norm_sub
from discreet.mechanisms.categorical.basic_rappor import rappor
from discreet.mechanisms.families import Oracle
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.shapes.unary import Unary
from discreet.privacy.entropy import Entropy
from discreet_papers import mechanisms


def real_counts(oracle: Oracle, counts: Counts, runs: int, seed: int) -> Counts:
    """Return support counts, one row per run; every person's report is drawn (seeded) and tallied."""
    values = np.repeat(np.arange(len(counts)), counts)
    entropy = Entropy.seeded(seed)
    found = np.empty((runs, len(counts)), dtype=np.int64)
    for run in range(runs):
        found[run] = oracle.support_counts(oracle.tally(oracle.privatize(values, entropy)))
    return found


def binomial_counts(oracle: Oracle, counts: Counts, runs: int, seed: int) -> Counts:
    """Return support counts, one row per run, from two binomials per value.

    Each count alone has this distribution for any oracle; all counts together have it only if the bits are independent.
    """
    generator = np.random.default_rng(seed)
    shape, n = (runs, len(counts)), int(counts.sum())
    supported: Counts = generator.binomial(counts, oracle.p, shape)
    return supported + generator.binomial(n - counts, oracle.q, shape)


def support_counts(oracle: Oracle, counts: Counts, runs: int, seed: int) -> Counts:
    """Return support counts, one row per run, in the cheapest way that has the exact joint distribution."""
    draw = binomial_counts if isinstance(oracle, Unary) else real_counts
    return draw(oracle, counts, runs, seed)


# -- post-processing --------------------------------------------------------------------------------------


def maximum_likelihood(counts: npt.ArrayLike, p: float, q: float) -> Floats:
    """Return the maximum-likelihood distribution given the counts of randomised response.

    Where f_v > 0, f_v = c_v / m - r with r = q / (p - q) (Karush, Kuhn, Tucker). The positive frequencies belong to the
    largest counts, as many as stay positive, and m makes their sum one.

    Examples
    --------
    >>> maximum_likelihood([60, 30, 10], 0.6, 0.2).round(3)
    array([0.833, 0.167, 0.   ])
    """
    c = np.asarray(counts, dtype=np.float64)
    r = q / (p - q)
    descending = np.sort(c)[::-1]
    scales = np.cumsum(descending) / (1 + r * np.arange(1, c.size + 1))
    active = np.flatnonzero(descending > r * scales)[-1]
    return np.asarray(np.maximum(c / scales[active] - r, 0.0))


POST: dict[str, Callable[[Floats], Floats]] = {
    "raw": lambda f: f,
    "cleared": lambda f: np.maximum(f, 0.0),
    "cleared and divided": lambda f: clip(f),
    "Norm-Sub": lambda f: norm_sub(f),
}
"""Post-processing of a vector of unbiased frequencies, by name."""


def decode(oracle: Oracle, support: Counts, n: int) -> Floats:
    """Return the unbiased frequencies of every run."""
    return np.asarray((support / n - oracle.q) / (oracle.p - oracle.q))


def after(raw: Floats, post: str) -> Floats:
    """Post-process every run."""
    return np.array([POST[post](row) for row in raw])


def errors(estimates: Floats, truth: Floats) -> Floats:
    """Return each run's mean absolute error, the paper's MAE."""
    return np.asarray(np.abs(estimates - truth).mean(axis=1))


# -- the public code of Hadamard response -----------------------------------------------------------------


@dataclass(frozen=True)
class PublicHadamard:
    """Hadamard response as implemented by its authors' public class for all epsilons, with its miscalibration.

    Blocks of width b; a report is uniform with probability 2B / (2B - 1 + e^epsilon), otherwise uniform over S_x, and
    column 0 is drawn again. B = 2^floor(log2 e^epsilon) is planned, but only ceil(size / (b-1)) <= B blocks are used.
    The decoding assumes the blocks that are used, the mixing those that were planned. With fewer blocks the reports
    carry less information than the decoding assumes: they are at least as private as claimed, but biased.

    Described from github.com/zitengsun/hadamard_response (class Hadamard_Rand_general); none of its code is here.
    """

    epsilon: float
    size: int

    @property
    def planned(self) -> int:
        """Number of blocks that the mixing is calibrated for, B."""
        return int(2 ** math.floor(math.log2(min(2 * self.size, math.exp(self.epsilon)))))

    @property
    def width(self) -> int:
        """Width of a block, b."""
        return int(2 ** math.ceil(math.log2(self.size / self.planned + 1)))

    @property
    def used(self) -> int:
        """Number of blocks in use."""
        return -(-self.size // (self.width - 1))

    @property
    def real_epsilon(self) -> float:
        """The actual epsilon of its reports."""
        law = self.law()
        return float(np.log(law.max() / law.min()))

    def signs(self) -> npt.NDArray[np.bool_]:
        """Return whether a column (without column 0 of each block) is in S_x, one row per value."""
        columns = np.arange(1, self.width)
        block, row = np.divmod(np.arange(self.size), self.width - 1)
        inside = np.zeros((self.size, self.used, self.width - 1), dtype=bool)
        inside[np.arange(self.size), block] = (np.bitwise_count((row + 1)[:, None] & columns) & 1).astype(bool)
        return inside.reshape(self.size, -1)

    def law(self) -> Floats:
        """Return P(report | value)."""
        uniform = 2 * self.planned / (2 * self.planned - 1 + math.exp(self.epsilon))
        weights = uniform / (self.used * self.width) + (1 - uniform) / (self.width / 2) * self.signs()
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def estimates(self, counts: Counts, runs: int, seed: int) -> Iterator[tuple[Floats, Counts]]:
        """Yield each run's raw frequencies and the true counts, with the values in the class's random order."""
        generator = np.random.default_rng(seed)
        law, inside = self.law(), self.signs()
        half, e, n = self.width // 2, math.exp(self.epsilon), int(counts.sum())
        block = np.arange(self.size) // (self.width - 1)
        scale = (self.used * (self.width - 1)) / half - 1 + e
        for _ in range(runs):
            order = generator.permutation(counts)
            held = np.flatnonzero(order)
            tally = generator.multinomial(order[held], law[held]).sum(axis=0) / n
            whole = tally.reshape(self.used, -1).sum(axis=1)[block]
            yield (scale * (2 * inside @ tally - whole) - 1 / half) / (e - 1), order


# -- the five columns -------------------------------------------------------------------------------------


def column_errors(column: str, epsilon: float, counts: Counts, runs: int, seed: int) -> dict[str, Floats]:
    """Return the errors of all runs for every candidate for one printed column; the first candidate is the best fit."""
    return COLUMNS[column](epsilon, counts, runs, seed)


def _oracle_errors(oracle: Oracle, counts: Counts, runs: int, seed: int, *posts: str) -> list[Floats]:
    n = int(counts.sum())
    raw = decode(oracle, support_counts(oracle, counts, runs, seed), n)
    return [errors(after(raw, post), counts / n) for post in posts]


def _krr(epsilon: float, counts: Counts, runs: int, seed: int) -> dict[str, Floats]:
    oracle = mechanism("randomized-response", epsilon, size=len(counts))
    support, n = support_counts(oracle, counts, runs, seed), int(counts.sum())
    likely = np.array([maximum_likelihood(row, oracle.p, oracle.q) for row in support])
    raw = decode(oracle, support, n)
    return {"k-RR, maximum likelihood": errors(likely, counts / n)} | {
        f"k-RR, {post}": errors(after(raw, post), counts / n) for post in ("Norm-Sub", "cleared", "raw")
    }


def _brappor(epsilon: float, counts: Counts, runs: int, seed: int) -> dict[str, Floats]:
    size = len(counts)
    candidates = {
        "q = 0.75, p = 0.5, f = 0 at every ε, cleared": rappor(size),
        "q = 0.75, p = 0.5, f = 0.5, cleared": rappor(size, f=0.5),
        "calibrated to ε, cleared": mechanism("basic-rappor", epsilon, size=size),
        "OUE at ε, cleared": mechanism("optimized-unary", epsilon, size=size),
    }
    return {name: _oracle_errors(m, counts, runs, seed, "cleared")[0] for name, m in candidates.items()}


def _cms(epsilon: float, counts: Counts, runs: int, seed: int) -> dict[str, Floats]:
    oracle = mechanism("count-mean-sketch", epsilon, size=len(counts))
    n = int(counts.sum())
    support = support_counts(oracle, counts, runs, seed)
    raw = decode(oracle, support, n)
    factor = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    printed = (support * (factor + 1) / 2 + (support - n) * (factor - 1) / 2) / n
    return {
        "e^(ε/2) in flip and factor, divided by n, cleared": errors(after(raw, "cleared"), counts / n),
        "the same, raw": errors(raw, counts / n),
        "factor with e^ε as printed, divided by n, cleared": errors(after(printed, "cleared"), counts / n),
    }


def _subset(epsilon: float, counts: Counts, runs: int, seed: int) -> dict[str, Floats]:
    size = len(counts)
    sizes: dict[str, Any] = {
        "k = ⌊d/2⌋ at every ε, cleared": size // 2,
        "k = ⌈d/2⌉, cleared": -(-size // 2),
        "optimal k, cleared": None,
    }
    return {
        name: _oracle_errors(
            mechanism("subset-selection", epsilon, size=size, k=k), counts, runs, seed + (k or 0), "cleared"
        )[0]
        for name, k in sizes.items()
    }


def _hadamard(epsilon: float, counts: Counts, runs: int, seed: int) -> dict[str, Floats]:
    public = PublicHadamard(epsilon, len(counts))
    n = int(counts.sum())
    found = np.array(
        [np.abs(clip(raw) - order / n).mean() for raw, order in public.estimates(counts, runs, seed)], dtype=np.float64
    )
    post = "cleared and divided"
    right = {f"calibrated, {what}, {post}": {"blocks": blocks} for what, blocks in (("blocks", "best"), ("simple", 1))}
    return {f"public code, {post}": found} | {
        name: _oracle_errors(
            mechanisms.oracle("hadamard-response", epsilon, size=len(counts), **options), counts, runs, seed, post
        )[0]
        for name, options in right.items()
    }


COLUMNS: dict[str, Callable[[float, Counts, int, int], dict[str, Floats]]] = {
    "k-RR": _krr,
    "bRAPPOR": _brappor,
    "CMS": _cms,
    "k-subset": _subset,
    "HR": _hadamard,
}
"""The printed columns, in the paper's order."""
