"""Distribution: how a number is spread over its interval, with an interval for everything that is read off it.

What people are asked is fixed before any report; how the reports are decoded may depend on them. "auto" asks 92 in 100
people for their bucket through Square Wave, which shows the shape, and the others through a frequency oracle, which
shows spikes; the server then averages everything that may explain the reports, smooth, rough or heaped.
docs/papers/square-wave.md compares it with the papers' methods, and says where it is worse.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.plans.base import History, Plan, Round
from discreet.plans.distribution.answer import EACH_ALONE, DistributionAnswer
from discreet.plans.distribution.designs import Flat, HistogramDesign, Tree, TwoPhase, Wave
from discreet.plans.distribution.hybrid import Hybrid
from discreet.plans.learnt import LearntRange, check_learnt, learnt_arguments
from discreet.plans.options import as_interval, check_choice, check_options, check_whole, given

BINS, MOST_BINS = 256, 1 << 16

METHODS: dict[str, Callable[..., HistogramDesign]] = {
    "auto": Hybrid,
    "binning": Flat,
    "haar-hrr": partial(Tree, fit="haar"),
    "hh": partial(Tree, fit="hh"),
    "hh-admm": partial(Tree, fit="admm"),
    "hybrid": partial(Hybrid, share=0.15),
    "hybrid-np-2pem": partial(TwoPhase, fit="2pem"),
    "hybrid-np-em": partial(TwoPhase, fit="em"),
    "hybrid-np-ems": partial(TwoPhase, fit="ems"),
    "spline": partial(Wave, fit="spline"),
    "square-wave-em": partial(Wave, fit="em"),
    "square-wave-ems": partial(Wave, fit="ems"),
}
"""How a distribution can be asked for."""
_WAVE = ("mechanism", "b", "ratio", "positions")
OPTIONS: dict[str, tuple[str, ...]] = {
    "auto": ("share", "step"),
    "binning": ("cells",),
    "haar-hrr": (),
    "hh": ("branching", "weighted"),
    "hh-admm": ("branching", "weighted"),
    "hybrid": ("share", "step"),
    "hybrid-np-2pem": ("prior_weight", "tolerance"),
    "hybrid-np-em": ("stop", "tolerance"),
    "hybrid-np-ems": ("boundary", "stop", "tolerance"),
    "spline": _WAVE,
    "square-wave-em": (*_WAVE, "stop", "tolerance"),
    "square-wave-ems": (*_WAVE, "boundary", "stop", "tolerance"),
}
"""The options of each method."""


class Distribution(Plan[DistributionAnswer]):
    """The distribution of a number.

    Parameters
    ----------
    domain : Interval
        What people hold; values outside are clipped.
    epsilon : float
        Privacy of each person.
    bins : int, optional
        Number of equal buckets, 256 unless given.
    method : str
        "auto" (most people by Square Wave, some by a frequency oracle), "hybrid", "spline", "square-wave-em",
        "square-wave-ems", "hybrid-np-2pem", "hybrid-np-em", "hybrid-np-ems", "binning", "hh", "hh-admm" or "haar-hrr".
        All but hybrid-np-* have intervals.
    level : float
        Of every interval.
    mechanism : str, optional
        The mechanism for numbers that spline and square-wave-* ask with, "square-wave" unless given.
    b, ratio, positions : optional
        Of that mechanism; see `discreet.mechanism`.
    boundary : str, optional
        How EMS smooths at the ends, "reflect" (default) or "renormalise": square-wave-ems, hybrid-np-ems.
    stop : str, optional
        When EM stops, "paper" (default) or "fixed-point".
    tolerance : float, optional
        Of the stopping rule.
    cells : int, optional
        How many buckets are asked about, a divisor of ``bins``: binning.
    branching : int, optional
        Children per node, 4 unless given: hh, hh-admm.
    weighted : bool, optional
        Whether layers count by their variance (default): hh, hh-admm.
    prior_weight : float, optional
        How much the first phase counts in the second: hybrid-np-2pem.
    share : float, optional
        Part of the people who are asked by the oracle: auto, hybrid.
    step : float, optional
        The unit of the values, such as 1 for whole hours: each value from the domain's low end on, step by step, then
        is a bucket of its own, and quantiles are such values: auto, hybrid. Without it, heaps at round numbers are
        recognised where the reports show them, and intervals say the bucket where they do not.
    range : str, optional
        "learn" if you do not know the range; see `Mean`. The histogram then is one of the learnt range.
    near : float, optional
        With ``range="learn"``, a guess of where most values are if they are far from 0.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Distribution(dc.Interval(0, 10), epsilon=2, bins=16, method="spline")
    >>> answer = dc.simulate(plan, [2.0] * 4000 + [3.0] * 4000, seed=3)
    >>> answer.quantile(0.5)
    <quantile 0.5: ... (95%); 8000 reports, epsilon 2, spline>
    >>> answer.probabilities.shape, answer.edges.shape
    ((16,), (17,))
    """

    question = "distribution"

    def __init__(
        self,
        domain: Interval | tuple[float, float],
        epsilon: float,
        bins: int | None = None,
        method: str = "auto",
        level: float = 0.95,
        *,
        mechanism: str | None = None,
        b: float | None = None,
        ratio: float | None = None,
        positions: int | None = None,
        boundary: str | None = None,
        stop: str | None = None,
        tolerance: float | None = None,
        cells: int | None = None,
        branching: int | None = None,
        weighted: bool | None = None,
        prior_weight: float | None = None,
        share: float | None = None,
        step: float | None = None,
        range: str | None = None,
        near: float | None = None,
    ) -> None:
        super().__init__(epsilon, level)
        domain = as_interval(domain, "distribution")
        check_choice("method", method, tuple(METHODS))
        self._options = given(
            mechanism=mechanism, b=b, ratio=ratio, positions=positions, boundary=boundary, stop=stop,
            tolerance=tolerance, cells=cells, branching=branching, weighted=weighted, prior_weight=prior_weight,
            share=share, step=step,
        )  # fmt: skip
        check_options(method, self._options, OPTIONS)
        self.domain, self.method, self.mechanism, self.step = domain, method, mechanism, step
        if step is None:
            self.bins = BINS if bins is None else bins
            check_whole("bins", self.bins, 2, MOST_BINS)
            self.design = METHODS[method](domain, self.epsilon, self.bins, **self._options)
        else:
            if bins is not None:
                raise DiscreetError("bins must not be given together with step: every value is a bucket of its own")
            self.bins = values_of(domain, step)
            options = {name: value for name, value in self._options.items() if name != "step"} | {"own": True}
            self.design = METHODS[method](around_values(domain, step), self.epsilon, self.bins, **options)

        self.learnt = LearntRange(self, [domain], near) if check_learnt(range, near) else None

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return (
            {
                "domain": self.domain.to_dict(),
                "epsilon": self.epsilon,
                "method": self.method,
                "level": self.level,
            }
            | ({} if self.step is not None else {"bins": self.bins})
            | self._options
            | learnt_arguments(self.learnt)
        )

    def within(self, domains: Sequence[Interval]) -> "Distribution":
        """Return the plan for another interval, which is not learnt; with a step, for the values nearest to it."""
        chosen, bins = domains[0], None if self.step is not None else self.bins
        if self.step is not None:  # the interval may be the one around the values, half a step wider at each end
            first = math.floor((chosen.low - self.domain.low) / self.step + 0.5 + 1e-6)
            last = math.ceil((chosen.high - self.domain.low) / self.step - 0.5 - 1e-6)
            chosen = Interval(self.domain.low + first * self.step, self.domain.low + last * self.step)
        return Distribution(chosen, self.epsilon, bins, self.method, self.level, **self._options)

    def round(self, history: History) -> Round | None:
        """Return the only round; before, those of a learnt range."""
        if self.learnt is not None:
            return self.learnt.round(history)
        return None if history else Round(1, self.design.channels)

    def estimate(self, history: History) -> DistributionAnswer:
        """Return the histogram with what can be read off it."""
        if self.learnt is not None:
            return self.learnt.estimate(history)
        if len(history) != 1:
            raise DiscreetError(f"a distribution by {self.method} has one round, not {len(history)}")
        fit = self.design.fit(history[0])
        assumed = (
            f"values outside {self.domain} count as its nearest end",
            "people are a random sample: intervals are for the population they were drawn from",
            EACH_ALONE,
            *fit.assumed,
        )
        return DistributionAnswer(
            question=self.question,
            domain=self.domain if self.step is None else around_values(self.domain, self.step),
            probabilities=fit.f,
            uncertainty=fit.uncertainty,
            raw=fit.raw,
            asked=history[0],
            level=self.level,
            n=history[0].n,
            epsilon=self.epsilon,
            method=self.method,
            assumed=assumed,
            details=dict(fit.details),
        )


def values_of(domain: Interval, step: float) -> int:
    """Return how many values a domain has that lie a step apart.

    Examples
    --------
    >>> values_of(Interval(0, 100), 1)
    101
    """
    if isinstance(step, bool) or not isinstance(step, (int, float)) or not 0 < step <= domain.width:
        raise DiscreetError(f"step must be a number between 0 and the domain's width {domain.width:g}, not {step!r}")
    steps = domain.width / step
    if abs(steps - round(steps)) > 1e-6:
        raise DiscreetError(f"step must divide the domain's width {domain.width:g} into whole steps, not be {step:g}")
    check_whole("the number of values", round(steps) + 1, 2, MOST_BINS)
    return round(steps) + 1


def around_values(domain: Interval, step: float) -> Interval:
    """Return the interval whose equal buckets have the values in their middles."""
    return Interval(domain.low - step / 2, domain.high + step / 2)
