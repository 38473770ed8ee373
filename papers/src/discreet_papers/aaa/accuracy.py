"""Distributions, expected variances and errors of two rounds, for the study of AAA.

Errors are n times the mean squared error of a mean on [-1, 1], exact given the people and the first round's estimate:
with n1 people in the first round at variance v1, n2 in the second at v2, and weights w1 + w2 = 1,

    MSE = w1^2 v1/n1 + w2^2 v2/n2 + (w1 - n1/n)^2 Var X (1/n1 + 1/n2),

where the last term accounts for the random choice of the first round's people. Only its reports are sampled.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.arrays import Floats
from discreet.domains import Interval
from discreet.mechanisms.families import Numeric, require_numeric
from discreet.optimize.programme import Solution, lattice_outputs, solve
from discreet.plans.mean.adaptive import Adaptive
from discreet.plans.mean.plan import ADAPTIVE
from discreet.privacy.entropy import Entropy
from discreet_papers.mechanisms import numeric

UNIT = Interval(-1, 1)
POINTS = 64 * 320
"""Number of quantiles that represent a continuous distribution."""
RIVALS = ("laplace", "duchi", "piecewise", "hybrid")
"""The one-round mechanisms that the AAA paper compares with."""
PAPERS = (*RIVALS, "piecewise-sub", "piecewise-opt", "three-output", "n-output", "hybrid-tp", "hybrid-np")
"""The unbiased one-round mechanisms of all papers."""


def quantiles(name: str) -> Floats:
    """Return a distribution of section 7.1 as equally likely points: N(0, 0.1^2), Exp(6) from -1, or Beta(.5, .5)."""
    u = (np.arange(POINTS) + 0.5) / POINTS
    if name == "gauss01":
        from scipy.special import ndtr, ndtri

        return np.asarray(0.1 * ndtri(ndtr(-10.0) + u * (ndtr(10.0) - ndtr(-10.0))))
    if name == "exp6":
        return np.asarray(-1 - np.log1p(u * math.expm1(-12.0)) / 6)
    return np.asarray(-np.cos(math.pi * u))


def people(name: str, n: int, seed: int) -> Floats:
    """Return n people of section 7.2 on [-1, 1]: N(0, 1) in [-5, 5], Exp(1) in [0, 5], or Ber(0.5)."""
    rng = np.random.default_rng(seed)
    if name == "gaussian":
        return np.asarray(np.clip(rng.normal(size=n), -5, 5) / 5)
    if name == "exponential":
        return np.asarray(np.clip(rng.exponential(size=n), 0, 5) / 2.5 - 1)
    return np.asarray(2.0 * rng.integers(0, 2, n) - 1)


FRESH = ("likert", "clipped", "log-normal", "tents", "shares")
"""Distributions that are not in the paper. All had been seen before EM's price in `shapes` was chosen, using likert."""


def fresh_people(name: str, n: int, seed: int) -> Floats:
    """Return n people of a distribution that is not in the paper, on [-1, 1].

    Five answers of unequal popularity; N(0.3, 0.8^2), clipped at both ends; a skewed log-normal; two triangles; and
    shares of which a third are 0, a tenth 1, and the rest spread between.
    """
    rng = np.random.default_rng(seed)
    if name == "likert":
        return np.asarray(rng.choice(np.linspace(-1, 1, 5), n, p=[0.08, 0.15, 0.22, 0.35, 0.2]))
    if name == "clipped":
        return np.asarray(np.clip(rng.normal(0.3, 0.8, n), -1, 1))
    if name == "log-normal":
        return np.asarray(np.clip(rng.lognormal(-1.2, 0.7, n), 0, 2) - 1)
    if name == "tents":
        left = rng.random(n) < 0.7
        return np.asarray(np.where(left, rng.triangular(-1, -0.6, -0.1, n), rng.triangular(0.2, 0.5, 0.6, n)))
    kind = rng.choice(3, n, p=[1 / 3, 0.1, 1 - 1 / 3 - 0.1])
    return np.asarray(np.choose(kind, [-1.0, 1.0, rng.beta(1.3, 2.0, n) * 2 - 1]))


def knot_mass(x: Floats, cells: int) -> Floats:
    """Return the mass on N + 1 equal knots when each value is rounded at random so that its expectation is kept."""
    place = (x + 1) / 2 * cells
    left = np.minimum(place.astype(np.int64), cells - 1)
    mass = np.bincount(left, left + 1 - place, cells + 1) + np.bincount(left + 1, place - left, cells + 1)
    return np.asarray(mass / x.size)


def expected(found: Solution, x: Floats) -> float:
    """Return the mean variance over people x of a channel that rounds to its knots."""
    return float((np.interp(x, found.knots, found.probabilities @ found.values**2) - x**2).mean())


