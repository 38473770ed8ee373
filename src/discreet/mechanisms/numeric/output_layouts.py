"""Layouts of N-output mechanisms: positions of the outputs, choice of p0, variance; see `n_output`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.arrays import Floats
from discreet.mechanisms.shapes.table import Table
from discreet.privacy.exact import TOTAL, exp_below


@dataclass(frozen=True)
class OutputLayout:
    """Where the outputs of an N-output mechanism lie: epsilon, N, p0 and the positive outputs a_1 < ... < a_n."""

    epsilon: float
    outputs: int
    p0: float
    positive: tuple[float, ...]

    @property
    def lines(self) -> tuple[Floats, Floats]:
        """Knots 0, x_1, ..., x_n = 1 and E[value^2] there, linear in between: S + t a_j^2, S = 2 p sum a_i^2."""
        p, star, t = shares(self.epsilon, self.outputs, self.p0)
        a = np.array(self.positive)
        floor = 2 * p * float(a @ a)
        at_zero = floor + 2 * (star - p) * a[0] ** 2
        knots = np.append(0.0, t * a)
        knots[-1] = 1.0
        return knots, np.append(at_zero, floor + t * a**2)

    @property
    def worst_case(self) -> float:
        """The worst-case variance, in closed form."""
        return peak(*self.lines)

    def table(self, name: str) -> Table:
        """Return the mechanism on whole weights."""
        n, odd = self.outputs // 2, self.outputs % 2
        ceiling = exp_below(self.epsilon)
        rare = math.ceil(self.p0 * TOTAL) if odd else 0
        low = math.ceil((TOTAL - rare) / (ceiling + 2 * n - 1))
        high = TOTAL - (2 * n - 1) * low - rare
        t = (high - low) / TOTAL
        a = np.append(np.array(self.positive[:-1]), 1 / t)
        knots = np.append(t * a[:-1], 1.0)
        rows = np.full((2 * n, 2 * n), low, dtype=np.int64) + np.diag([high - low] * (2 * n))
        if odd:
            # star = (2^48 - 2(n-1) low - middle) / 2 must be whole and not below low.
            middle = min(math.floor(ceiling * rare), high + rare - low)
            middle -= (TOTAL - middle) % 2
            centre = np.full(2 * n, low, dtype=np.int64)
            centre[n - 1 : n + 1] = (TOTAL - 2 * (n - 1) * low - middle) // 2
            rows = np.insert(rows, n, centre, axis=0)
            rows = np.insert(rows, n, rare, axis=1)
            rows[n, n] = middle
        zero = np.zeros(odd)
        return Table(
            name,
            self.epsilon,
            np.concatenate([-knots[::-1], zero, knots]).tolist(),
            rows.tolist(),
            np.concatenate([-a[::-1], zero, a]).tolist(),
        )


def shares(epsilon: float, outputs: int, p0: float) -> tuple[float, float, float]:
    """Return p, p* and t of section 3.3."""
    c, n = math.exp(epsilon), outputs // 2
    p = (1 - p0) / (c + 2 * n - 1)
    return p, (1 - 2 * (n - 1) * p - c * p0) / 2, (c - 1) * p


def peak(knots: Floats, moments: Floats, share: float = 1.0, a: float = 0.0, b: float = 0.0) -> float:
    """Return the largest share * (moment line - x^2) + (1 - share) * (a x^2 + b) over the knots' range."""
    slopes = np.diff(moments) / np.diff(knots)
    bend = (1 - share) * a - share
    inner = np.clip(share * slopes / (-2 * bend), knots[:-1], knots[1:]) if bend < 0 else knots[:-1]
    x = np.concatenate([inner, knots])
    line = np.concatenate([moments[:-1] + slopes * (inner - knots[:-1]), moments])
    return float((share * line + bend * x**2).max() + (1 - share) * b)


def three_output_p0(epsilon: float) -> float:
    """Return the optimal p0 of the three-output mechanism: the closed form of Zhao et al. 2020.

    Examples
    --------
    >>> [round(three_output_p0(e), 6) for e in (0.5, 1.0, 2.0)]
    [0.0, 0.105242, 0.106507]
    """
    c = math.exp(epsilon)
    if c <= 2:
        return 0.0
    if c >= (3 + math.sqrt(65)) / 2:
        return 1 / (c + 2)
    # P(0 | 0) = c p0 is the middle root of a cubic with three real roots, by the cosine formula.
    d0 = c**4 + 14 * c**3 + 50 * c**2 - 2 * c + 25
    d1 = 2 * c**6 + 42 * c**5 + 270 * c**4 + 404 * c**3 + 918 * c**2 - 30 * c + 250
    angle = (math.pi + math.acos(min(1.0, d1 / (2 * d0**1.5)))) / 3
    return max(0.0, (c**2 + 4 * c + 5 - 2 * math.sqrt(d0) * math.cos(angle)) / (6 * c))


