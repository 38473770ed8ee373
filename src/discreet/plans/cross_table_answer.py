"""CrossTableAnswer: a table of two categories, its margins, tests and association."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.estimation.comparing import TestResult
from discreet.estimation.simplex import norm_sub
from discreet.estimation.tables import cramer, fitted, independence, known_margins, large_enough, merging
from discreet.plans.answers import Answer, FrequencyAnswer, NumberAnswer, leading, normal_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OTHER = "other"
"""The name of what rare categories are merged into."""
Margin = npt.ArrayLike | Mapping[Any, float]
"""Known frequencies of a side: in the order of its labels, or by label."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TableFrequencies(FrequencyAnswer):
    """Frequencies of a margin or of the cells; called, it returns what the whole answer's method of that name does."""

    listing: Callable[[], list[Any]]

    def __call__(self) -> list[Any]:
        """Return the whole answer as a table."""
        return self.listing()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CrossTableAnswer(Answer):
    """How often each combination of two categories occurs; ``answer["tea", "yes"]`` is one of them.

    ``answer.cells``, ``answer.rows`` and ``answer.columns`` are the frequencies of the cells and of both margins, each
    with its intervals. As for every answer, ``rows()`` and ``cells()`` return the table as dicts and as text.

    Attributes
    ----------
    labels : (tuple, tuple)
        Of the rows and of the columns.
    frequencies : numpy.ndarray
        One row per category of the first side; non-negative with sum one.
    raw : numpy.ndarray
        The unbiased estimates behind them; may be negative.
    covariance : callable
        The covariance of one person's unbiased estimates, if the population has the frequencies it is given.
    """

    labels: tuple[tuple[Any, ...], tuple[Any, ...]]
    names: tuple[str, str]
    raw: Floats
    frequencies: Floats
    covariance: Callable[[Floats], Floats]
    merge: float
    influence: float
    known: tuple[Floats | None, Floats | None] = (None, None)
    """Margins that were given, not measured."""

    @property
    def value(self) -> Floats:
        """The frequencies, one row per category of the first side."""
        return self.frequencies

    @property
    def interval(self) -> Floats:
        """One pair (low, high) per cell."""
        return np.asarray(self.cells.intervals.reshape(*self.raw.shape, 2))

    @cached_property
    def _spread(self) -> Floats:
        """The covariance of the cells' estimates."""
        return self.person(norm_sub(self.raw.ravel())) / self.n

    def person(self, frequencies: Floats) -> Floats:
        """Return the covariance of one person's estimates, known margins taken into account."""
        own = self.covariance(frequencies)
        if all(margin is None for margin in self.known):
            return own
        return self.n * known_margins(self.raw, self.n, lambda _: own, *self.known)[1]

    @property
    def _sums(self) -> tuple[Floats, Floats]:
        """The matrices that add the cells to both margins."""
        rows, columns = self.raw.shape
        return np.repeat(np.eye(rows), columns, axis=1), np.tile(np.eye(columns), rows)

    @cached_property
    def cells(self) -> TableFrequencies:
        """The frequency of each combination, by (first, second); as ``cells()``, the table as text."""
        labels = tuple((a, b) for a in self.labels[0] for b in self.labels[1])
        return self._frequencies(labels, np.eye(self.raw.size), self._texts)

    @cached_property
    def rows(self) -> TableFrequencies:
        """The frequencies of the first side; as ``rows()``, one dict per cell."""
        return self._frequencies(self.labels[0], self._sums[0], self._rows)

    @cached_property
    def columns(self) -> FrequencyAnswer:
        """The frequencies of the second side."""
        return self._frequencies(self.labels[1], self._sums[1], self._rows)

    def _frequencies(self, labels: tuple[Any, ...], sums: Floats, listing: Callable[[], list[Any]]) -> TableFrequencies:
        """Return sums of cells as frequencies of their own."""
        raw = sums @ self.raw.ravel()
        errors = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", sums, self._spread, sums), 0.0))
        ends = partial(_ends, raw, errors)
        person = self.person
        fine = norm_sub(self.raw.ravel())
        return TableFrequencies(
            question="frequency",
            labels=labels,
            frequencies=sums @ self.frequencies.ravel(),
            raw=raw,
            standard_errors=errors,
            intervals=ends(self.level),
            ends=ends,
            post="norm-sub",
            influence=self.influence,
            covariance=lambda f: np.asarray(sums @ person(fine) @ sums.T) if f.size != fine.size else person(f),
            level=self.level,
            n=self.n,
            epsilon=self.epsilon,
            method=self.method,
            assumed=self.assumed,
            listing=listing,
        )

    def __getitem__(self, labels: tuple[Any, Any]) -> dict[str, Any]:
        return self.cells[labels]

    def _rows(self) -> list[dict[str, Any]]:
        first, second = self.names
        found = []
        for row in FrequencyAnswer.rows(self.cells):
            label = row.pop("label")
            found.append({first: label[0], second: label[1]} | row)
        return found

    def _texts(self) -> list[tuple[str, str, str]]:
        return [
            (f"{row['label'][0]}/{row['label'][1]}", f"{row['frequency']:.2%}", f"{row['low']:.2%} – {row['high']:.2%}")
            for row in self.cells.top(self.raw.size)
        ]

    # -- association ------------------------------------------------------------------------------------------

    def independence(self) -> TestResult:
        """Test that the two categories have nothing to do with each other; see ``p_value`` of the result.

        It is Wald's test with the covariance of the mechanism that ran. Never test decoded counts by Pearson's.
        """
        return independence(self.raw, self.n, self.person)

    def cramer(self) -> NumberAnswer:
        """Return Cramér's V, how strong the association is from 0 to 1, without the bias of the noise.

        Categories whose margin is below ``merge`` standard errors are merged first, as the plan said. If even then a
        margin is not positive, V cannot be said: its value is not a number, and its interval everything.
        """
        maps = []
        for margin, sums in ((self.rows.raw, self._sums[0]), (self.columns.raw, self._sums[1])):
            keep = large_enough(margin, sums @ self._spread @ sums.T, self.merge)
            maps.append(merging(keep) if keep.any() else np.eye(keep.size))
        both = np.kron(maps[0], maps[1])
        person = both @ self.person(norm_sub(self.raw.ravel())) @ both.T
        table = maps[0] @ self.raw @ maps[1].T
        merged = sum(before - after.shape[0] for before, after in zip(self.raw.shape, maps, strict=True))

        def ends(level: float) -> tuple[float, float]:
            return cramer(table, self.n, lambda _: person, level)[1] if min(table.shape) > 1 else (0.0, 1.0)

        value = cramer(table, self.n, lambda _: person, self.level)[0] if min(table.shape) > 1 else math.nan
        notes = [f"{merged} rare categories were merged by the rule of the plan"] if merged else []
        if math.isnan(value):
            notes.append("too few people to say how strong the association is: test independence instead")
        return NumberAnswer(
            question="Cramér's V",
            value=value,
            interval=ends(self.level),
            ends=ends,
            level=self.level,
            n=self.n,
            epsilon=self.epsilon,
            method=self.method,
            assumed=(*self.assumed, *notes),
            details={"merged": merged},
        )

    def known_margins(self, *, rows: Margin | None = None, columns: Margin | None = None) -> "CrossTableAnswer":
        """Return the table that has these margins, known from elsewhere (a census): usually much closer to the truth.

        The estimates are moved by least squares; the frequencies are then made positive, and fitted to the margins.

        Parameters
        ----------
        rows, columns : array_like or mapping
            Frequencies of the first and of the second side.
        """
        known = (_margin("rows", rows, self.labels[0]), _margin("columns", columns, self.labels[1]))
        moved, _ = known_margins(self.raw, self.n, self.covariance, *known)
        note = "the margins are exactly those given: people were drawn from a population that has them"
        return replace(
            self,
            raw=moved,
            frequencies=fitted(moved, *known),
            known=known,
            assumed=(*self.assumed, note),
        )

    # -- the face of all answers ----------------------------------------------------------------------------------

    def figures(self) -> dict[str, Any]:
        """Return the rows, the margins and the test of independence."""
        return {
            "rows": self.rows(),
            "margins": {
                name: FrequencyAnswer.rows(side)
                for name, side in zip(self.names, (self.rows, self.columns), strict=True)
            },
            "independence": self.independence().to_dict(),
        }

    def plot(self, truth: Any = None, *, ax: "Axes | None" = None) -> "Figure":
        """Plot the table as a heat map; needs the extra ``plots``."""
        from discreet import plots

        if truth is not None:
            raise DiscreetError("truth cannot be drawn into a heat map: plot both tables")
        sides = [[str(label) for label in side] for side in self.labels]
        return plots.cross_table(self.frequencies, *sides, names=self.names, ax=ax)

    def __str__(self) -> str:
        shown = self.cells.top(4)
        return leading([f"{row['label'][0]}/{row['label'][1]} {row['frequency']:.1%}" for row in shown], 3)


def _ends(raw: Floats, errors: Floats, level: float) -> Floats:
    low, high = normal_interval(0.0, 1.0, level)
    return np.clip(np.column_stack([raw + low * errors, raw + high * errors]), 0.0, 1.0)


def _margin(name: str, given: Margin | None, labels: tuple[Any, ...]) -> Floats | None:
    """Return known frequencies in the order of the labels, or say what is wrong with them."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        if set(given) != set(labels):
            raise DiscreetError(f"{name} must have a frequency for each of the {len(labels)} labels, and no other")
        given = [given[label] for label in labels]
    shares = np.asarray(given, dtype=np.float64)
    if shares.shape != (len(labels),) or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise DiscreetError(f"{name} must be {len(labels)} positive frequencies with sum 1")
    return np.asarray(shares / shares.sum())