def physical_limit(x: Floats, epsilon: float, cells: int = 64) -> float:
    """Return a lower bound on the variance of every unbiased epsilon-LDP mechanism, on equally likely points x.

    A mechanism averaged over a cell is a mechanism for the cell's mean, so the dual certificate of the linear programme
    whose knots are those means and the two ends bounds every mechanism on the line.
    """
    means = x.reshape(cells, -1).mean(axis=1)
    knots, prior = np.concatenate([[-1.0], means, [1.0]]), np.concatenate([[0.0], np.full(cells, 1 / cells), [0.0]])
    return solve(knots, prior, epsilon).lower_bound + float(np.square(means).mean() - np.square(x).mean())


@lru_cache(maxsize=64)
def one_round(name: str, epsilon: float) -> Numeric:
    """Return a mechanism; each is built once."""
    return numeric(name, epsilon)


@lru_cache(maxsize=64)
def adaptive(method: str, epsilon: float, people: int) -> Adaptive:
    """Return the two rounds of an adaptive plan for a number of people; the first mechanism is solved once."""
    return Adaptive(UNIT, epsilon, **ADAPTIVE[method], people=people)


@dataclass(frozen=True)
class TwoRounds:
    """Two rounds with n1 and n2 people at variances v1 and v2; v1 is infinite if the first round is not reused."""

    n1: int
    n2: int
    v1: float
    v2: float

    def n_mse(self, variance: float) -> float:
        """Return n times the mean squared error, with weights n_i / (v_i + Var X)."""
        precision = (self.n1 / (self.v1 + variance), self.n2 / (self.v2 + variance))
        first = precision[0] / sum(precision)
        n = self.n1 + self.n2
        noise = (first**2 * self.v1 / self.n1 if first else 0.0) + (1 - first) ** 2 * self.v2 / self.n2
        return n * (noise + (first - self.n1 / n) ** 2 * variance * (1 / self.n1 + 1 / self.n2))


def ours(plan: Adaptive, x: Floats, seed: int) -> tuple[float, bool]:
    """Return n times the error of one collection by our plan, and whether the second round was adapted."""
    pilot = _pilot(x, plan.first_share, seed)
    tally = plan.first.tally(plan.first.privatize(pilot, Entropy.seeded(seed)))
    second, adapted = plan.adapt(plan.first, tally)
    return two_rounds(plan, x, float(second.variance(x).mean())).n_mse(float(x.var())), adapted


def taught(plan: Adaptive, x: Floats) -> float:
    """Return n times the error of our plan if its first round revealed the distribution of x exactly."""
    best = solve(plan.knots, knot_mass(x, plan.knots.size - 1), plan.epsilon)
    return two_rounds(plan, x, expected(best, x)).n_mse(float(x.var()))


def two_rounds(plan: Adaptive, x: Floats, second: float) -> TwoRounds:
    """Return the rounds of our plan on people x, given the second one's variance."""
    first = _pilot_size(x.size, plan.first_share)
    pilot = require_numeric(plan.first, "A reused pilot").variance(x).mean() if plan.reuse else math.inf
    return TwoRounds(first, x.size - first, float(pilot), second)


def as_published(x: Floats, epsilon: float, seed: int, *, cells: int, share: float = 0.1, q: float = 8.0) -> float:
    """Return n times the error of the paper's protocol with private noise: GRR, lattice, no reuse.

    In the first round, values are rounded to a knot at random and reported by generalised randomised response; the
    histogram is decoded, clipped and normalised.
    """
    pilot, rng = _pilot(x, share, seed), np.random.default_rng(seed + 1)
    place = (pilot + 1) / 2 * cells
    knot = np.minimum(np.floor(place + rng.random(pilot.size)).astype(np.int64), cells)
    kept = rng.random(pilot.size) < math.expm1(epsilon) / (cells + math.exp(epsilon))
    report = np.where(kept, knot, rng.integers(0, cells + 1, pilot.size))
    other = 1 / (cells + math.exp(epsilon))
    raw = (np.bincount(report, minlength=cells + 1) / pilot.size - other) / (math.expm1(epsilon) * other)
    mass = np.maximum(raw, 0.0)
    found = solve(np.linspace(-1, 1, cells + 1), mass / mass.sum(), epsilon, lattice_outputs(2 / cells, q))
    rounds = TwoRounds(pilot.size, x.size - pilot.size, math.inf, expected(found, x))
    return rounds.n_mse(float(x.var()))


def _pilot_size(people: int, share: float) -> int:
    return max(1, round(share * people))


def _pilot(x: Floats, share: float, seed: int) -> Floats:
    return np.asarray(np.random.default_rng(seed).choice(x, _pilot_size(x.size, share), replace=False))