def theorem_4(epsilon: float, outputs: int, p0: float) -> tuple[float, ...]:
    """Return a_1..a_n that minimise the variance's last peak (Theorem 4); they need not increase."""
    p, _, t = shares(epsilon, outputs, p0)
    step = 4 * t - 2
    first, second = [0.0, 1.0], [1.0, 0.0]  # P and Q from index n downwards
    for _ in range(outputs // 2 - 2):
        first.append(step * first[-1] - first[-2])
        second.append(step * second[-1] - second[-2])
    cross = math.fsum(x * y for x, y in zip(first, second, strict=True))
    ratio = (2 * t - 1 - 8 * p * cross) / (1 + 8 * p * math.fsum(x * x for x in first))
    return tuple((x * ratio + y) / t for x, y in zip(reversed(first), reversed(second), strict=True))


def levelled(epsilon: float, outputs: int, p0: float) -> tuple[float, ...]:
    """Return a_1..a_n that make all peaks of the variance equal: Theorem 5, for any p0; empty if there are none.

    a_i = C_i a_(i+1); C_1 in (0, 1) solves (k^2/4 + 2(p* - p) - 1/4) C^2 + (t - 1/2) C - 1/4 = 0 with
    k = (e^epsilon p + p - 2p*) / t. For p0 = p and for even N this is the C_1 of the theorem.
    """
    p, star, t = shares(epsilon, outputs, p0)
    square, linear = ((t + 2 * p - 2 * star) / t) ** 2 / 4 + 2 * (star - p) - 0.25, t - 0.5
    discriminant = linear**2 + square
    if linear <= 0 or discriminant < 0:
        return ()
    ratios = [0.5 / (linear + math.sqrt(discriminant))]
    for _ in range(outputs // 2 - 2):
        previous = ratios[-1]
        d = previous**2 + 2 * previous - 4 * t * previous
        inside = d + (2 * t - 1) ** 2
        if inside < 0:
            return ()
        ratios.append(1 / (2 * t - 1 + math.sqrt(inside)))  # (1 - 2t + root) / d without cancellation
    positions = [1 / t]
    for ratio in reversed(ratios):
        positions.append(positions[-1] * ratio)
    return tuple(reversed(positions))


def _gap(epsilon: float, outputs: int, p0: float, a: Sequence[float]) -> float:
    """Return the last peak of the variance less its first one (section 3.4)."""
    p, star, t = shares(epsilon, outputs, p0)
    slope = a[0] * (t + 2 * p - 2 * star) / t
    last = (a[-2] + a[-1]) ** 2 / 4 - t * a[-2] * a[-1]
    return last - slope**2 / 4 - 2 * a[0] ** 2 * (star - p)


def _increase(a: Sequence[float]) -> bool:
    return len(a) > 0 and a[0] > 0 and all(x < y for x, y in pairwise(a))


def _given(epsilon: float, outputs: int, p0: float) -> OutputLayout | None:
    """Return the best positions for a given p0, N >= 4; None if N is too large."""
    a = theorem_4(epsilon, outputs, p0)
    if not _increase(a) or _gap(epsilon, outputs, p0, a) < 0:
        a = levelled(epsilon, outputs, p0)
    return OutputLayout(epsilon, outputs, p0, a) if _increase(a) else None


def layout(epsilon: float, outputs: int, corrected: bool) -> OutputLayout | None:
    """Return the layout of N outputs, or None if N is too large to be of use at this epsilon.

    Where p0 = 0 is best for N = 3 (up to epsilon = ln 2), it is Duchi's, with two outputs.
    """
    if outputs <= 3:
        p0 = three_output_p0(epsilon) if outputs == 3 else 0.0
        kept = outputs if p0 > 0 else 2
        return OutputLayout(epsilon, kept, p0, (1 / shares(epsilon, kept, p0)[2],))
    if outputs % 2 == 0:
        return _given(epsilon, outputs, 0.0) if _increase(theorem_4(epsilon, outputs, 0.0)) else None
    return (_best_odd if corrected else _published_odd)(epsilon, outputs)


def _best_odd(epsilon: float, outputs: int) -> OutputLayout | None:
    """Search p0 in [0, p]: a grid, because the cost may have two valleys, then the best cell. p0 = 0 is N - 1."""

    def cost(p0: float) -> float:
        candidate = _given(epsilon, outputs, p0)
        return math.inf if candidate is None else candidate.worst_case

    grid = np.linspace(0.0, 1 / (math.exp(epsilon) + outputs - 1), 17).tolist()
    best = min(range(17), key=lambda i: cost(grid[i]))
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, 16)]
    for _ in range(34):  # golden section, to 1e-7 of the cell
        width = 0.3819660112501051 * (right - left)
        if cost(left + width) < cost(right - width):
            right -= width
        else:
            left += width
    p0 = min(grid[best], (left + right) / 2, key=cost)
    return _given(epsilon, outputs, p0) if cost(p0) < cost(0.0) * (1 - 1e-9) else None


def _published_odd(epsilon: float, outputs: int) -> OutputLayout | None:
    """Return Algorithm 2's choice for odd N, line 8 corrected: p0 by equation 12, or p0 = p with Theorem 5."""

    def gap(p0: float) -> float:
        return _gap(epsilon, outputs, p0, theorem_4(epsilon, outputs, p0))

    low, high = 0.0, 1 / (math.exp(epsilon) + outputs - 1)
    if not _increase(theorem_4(epsilon, outputs, high)):
        return None
    if gap(high) < 0:
        return _given(epsilon, outputs, high)
    if gap(low) > 0:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gap(middle) < 0 else (low, middle)
    a = theorem_4(epsilon, outputs, high)
    return OutputLayout(epsilon, outputs, high, a) if _increase(a) else None
