"""Population: an assumed distribution of the values, before anyone is asked.

It is a histogram over equal cells of an interval, even within each: a named shape, a prior, or the histogram of a
sample, whose values are kept too: heaps lie where they lie, and are not spread over a cell that a range may cut. It
decides which method is expected to be best; the answers of a plan never depend on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import Floats, sums_at_edges
from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.estimation.resampling import generator

CELLS = 1024
DEFAULT_SHAPE = "skewed"


def _beta(a: float, b: float) -> Floats:
    x = (np.arange(CELLS) + 0.5) / CELLS
    return np.asarray(x ** (a - 1) * (1 - x) ** (b - 1))


def _heaped() -> Floats:
    """Half of the people give a round number: a tenth of the domain, or twentieth."""
    heaps = np.zeros(CELLS)
    heaps[np.rint(np.linspace(0, CELLS - 1, 21)).astype(int)] = _beta(2, 5)[np.linspace(0, CELLS - 1, 21).astype(int)]
    smooth = _beta(2, 5)
    return np.asarray(smooth / smooth.sum() + heaps / heaps.sum())


SHAPES: dict[str, Floats] = {
    "bell": _beta(8, 8),
    "even": np.ones(CELLS),
    "heaped": _heaped(),
    "long-tail": np.exp(-np.arange(CELLS) * 10 / CELLS),
    "skewed": _beta(2, 5),
    "two-peaks": _beta(20, 60) / _beta(20, 60).sum() + 0.5 * _beta(60, 20) / _beta(60, 20).sum(),
}
"""Shapes by name: what incomes (skewed), errors (bell), waiting times (long-tail) or spoken ages (heaped) look like."""


@dataclass(frozen=True)
class Population:
    """People of an interval as a histogram of equal cells.

    Examples
    --------
    >>> people = Population.of("even", Interval(0, 10))
    >>> people.mean, round(people.variance, 3), people.within(0, 5)
    (5.0, 8.333, (0.5, 2.5))
    >>> people.draw(3, seed=1).round(1)
    array([5.1, 9.5, 1.4])
    """

    domain: Interval
    masses: Floats
    name: str
    held: Floats | None = None

    @classmethod
    def of(cls, shape: str | Sequence[float] | Floats, domain: Interval) -> "Population":
        """Return the people of a shape by name, or of a histogram over equal cells of the domain."""
        if isinstance(shape, str):
            if shape not in SHAPES:
                raise DiscreetError(f"shape must be one of {', '.join(SHAPES)}, not {shape!r}")
            return cls(domain, SHAPES[shape] / SHAPES[shape].sum(), f"people spread as the shape '{shape}'")
        masses = np.asarray(shape, dtype=np.float64)
        if masses.ndim != 1 or masses.size == 0 or not (masses >= 0).all() or not 0 < masses.sum() < np.inf:
            raise DiscreetError("prior must be a list of at least one non-negative weight, not all zero")
        return cls(domain, masses / masses.sum(), "people spread as the prior")

    @classmethod
    def sample(cls, values: Any, domain: Interval) -> "Population":
        """Return the people that a sample of values shows; values outside the domain count as its nearest end."""
        inside = np.clip(domain.check(values), domain.low, domain.high)
        counts, _ = np.histogram(inside, bins=CELLS, range=(domain.low, domain.high))
        return cls(domain, counts / counts.sum(), f"people spread as a sample of {inside.size}", inside)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return int(self.masses.size)

    @cached_property
    def edges(self) -> Floats:
        """Edges of the cells."""
        return self.domain.edges(self.cells)

    @cached_property
    def _centres(self) -> Floats:
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)

    @property
    def mean(self) -> float:
        """The mean."""
        if self.held is not None:
            return float(self.held.mean())
        return float(self.masses @ self._centres)

    @property
    def variance(self) -> float:
        """The variance, that within the cells included."""
        if self.held is not None:
            return float(self.held.var())
        spread = float(self.masses @ (self._centres - self.mean) ** 2)
        return spread + (self.domain.width / self.cells) ** 2 / 12

    def histogram(self, bins: int) -> Floats:
        """Return the mass of each of ``bins`` equal buckets."""
        cells = np.arange(self.cells + 1)
        at_edges = np.interp(np.linspace(0, self.cells, bins + 1), cells, sums_at_edges(self.masses))
        return np.asarray(np.maximum(np.diff(at_edges), 0.0))

    def points(self, finer: int = 8) -> tuple[Floats, Floats]:
        """Return (values, masses): each cell as ``finer`` points; those of a sample, if it is one."""
        if self.held is not None:
            values, counts = np.unique(self.held, return_counts=True)
            return values, counts / counts.sum()
        edges = self.domain.edges(self.cells * finer)
        return np.asarray((edges[1:] + edges[:-1]) / 2), np.repeat(self.masses / finer, finer)

    def within(self, low: float, high: float) -> tuple[float, float]:
        """Return (share, mean) of those between low and high; the mean is the middle if there are none."""
        if self.held is not None:
            inside = self.held[(self.held >= low) & (self.held <= high)]
            return inside.size / self.held.size, float(inside.mean()) if inside.size else (low + high) / 2
        first, last = np.maximum(self.edges[:-1], low), np.minimum(self.edges[1:], high)
        part = self.masses * np.clip(last - first, 0.0, None) * self.cells / self.domain.width
        share = float(part.sum())
        return share, float(part @ (first + last) / 2) / share if share > 0 else (low + high) / 2

    def draw(self, count: int, seed: int) -> Floats:
        """Return the values of this many people, for simulation."""
        random = generator(seed)
        cells = random.choice(self.cells, count, p=self.masses)
        return np.asarray(self.domain.low + (cells + random.random(count)) * (self.domain.width / self.cells))
