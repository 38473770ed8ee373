"""CrossTable: how two secret categories go together, from one report per person.

The two answers are one answer over all combinations, asked with the whole epsilon: a cell then costs the same whatever
the table's size, and association is seen with 8 to 160 times fewer people than from two answers at half of epsilon
each. A margin is a sum of cells and costs as much as it has of them. If margins matter as well, a third of the people
are asked for the combination and a third for each category alone, and the three are combined by least squares.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError
from discreet.estimation.simplex import norm_sub
from discreet.estimation.tables import combine, margin_sums
from discreet.mechanisms.families import Oracle, require_oracle
from discreet.mechanisms.registry import mechanism
from discreet.plans.base import Answered, Channel, History, Plan, Round
from discreet.plans.cross_table_answer import CrossTableAnswer
from discreet.plans.encoders import Answers, Bucket
from discreet.plans.frequency import LARGEST_UNARY, best_oracle
from discreet.plans.options import check_choice, check_whole

METHODS = ("product", "three-channels")
FEW = 3
"""A side with at most this many categories makes margins of the other side as cheap as a question of their own."""
MERGED_BELOW = 4.0
"""Categories whose margin is below this many standard errors are merged before an association is measured."""
MOST_CELLS = 1 << 16
"""The most cells of a table."""


class CrossTable(Plan[CrossTableAnswer]):
    """The table of two secret categories: how often each combination occurs, and whether they are associated.

    Parameters
    ----------
    first, second : Categories or Interval
        What stands in the rows and in the columns. Numbers of an interval count as the bucket they are in.
    epsilon : float
        Privacy of each person, for both answers together.
    method : str
        "product" (everybody answers both at once), "three-channels" (a third answers both, a third each alone), or
        "auto": three channels if ``margins`` matter and both sides have more than three categories.
    level : float
        Of each interval.
    margins : bool
        Whether the frequencies of each category alone matter as much as the cells.
    bins : int
        Buckets of an Interval, of equal width.
    merge : float
        Categories whose margin is below this many standard errors are merged before `CrossTableAnswer.cramer`: a rule
        that is fixed here, before anybody has seen the table.
    names : (str, str)
        Of the two sides: of their columns in files and frames.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.CrossTable(dc.Categories(["tea", "coffee"]), dc.Categories(["yes", "no"]), epsilon=2)
    >>> rows = [("tea", "yes")] * 6000 + [("coffee", "no")] * 3000 + [("coffee", "yes")] * 1000
    >>> answer = dc.simulate(plan, rows, seed=1)
    >>> answer
    <cross-table: tea/yes 60.7%, coffee/no 29.4%, coffee/yes 9.9%, …; 10000 reports, epsilon 2, randomized-response>
    >>> answer.independence().p_value < 1e-6
    True
    """

    question = "cross-table"

    def __init__(
        self,
        first: Categories | Interval,
        second: Categories | Interval,
        epsilon: float,
        method: str = "auto",
        level: float = 0.95,
        *,
        margins: bool = False,
        bins: int = 4,
        merge: float = MERGED_BELOW,
        names: Sequence[str] = ("rows", "columns"),
    ) -> None:
        super().__init__(epsilon, level)
        for name, domain in (("first", first), ("second", second)):
            if not isinstance(domain, (Categories, Interval)):
                raise DiscreetError(f"{name} must be Categories or an Interval, not {domain!r}")
        check_whole("bins", bins, 2, 1 << 12)
        check_choice("method", method, ("auto", *METHODS))
        if isinstance(merge, bool) or not isinstance(merge, (int, float)) or not merge >= 0:
            raise DiscreetError(f"merge must be a number of standard errors from 0 on, not {merge!r}")
        self.names = tuple(map(str, names))
        if len(self.names) != 2 or self.names[0] == self.names[1]:
            raise DiscreetError(f"names must be two different texts, not {names!r}")
        self.domains, self.bins, self.merge, self.margins = (first, second), bins, float(merge), bool(margins)
        self.encoders = tuple(one if isinstance(one, Categories) else Bucket(one, bins) for one in self.domains)
        self.sizes = tuple(one.image.count for one in self.encoders)
        if math.prod(self.sizes) > MOST_CELLS:
            raise DiscreetError(f"the table must have at most {MOST_CELLS} cells, not {math.prod(self.sizes)}")
        wide = self.margins and min(self.sizes) > FEW
        self._shape = ("three-channels" if wide else "product") if method == "auto" else method

    @cached_property
    def _oracles(self) -> tuple[Oracle, ...]:
        """The oracle of the combination and, with three channels, those of each side."""
        sizes = (math.prod(self.sizes), *(self.sizes if self._shape == "three-channels" else ()))
        return tuple(_oracle(self.epsilon, size) for size in sizes)

    @property
    def method(self) -> str:  # type: ignore[override]
        """How the table is asked; "auto" is replaced by what it chose."""
        return self._shape

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments; "auto" is written as what it chose."""
        return {
            "first": self.domains[0].to_dict(),
            "second": self.domains[1].to_dict(),
            "epsilon": self.epsilon,
            "method": self.method,
            "level": self.level,
            "margins": self.margins,
            "bins": self.bins,
            "merge": self.merge,
            "names": list(self.names),
        }

    def read_rows(self, values: Any) -> Any:
        """Return the rows as they are: the two entries may be of different types."""
        rows = np.empty(len(values), dtype=object)
        rows[:] = [tuple(row) if isinstance(row, (list, np.ndarray)) else row for row in values]
        return rows

    def round(self, history: History) -> Round | None:
        """Return the only round."""
        if history:
            return None
        both = Channel("both", self._oracles[0], Answers((0, 1), self.encoders))
        if self._shape == "product":
            return Round(1, (both,))
        sides = (
            Channel(key, oracle, Answers((i,), (encoder,)))
            for i, (key, oracle, encoder) in enumerate(
                zip(("first", "second"), self._oracles[1:], self.encoders, strict=True)
            )
        )
        return Round(1, (both, *sides))

    def estimate(self, history: History) -> CrossTableAnswer:
        """Return the table."""
        if len(history) != 1:
            raise DiscreetError(f"a cross-table has one round, not {len(history)}")
        answered = history[0]
        encoder = answered.round.channel("both").encoder
        if not isinstance(encoder, Answers) or len(encoder.sizes) != 2:
            raise DiscreetError(f"a cross-table needs a channel for two answers, not {encoder!r}")
        shape = (encoder.sizes[0], encoder.sizes[1])
        oracle = answered.oracle("both")
        raw, n = _decoded(answered, "both")
        covariance: Callable[[Floats], Floats] = oracle.frequency_covariance
        if len(answered.round.channels) > 1:
            raw, covariance, n = _three(answered, shape, raw)
        return CrossTableAnswer(
            question=self.question,
            labels=(_labels(encoder.encoders[0]), _labels(encoder.encoders[1])),
            names=(self.names[0], self.names[1]),
            raw=raw.reshape(shape),
            frequencies=norm_sub(raw).reshape(shape),
            covariance=covariance,
            merge=self.merge,
            influence=oracle.influence,
            level=self.level,
            n=n,
            epsilon=self.epsilon,
            method=oracle.name if len(answered.round.channels) == 1 else f"three channels, {oracle.name}",
            assumed=(
                "people are a random sample: intervals are for the frequencies in the population they were drawn from",
                "each interval holds for its own cell, not for all of them together",
            ),
        )


