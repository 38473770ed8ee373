"""Designs for range means: what is believed about the people, the variance that follows, and the best design.

With y the inner value, t the input inside, and a report function rho = alpha(tag) y + beta(tag), the estimate mu = S/N
of the mean inside has, for n reports and a share pi of people inside,

    n Var(mu) = [pi E_in Var(psi | t) + (1 - pi) Var(psi | outside)] / pi^2,    psi = value - mu membership,

on the canonical range [-1, 1]; times h^2, h half the range's width, in the domain's units. It includes the noise of the
count, which PrivRM neglects (its Var(Y) is also a quarter of the true one, with inside and outside swapped).
When both tags carry a value, psi + d (tag - i) y has the same mean for every d: the best d is free.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.domains import Interval
from discreet.errors import DiscreetError, DomainError
from discreet.mechanisms.numeric.privrm import METHODS, range_mechanism
from discreet.mechanisms.roots import find_root
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.privacy.exact import TOTAL

Region = tuple[float, float]
COARSE = 128
"""Positions of the lattice on which designs are compared; their variances are within 1 % of those on a fine one."""
INNERS = ("duchi", "piecewise", "hybrid", "square-wave", "hybrid-np", "minimax")
"""The mechanisms for numbers that "auto" compares."""


def check_range(domain: Interval, low: float, high: float) -> Region:
    """Return the range as floats, or say what is wrong with it."""
    for name, end in (("low", low), ("high", high)):
        if isinstance(end, (bool, str)) or not isinstance(end, (int, float, np.number)) or not math.isfinite(end):
            raise DomainError(f"{name} must be a finite number, not {end!r}")
    if not low < high:
        raise DomainError(f"low must be below high, not {low} and {high}")
    if low < domain.low or high > domain.high:
        raise DomainError(f"the range must lie within the domain {domain}, not from {low} to {high}")
    return float(low), float(high)


@dataclass(frozen=True)
class Belief:
    """What is known or guessed about the people: the share inside, and where they are (canonical, weights sum to 1)."""

    share: float
    points: Floats
    weights: Floats

    @classmethod
    def guess(cls, share: float, mean: float) -> "Belief":
        """Return the distribution of largest entropy with this mean in [-1, 1]: a tilted uniform one.

        Examples
        --------
        >>> belief = Belief.guess(0.5, -0.6)
        >>> round(belief.mean, 9), round(belief.square, 2)
        (-0.6, 0.5)
        """
        if not 0 < share <= 1 or not -1 <= mean <= 1:
            raise DiscreetError(
                f"guess must be a share up to 1 and a mean inside the range, not {share:g} and {mean:g} (on [-1, 1])"
            )
        points = np.linspace(-1, 1, 401)

        def tilted(rate: float) -> Floats:
            weights = np.exp(rate * points - abs(rate))
            return np.asarray(weights / weights.sum())

        kept = float(np.clip(mean, -0.99, 0.99))
        rate = find_root(lambda r: float(tilted(r) @ points) - kept, -200.0, 200.0, 2e-12)
        return cls(float(share), points, tilted(rate))

    @classmethod
    def within(cls, points: Floats, masses: Floats, low: float, high: float, region: Region, *, clip: bool) -> "Belief":
        """Return the belief about a region of the range [low, high], from point masses on the whole domain.

        ``clip``: people of the range outside the region answer as its nearest end; otherwise they count as outside.
        """
        first, last = (low, high) if clip else region
        inside = (points >= first) & (points <= last)
        mass = float(masses[inside].sum())
        if not mass > 0:
            return cls(0.0, np.zeros(1), np.ones(1))
        middle, half = (region[0] + region[1]) / 2, (region[1] - region[0]) / 2
        return cls(
            min(mass / float(masses.sum()), 1.0),
            np.clip((points[inside] - middle) / half, -1.0, 1.0),
            np.asarray(masses[inside] / mass),
        )

    @property
    def mean(self) -> float:
        """E[t] inside."""
        return float(self.weights @ self.points)

    @property
    def square(self) -> float:
        """E[t^2] inside."""
        return float(self.weights @ self.points**2)


def decoders(source: Ranged) -> tuple[Floats, Floats, Floats]:
    """Return (value, membership, control), each as rows (alpha, beta) of the two tags: rho = alpha y + beta.

    The control has expectation zero for every input; it is zero when the tag "outside" is silent.
    """
    i, o = source.inside / TOTAL, source.outside / TOTAL
    phi = np.array([(1 - o) / (i - o), -o / (i - o)])
    reach, seen, far = (i, o, 0.0) if source.silent else (1.0, 1.0, 1.0)
    value = np.array([[1.0, 0.0], [far, 0.0]]) / reach
    value[:, 1] -= seen * source.drawn_mean * (1 - phi) / reach
    membership = np.column_stack([np.zeros(2), phi])
    control = np.zeros((2, 2)) if source.silent else np.array([[1 - i, 0.0], [-i, 0.0]])
    control[:, 1] -= (0.0 if source.silent else o - i) * source.drawn_mean * (1 - phi)
    return value, membership, control


def predicted_variance(source: Ranged, belief: Belief, *, weighted: bool = True) -> float:
    """Return n Var of the estimated mean inside, on the canonical scale, given the people (only the noise).

    Examples
    --------
    >>> from discreet.mechanisms.numeric.privrm import range_mechanism
    >>> belief = Belief(0.5, np.array([-0.5]), np.array([1.0]))
    >>> round(predicted_variance(range_mechanism("privrm-star", "duchi", 2), belief, weighted=False), 3)
    7.62
    """
    if belief.share <= 0:
        return math.inf
    inner, pi, mu = source.inner, belief.share, belief.mean
    square = float(belief.weights @ np.interp(belief.points, inner.inputs, inner._second_moments))
    near = np.array([[square, mu], [mu, 1.0]])
    far = np.array([[source.drawn_square, source.drawn_mean], [source.drawn_mean, 1.0]])
    spread = np.array([[belief.square, mu], [mu, 1.0]])
    offset = np.array([source.drawn_mean, 1.0])
    inside, outside = (np.array([w[side] for w in source.tags]) / TOTAL for side in (0, 1))

    def covariance(a: Floats, b: Floats) -> float:
        own = float(np.einsum("k,ki,ij,kj->", inside, a, near, b) - inside @ a @ spread @ (inside @ b))
        away = float(np.einsum("k,ki,ij,kj->", outside, a, far, b) - (outside @ a @ offset) * (outside @ b @ offset))
        return pi * own + (1 - pi) * away

    value, membership, control = decoders(source)
    psi = value - mu * membership
    variance = covariance(psi, psi)
    if weighted and not source.silent:
        variance -= covariance(psi, control) ** 2 / covariance(control, control)
    return variance / pi**2


@dataclass(frozen=True)
class RangeDesign:
    """A method and the mechanism inside it, with the variance predicted for one report."""

    variance: float
    method: str
    inner: str
    options: dict[str, Any] = field(default_factory=dict)

    def build(self, epsilon: float, **options: Any) -> Ranged:
        """Return the mechanism."""
        return range_mechanism(self.method, self.inner, epsilon, **(options | self.options))


def ranked(
    epsilon: float,
    belief: Belief,
    methods: Collection[str] = METHODS,
    inners: Collection[str] | None = None,
    *,
    tailored: bool = False,
) -> list[RangeDesign]:
    """Return all designs, the least predicted variance first.

    ``tailored`` adds an inner mechanism whose linear programme knows where the people inside are (adaptive-additive),
    for a belief that is more than two numbers.

    Examples
    --------
    >>> best = ranked(3.0, Belief.guess(0.3, 0.0), inners=("duchi", "piecewise"))[0]
    >>> best.method, best.inner
    ('outside-symbol', 'piecewise')
    """
    names = INNERS if inners is None else inners
    # minimax solves a linear programme, and root finding would do so many times: only where it is built once
    slow = {"minimax"} if inners is None else set()
    pairs: list[tuple[str, str, dict[str, Any]]] = [
        (m, name, {}) for m in methods for name in names if m == "outside-symbol" or name not in slow
    ]
    if tailored and inners is None and "outside-symbol" in methods and belief.share > 0:
        pairs.append(("outside-symbol", "adaptive-additive", {"prior": _knot_weights(belief, epsilon)}))
    designs = []
    for method, name, options in pairs:
        source = range_mechanism(method, name, epsilon, positions=COARSE, **options)
        designs.append(RangeDesign(predicted_variance(source, belief), method, name, options))
    return sorted(designs, key=lambda design: design.variance)


def _knot_weights(belief: Belief, epsilon: float) -> tuple[float, ...]:
    """Return the belief on equal knots, a tenth of it uniform: a wrong belief adds variance, never bias."""
    steps = 16 if epsilon <= 3 else 24
    place = (belief.points + 1) / 2 * steps
    left = np.minimum(place.astype(int), steps - 1)
    weights = np.bincount(left, belief.weights * (left + 1 - place), minlength=steps + 1)
    weights += np.bincount(left + 1, belief.weights * (place - left), minlength=steps + 1)
    return tuple((0.9 * weights + 0.1 / (steps + 1)).round(6).tolist())
