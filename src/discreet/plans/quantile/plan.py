"""Quantile: the value that a given share of the people does not exceed, in a few rounds of one-bit answers.

Each person answers one question, "is your value at most t?", by randomised response with the whole epsilon. Round 1
spreads 16 thresholds over the interval; each later round asks a handful where the quantile may still be, and all rounds
are fitted together (`discreet.plans.quantile.search`). Several quantiles share round 1 and divide the later ones, and
every answer serves all of them.

If everybody were asked at the true quantile the error in rank would be sqrt((q (1 - q) + e / (e - 1)^2) / n), with e =
e^epsilon; symmetric randomised response is the best one-bit channel for any q, and more symbols do not help. The search
comes within 0.9 to 1.4 times that, however wide the interval, and 2 to 4 times closer than a quantile that is read off
`Distribution`. Its intervals are about twice as wide as that error would allow, because people may round
(`discreet.estimation.stairs`); where they do, and coarsely, up to six times.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.registry import mechanism
from discreet.plans.answers import normal_interval
from discreet.plans.base import A, Channel, History, Plan, Round
from discreet.plans.encoders import Below
from discreet.plans.options import as_interval, check_choice, check_whole, given
from discreet.plans.quantile.answer import QuantileAnswer, QuantilesAnswer
from discreet.plans.quantile.counts import stages_of
from discreet.plans.quantile.grid import SCALES, Grid, natural_step
from discreet.plans.quantile.search import Asked, Found, Search, next_thresholds, rank_error

METHOD = "threshold-search"
DESIGNS: dict[int, tuple[tuple[float, ...], tuple[int, ...]]] = {
    1: ((1.0,), (32,)),
    2: ((0.3, 0.7), (16, 8)),
    3: ((0.2, 0.3, 0.5), (16, 8, 6)),
    4: ((0.15, 0.2, 0.25, 0.4), (16, 8, 6, 6)),
}
"""By the number of rounds: the share of the people in each, and how many thresholds each asks per quantile."""
WORST_RANK_ERROR = 0.05
"""With so few people that even the best search has a larger error than this, a quantile is refused."""
COARSE_RANK_ERROR = 0.015
"""With a larger error than this the answer says that people were few."""
MOST_QUANTILES = 20
NEARLY_ALL = 0.9
"""If more people than this hold one value the answer says so: other quantiles would be the same."""


class _Search(Plan[A]):
    """What `Quantile` and `Quantiles` have in common."""

    qs: tuple[float, ...]

    def __init__(
        self,
        domain: Interval | tuple[float, float],
        qs: Sequence[float],
        epsilon: float,
        step: float | None,
        scale: str,
        method: str,
        level: float,
        rounds: int,
        near: float | None,
        heaped: bool,
    ) -> None:
        super().__init__(epsilon, level)
        domain = as_interval(domain, self.question)
        check_choice("scale", scale, SCALES)
        check_choice("method", method, ("auto", METHOD))
        check_whole("rounds", rounds, 1, max(DESIGNS))
        if not isinstance(heaped, bool):
            raise DiscreetError(f"heaped must be True or False, not {heaped!r}")
        if near is not None and scale != "sinh":
            raise DiscreetError("near is the centre of the scale sinh; give scale='sinh' too")
        self.domain, self.qs, self.method = domain, tuple(qs), METHOD
        self.rounds, self.near, self.heaped = rounds, near, heaped
        self._told = step is not None
        self.grid = Grid(domain, natural_step(domain, scale) if step is None else step, scale, near)

    @property
    def step(self) -> float:
        """The unit of the answer."""
        return self.grid.step

    @property
    def scale(self) -> str:
        """How thresholds are spread."""
        return self.grid.scale

    def _arguments(self) -> dict[str, Any]:
        return {
            "domain": self.domain.to_dict(),
            "epsilon": self.epsilon,
            "scale": self.scale,
            "method": self.method,
            "level": self.level,
            "rounds": self.rounds,
            "heaped": self.heaped,
        } | given(near=self.near, step=self.step if self._told else None)

    @property
    def least_people(self) -> int:
        """The least number of people with whom the question can be asked."""
        return math.ceil(max(rank_error(self.epsilon, q, 1) for q in self.qs) ** 2 / WORST_RANK_ERROR**2)

    def expecting(self, people: int) -> "_Search[A]":
        """Return the plan itself; so few people that they cannot tell a quantile at this epsilon are refused."""
        self._check_people(people, "people")
        return self

    def _check_people(self, people: int, what: str) -> None:
        if people < self.least_people:
            raise DiscreetError(
                f"{what} must be at least {self.least_people} for a {self.question} at epsilon {self.epsilon:g}, not "
                f"{people}; ask more people, or take a larger epsilon"
            )

    def round(self, history: History) -> Round | None:
        """Return the next round: thresholds over the whole interval, then where the quantiles may still be."""
        shares, counts = DESIGNS[self.rounds]
        number = len(history)
        if number >= self.rounds:
            return None
        if number:
            least = math.ceil(0.5 * shares[0] * self.least_people)
            if history[0].n < least:
                raise DiscreetError(
                    f"round 1 of a {self.question} needs at least {least} reports at epsilon {self.epsilon:g}, not "
                    f"{history[0].n}"
                )
        stages = stages_of(self.grid, history) if number else []
        people = next_thresholds(self.grid, self.qs, stages, counts[number])
        source = mechanism("randomized-response", self.epsilon, size=2)
        channels = tuple(
            Channel(f"t{i}", source, Below(self.domain, self.grid.text(position)), share)
            for i, (position, share) in enumerate(people.items())
        )
        is_last = number == self.rounds - 1
        return Round(number + 1, channels, share=1.0 if is_last else shares[number])

    def _answers(self, history: History) -> list[QuantileAnswer]:
        n = sum(answered.n for answered in history)
        self._check_people(n, "the number of reports")
        stages = stages_of(self.grid, history)
        asked = stages[-1]
        searches = [Search(self.grid, q, stages) for q in self.qs]
        found = [search.found() for search in searches]
        values = sorted(one.position for one in found)  # quantiles never decrease with q
        answers = []
        for q, search, one, position in zip(self.qs, searches, found, values, strict=True):
            heap = self._heap(asked, position)
            ends = partial(_ends, search, position, self._told, self.heaped)
            answers.append(
                QuantileAnswer(
                    question=f"quantile {q:g}",
                    q=q,
                    step=self.step,
                    value=self.grid.value(position),
                    interval=ends(self.level),
                    ends=ends,
                    level=self.level,
                    n=n,
                    epsilon=self.epsilon,
                    method=self.method,
                    assumed=self._assumed(n, heap),
                    details=self._details(asked, q, one, n, len(history)) | given(heap=heap),
                )
            )
        return answers

    def _heap(self, asked: Asked, position: int) -> dict[str, Any] | None:
        """Return the share of people who hold the answer itself, if it was asked on both sides."""
        found = asked.share_at(position, self.grid.last)
        if found is None:
            return None
        low, high = normal_interval(*found, self.level)
        share, low, high = (min(max(x, 0.0), 1.0) for x in (found[0], low, high))
        return {"share": share, "interval": [low, high]}

    def _assumed(self, n: int, heap: dict[str, Any] | None) -> tuple[str, ...]:
        said = [
            f"values outside {self.domain} count as its nearest end",
            f"the answer and the ends of its interval are multiples of {self.step:g}",
            "people are a random sample of the population, and each round asks a random part of them",
        ]
        if heap is not None and heap["interval"][0] > NEARLY_ALL:
            said.append(f"nearly all people hold the same value: at least {heap['interval'][0]:.0%} of them")
        if max(rank_error(self.epsilon, q, n) for q in self.qs) > COARSE_RANK_ERROR:
            said.append("few people: the first round saw only roughly where the values are")
        if len(self.qs) > 5:
            said.append("for more than five quantiles, Distribution usually needs fewer people")
        return tuple(said)

    def _details(self, asked: Asked, q: float, one: Found, n: int, rounds: int) -> dict[str, Any]:
        nearest = int(np.argmin(np.abs(asked.positions - one.position)))
        return {
            "rank_error": rank_error(self.epsilon, q, n),
            "heaps": min(1 / one.roughness, 1e4) if one.roughness else 1e4,
            "rounds": rounds,
            "thresholds": len(asked.positions),
            "influence_of_one_false_report": float(asked.influence[nearest]),
        }


class Quantile(_Search[QuantileAnswer]):
    """A quantile of a number, such as the median: the value that a given share of the people does not exceed.

    Parameters
    ----------
    domain : Interval
        What people hold; values outside are clipped. It may be far too wide: that costs next to nothing.
    q : float
        Which quantile, between 0 and 1; 0.5 is the median.
    epsilon : float
        Privacy of each person.
    step : float, optional
        The unit of the answer: thresholds are its multiples. Give the unit in which people give their values (minutes,
        hundreds of dollars). Unless given, it is a power of ten that suits the interval, and as values may lie between
        its multiples, an interval begins one step earlier.
    scale : str
        How the first thresholds are spread: "linear" (evenly), or "sinh": evenly near 0 and logarithmically beyond,
        for skewed values and intervals that are far too wide.
    method : str
        "auto", the same as "threshold-search".
    level : float
        Of the confidence interval.
    rounds : int
        How many rounds the plan may take, from 1 to 4. Four need the fewest people; with two the error is about twice
        as large, and with one it is that of a coarse grid.
    near : float, optional
        With "sinh", a guess of where most values are, around which the scale is fine; 0 unless given.
    heaped : bool
        Whether many people may hold the same values, such as round numbers (default). If not, intervals are narrower.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Quantile(dc.Interval(0, 50_000_000), 0.5, epsilon=1, step=100, scale="sinh")
    >>> wages = 1000 * (20 + np.arange(100_000) % 61)
    >>> dc.simulate(plan, wages, seed=1)
    <quantile 0.5: ... (95%); 100000 reports, epsilon 1, threshold-search>
    """

    question = "quantile"

    def __init__(
        self,
        domain: Interval | tuple[float, float],
        q: float,
        epsilon: float,
        step: float | None = None,
        scale: str = "linear",
        method: str = "auto",
        level: float = 0.95,
        *,
        rounds: int = 4,
        near: float | None = None,
        heaped: bool = True,
    ) -> None:
        check_quantile(q)
        super().__init__(domain, [float(q)], epsilon, step, scale, method, level, rounds, near, heaped)

    @property
    def q(self) -> float:
        """Which quantile."""
        return self.qs[0]

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"q": self.q} | self._arguments()

    def estimate(self, history: History) -> QuantileAnswer:
        """Return the quantile from all rounds so far."""
        return self._answers(history)[0]


class Quantiles(_Search[QuantilesAnswer]):
    """Several quantiles of a number at once, such as quartiles; the answers never decrease with q.

    Everybody's answer serves all of them. With k quantiles each is about sqrt(k) times less exact than one alone; from
    about six on, ask for the `Distribution`.

    Parameters
    ----------
    q : sequence of float
        Which quantiles, different and between 0 and 1.
    domain, epsilon, step, scale, method, level, rounds, near, heaped
        As of `Quantile`.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Quantiles(dc.Interval(0, 1000), [0.25, 0.5, 0.75], epsilon=1)
    >>> answer = dc.simulate(plan, np.arange(100_000) % 1000, seed=1)
    >>> [round(one.value / 50) * 50 for _, one in answer.named()]
    [250, 500, 750]
    """

    question = "quantiles"

    def __init__(
        self,
        domain: Interval | tuple[float, float],
        q: Sequence[float],
        epsilon: float,
        step: float | None = None,
        scale: str = "linear",
        method: str = "auto",
        level: float = 0.95,
        *,
        rounds: int = 4,
        near: float | None = None,
        heaped: bool = True,
    ) -> None:
        if isinstance(q, (str, int, float)) or not 1 <= len(q) <= MOST_QUANTILES:
            raise DiscreetError(f"q must be a list of 1 to {MOST_QUANTILES} numbers between 0 and 1, not {q!r}")
        for one in q:
            check_quantile(one)
        chosen = sorted({float(one) for one in q})
        if len(chosen) != len(q):
            raise DiscreetError("q must be a list of different numbers")
        super().__init__(domain, chosen, epsilon, step, scale, method, level, rounds, near, heaped)

    @property
    def q(self) -> tuple[float, ...]:
        """Which quantiles, in increasing order."""
        return self.qs

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"q": list(self.qs)} | self._arguments()

    def estimate(self, history: History) -> QuantilesAnswer:
        """Return the quantiles from all rounds so far."""
        answers = self._answers(history)
        first = answers[0]
        return QuantilesAnswer(
            question=self.question,
            estimates={one.q: one for one in answers},
            level=self.level,
            n=first.n,
            epsilon=self.epsilon,
            method=self.method,
            assumed=first.assumed,
            details={name: first.details[name] for name in ("rounds", "thresholds")},
        )


def check_quantile(q: object) -> None:
    """Refuse anything but a number between 0 and 1."""
    if isinstance(q, bool) or not isinstance(q, (int, float, np.floating)) or not 0 < q < 1:
        raise DiscreetError(f"q must be a number between 0 and 1, such as 0.5 for the median, not {q!r}")


def _ends(search: Search, position: int, told: bool, heaped: bool, level: float) -> tuple[float, float]:
    """Return the interval of a quantile that was found at a position.

    If nobody told the step, values may lie between its multiples: above the last threshold, not only at the next one.
    """
    low, high = search.interval(level, heaped)
    low = low if told else max(low - 1, 0)
    return search.grid.value(min(low, position)), search.grid.value(max(high, position))