def _oracle(epsilon: float, size: int) -> Oracle:
    """Return the oracle of least variance whose covariance has a closed form."""
    if size > LARGEST_UNARY:
        return best_oracle(epsilon, size)[0]
    best = require_oracle(mechanism("subset-selection", epsilon, size=size), "A cross-table")
    is_single = getattr(best, "k", 0) == 1
    return require_oracle(mechanism("randomized-response", epsilon, size=size), "A cross-table") if is_single else best


def _labels(encoder: Any) -> tuple[Any, ...]:
    """Return the labels of one side; buckets are named by their ends."""
    if isinstance(encoder, Categories):
        return encoder.labels
    if not isinstance(encoder, Bucket):
        raise DiscreetError(f"a cross-table needs categories or buckets, not {encoder!r}")
    edges = encoder.domain.edges(encoder.bins).tolist()
    return tuple(f"{low:g} to {high:g}" for low, high in pairwise(edges))


def _decoded(answered: Answered, key: str) -> tuple[Floats, int]:
    oracle, tally = answered.oracle(key), answered.tally(key, least=2)
    return (oracle.support_counts(tally) / tally.n - oracle.q) / (oracle.p - oracle.q), tally.n


def _three(answered: Answered, shape: tuple[int, int], cells: Floats) -> tuple[Floats, Callable[[Floats], Floats], int]:
    """Return the cells combined with both margins, their covariance for one person, and the number of people."""
    oracles = [answered.oracle(key) for key in ("both", "first", "second")]
    counts = [answered.tally(key, least=2).n for key in ("both", "first", "second")]
    sums, everyone = margin_sums(shape), sum(counts)
    measured = np.concatenate([_decoded(answered, key)[0][:-1] for key in ("first", "second")])

    def spreads(f: Floats) -> tuple[Floats, Floats]:
        table = f.reshape(shape)
        parts = [
            oracle.frequency_covariance(margin, n)[:-1, :-1]
            for oracle, margin, n in zip(oracles[1:], (table.sum(axis=1), table.sum(axis=0)), counts[1:], strict=True)
        ]
        joined = np.zeros((sums.shape[0], sums.shape[0]))
        cut = shape[0] - 1
        joined[:cut, :cut], joined[cut:, cut:] = parts
        return oracles[0].frequency_covariance(f, counts[0]), joined

    def covariance(f: Floats) -> Floats:
        spread, margins = spreads(f)
        return everyone * combine(f, spread, sums @ f, margins, sums)[1]

    spread, margins = spreads(norm_sub(cells))
    return combine(cells, spread, measured, margins, sums)[0], covariance, everyone
